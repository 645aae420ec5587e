"""Progress of long work: one line that a terminal redraws, or an occasional log line."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Protocol

Show = Callable[[str, int, int, str], None]
"""Callback with label, done, total, and details such as tokens per second."""

_show: ContextVar[Show | None] = ContextVar("gsum_progress", default=None)


@contextmanager
def shown_by(show: Show) -> Iterator[None]:
    """Send the progress of everything in this context to `show`."""
    token = _show.set(show)
    try:
        yield
    finally:
        _show.reset(token)


class Report(Protocol):
    """Callback that reports progress."""

    def __call__(self, done: int, total: int, detail: str = "") -> None:
        """Report that `done` of `total` are done."""
        ...


def reporter(label: str, log: Callable[[str], None], every_s: float = 10.0) -> Report:
    """Return a callback `(done, total, detail)` that reports to the terminal, or else to `log`.

    Parameters
    ----------
    every_s : minimum time between two log lines, seconds.
    """
    last = time.monotonic()
    show = _show.get()  # read here: threads that report later do not inherit it
    counted_from: tuple[float, int] | None = None

    def report(done: int, total: int, detail: str = "") -> None:
        nonlocal last, counted_from
        now = time.monotonic()
        if show is not None:
            show(label, done, total, detail)
            return
        if counted_from is None or done < counted_from[1]:
            counted_from = now, done
        if now - last >= every_s:
            last = now
            since, first = counted_from
            left = ""
            if first < done < total:
                left_s = (total - done) * (now - since) / (done - first)
                left = f"about {duration(left_s)} left"
            log(", ".join(filter(None, [f"{label}: {done:,} of {total:,}", left, detail])))

    return report


def duration(seconds: float) -> str:
    """Return a duration as text: `8 s`, `3 min 20 s`, `2 h 5 min`."""
    whole = max(0, round(seconds))
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"
