"""Collection of garbage during a step."""

import gc
import weakref

import pytest

from gsum_resources.engine import garbage
from gsum_resources.engine.garbage import collected_rarely, freeze_survivors


class Ring:
    """An object that only the collector frees."""

    def __init__(self) -> None:
        self.itself = self


def test_survivors_of_a_full_pass_are_left_out_of_the_next_ones() -> None:
    old = Ring()
    seen = weakref.ref(old)
    gc.callbacks.append(freeze_survivors)
    try:
        gc.collect(1)
        assert gc.get_freeze_count() == 0
        gc.collect()
        assert gc.get_freeze_count() > 10_000
        new = weakref.ref(Ring())
        del old
        gc.collect()
        assert seen()
        assert not new()
        gc.unfreeze()
        gc.collect()
        assert not seen()
    finally:
        gc.callbacks.remove(freeze_survivors)
        gc.unfreeze()


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


def test_in_a_large_process_garbage_is_collected_as_usual(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(garbage, "_LARGE_MIB", 1)
    before = gc.get_threshold()
    with collected_rarely():
        assert (gc.get_threshold(), gc.get_freeze_count()) == (before, 0)
