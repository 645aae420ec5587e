"""Python's garbage collector while a step creates many objects."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager

_YOUNG = 50_000  # new objects before a pass over these; Python's default is 700


@contextmanager
def collected_rarely() -> Iterator[None]:
    """Collect garbage less often, and only among objects created meanwhile.

    Otherwise a step that reads a million rows causes passes over everything that the process has
    loaded, a million objects: a quarter of the time of an edit.
    """
    thresholds = gc.get_threshold()
    gc.set_threshold(_YOUNG, *thresholds[1:])
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()
        gc.set_threshold(*thresholds)
