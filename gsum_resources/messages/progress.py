"""Progress of long work: one line that a terminal redraws, or an occasional log line."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
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

    Parameter `every_s`: minimum time between two log lines, seconds.
    """
    show = _show.get()  # read here: threads that report later do not inherit it
    stage = Stage(label, time.monotonic())
    last = stage.began

    def report(done: int, total: int, detail: str = "") -> None:
        nonlocal last
        if show is not None:
            show(label, done, total, detail)
            return
        now = time.monotonic()
        stage.advance(done, total, now, detail)
        if now - last >= every_s:
            last = now
            log(f"{label}: {stage.amount(now)}")

    return report


def duration(seconds: float) -> str:
    """Return a duration as text: `8 s`, `3 min 20 s`, `2 h 5 min`."""
    whole = max(0, round(seconds))
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"


@dataclass
class Stage:
    """The current work: label, start time and, if known, how much of it is done.

    Attributes
    ----------
    label : description of the work.
    began : start in seconds, by the same clock as `now`.
    position : such as "step 4 of about 13".
    detail : further information, such as tokens a second.
    """

    label: str
    began: float
    position: str = ""
    done: int = 0
    total: int = 0
    detail: str = ""
    _counted_from: tuple[float, int] | None = field(default=None, repr=False)
    _finished: float | None = field(default=None, repr=False)

    def advance(self, done: int, total: int, now: float, detail: str = "") -> None:
        """Note how much is done; the rate is measured from the first note of something done."""
        if not self.done or done < self.done:
            self._counted_from = (now, done) if done < total else (self.began, 0)
        self.done, self.total, self.detail = done, total, detail
        self._finished = now if done >= total else None

    def rate(self, now: float) -> float:
        """Return how much is done per second until all was; 0 if unknown."""
        now = now if self._finished is None else self._finished
        since, first = self._counted_from or (now, self.done)
        if self.done == first:  # the first note may have come after much work
            since, first = self.began, 0
        return (self.done - first) / (now - since) if now > since else 0.0

    def amount(self, now: float) -> str:
        """Return `120 of 400, 12.3 a second, about 23 s left`, or `20 s` if nothing is counted.

        Work that counts nothing may follow: `400 of 400, 12.3 a second, finished 40 s ago`.
        """
        if not self.total:
            return duration(now - self.began)
        words = [f"{self.done:,} of {self.total:,}"]
        rate = self.rate(now)
        if rate:
            words.append(f"{rate:.1f} a second" if rate >= 1 else f"{1 / rate:.1f} s each")
            if self.done < self.total:
                words.append(f"about {duration((self.total - self.done) / rate)} left")
        words += [self.detail] if self.detail else []
        if self._finished is not None and now - self._finished >= 1:
            words.append(f"finished {duration(now - self._finished)} ago")
        return ", ".join(words)

    def line(self, now: float) -> str:
        """Return position, label and amount as one line."""
        before = f"{self.position}, " if self.position else ""
        still = "" if self.total or self.label.startswith("waiting") else "still at "
        between = ": " if self.total else ", "
        return f"{before}{still}{self.label}{between}{self.amount(now)}"
