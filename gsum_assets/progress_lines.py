"""How far work has come, as words: for a terminal's bar, or for a line where it is piped."""

from dataclasses import dataclass, field

from gsum_resources.progress import duration


@dataclass
class Stage:
    """What is under way: a label, when it began, and how much of it is done if that is known.

    Attributes
    ----------
    label : in plain words.
    began : seconds, by the same clock as `now`.
    position : such as "step 4 of about 13".
    detail : what else is known, such as tokens a second.
    """

    label: str
    began: float
    position: str = ""
    done: int = 0
    total: int = 0
    detail: str = ""
    _counted_from: tuple[float, int] | None = field(default=None, repr=False)

    def advance(self, done: int, total: int, now: float, detail: str = "") -> None:
        """Note how much is done; the rate counts from the first note on."""
        if self._counted_from is None or done < self.done:
            self._counted_from = (now, done) if done < total else (self.began, 0)
        self.done, self.total, self.detail = done, total, detail

    def rate(self, now: float) -> float:
        """Done in a second; 0 where nothing is known."""
        since, first = self._counted_from or (now, self.done)
        if self.done == first:  # the first note may have come after much work
            since, first = self.began, 0
        return (self.done - first) / (now - since) if now > since else 0.0

    def amount(self, now: float) -> str:
        """`120 of 400, 12.3 a second, about 23 s left`, or `20 s` where nothing is counted."""
        if not self.total:
            return duration(now - self.began)
        words = [f"{self.done:,} of {self.total:,}"]
        rate = self.rate(now)
        if rate:
            words.append(f"{rate:.1f} a second" if rate >= 1 else f"{1 / rate:.1f} s each")
            if self.done < self.total:
                words.append(f"about {duration((self.total - self.done) / rate)} left")
        return ", ".join([*words, self.detail] if self.detail else words)

    def line(self, now: float) -> str:
        """The whole as one line."""
        before = f"{self.position}, " if self.position else ""
        still = "" if self.total else "still at "
        between = ": " if self.total else ", "
        return f"{before}{still}{self.label}{between}{self.amount(now)}"
