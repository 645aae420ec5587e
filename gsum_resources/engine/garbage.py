"""Python's garbage collector while a step creates many objects, and in a service."""

import gc
import resource
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

_YOUNG = 50_000  # new objects before a pass over these; Python's default is 700
_OLDEST = 2  # generation of objects
_LARGE_MIB = 3072  # peak from which garbage is collected as usual, as it may refer to large tables


def freeze_survivors(phase: str, info: Mapping[str, int]) -> None:
    """Leave out of later full passes what has survived one; a member of `gc.callbacks`.

    A full pass over the indexes of a service takes 0.2 s. A frozen object is freed as usual unless
    it is part of a cycle: what drops a large one calls `gc.unfreeze()`.
    """
    if phase == "stop" and info["generation"] == _OLDEST:
        gc.freeze()


@contextmanager
def collected_rarely() -> Iterator[None]:
    """Collect garbage less often, and only among objects created meanwhile.

    Passes over everything that a process has loaded take a quarter of the time of an edit. In a
    large process garbage is collected as usual, since its peak would be higher.
    """
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss  # KiB, on macOS bytes
    if peak / (2**20 if sys.platform == "darwin" else 2**10) > _LARGE_MIB:
        yield
        return
    thresholds = gc.get_threshold()
    gc.set_threshold(_YOUNG, *thresholds[1:])
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()
        gc.set_threshold(*thresholds)
