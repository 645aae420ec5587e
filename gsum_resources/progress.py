"""How far long work has come: one line that a terminal redraws, or a log line now and then."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

Show = Callable[[str, int, int], None]
"""Label, done, total."""

_show: ContextVar[Show | None] = ContextVar("gsum_progress", default=None)


@contextmanager
def shown_by(show: Show) -> Iterator[None]:
    """Send the progress of everything inside to `show`."""
    token = _show.set(show)
    try:
        yield
    finally:
        _show.reset(token)


def reporter(
    label: str, log: Callable[[str], None], every_s: float = 10.0
) -> Callable[[int, int], None]:
    """A callback `(done, total)`: to the terminal where there is one, else to `log`.

    Parameters
    ----------
    every_s : least seconds between two lines of the log.
    """
    last = time.monotonic()
    show = _show.get()  # now: a thread that reports later does not inherit it

    def report(done: int, total: int) -> None:
        nonlocal last
        if show is not None:
            show(label, done, total)
        elif time.monotonic() - last >= every_s:
            last = time.monotonic()
            log(f"{label}: {done:,} of {total:,}")

    return report
