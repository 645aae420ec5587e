"""Collection of garbage during a step."""

import gc

from gsum_resources.engine.garbage import collected_rarely


def test_older_objects_are_left_out_only_meanwhile() -> None:
    before = gc.get_threshold(), gc.get_freeze_count()
    try:
        with collected_rarely():
            assert gc.get_freeze_count() > 10_000
            assert gc.get_threshold()[1:] == before[0][1:]
            raise KeyError
    except KeyError:
        pass
    assert (gc.get_threshold(), gc.get_freeze_count()) == (before[0], 0)
