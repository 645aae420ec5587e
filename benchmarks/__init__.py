"""Measurements side by side with what others offer; `python -m benchmarks` runs them.

Each module measures one thing by `measure()` and runs alone as `python -m benchmarks.NAME`. The
sides of a comparison take turns, so that a busy machine slows all of them, and figures are
medians. In every table a ratio above 1 means that gsum is faster.
"""

import os
import statistics
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

DATASETS = Path(os.environ.get("GSUM_DATASETS", "../shared/datasets"))
"""Folder of official benchmark files; `benchmarks/README.md` says which."""


class MissingDataError(FileNotFoundError):
    """A part cannot run: a file of the datasets is not there."""


@dataclass(frozen=True)
class Measurement:
    """One table: `title` says what is compared, `notes` how it was measured, rows are printable."""

    title: str
    notes: str
    header: Sequence[str]
    rows: Sequence[Sequence[str]]

    def show(self) -> None:
        """Print as Markdown."""
        print(f"\n## {self.title}\n\n{self.notes}\n\n{self.markdown()}", flush=True)

    def markdown(self) -> str:
        """Return header and rows as a Markdown table, columns aligned."""
        widths = [max(map(len, column)) for column in zip(self.header, *self.rows, strict=True)]
        lines = []
        for cells in (self.header, ["-" * width for width in widths], *self.rows):
            padded = [cell.ljust(width) for cell, width in zip(cells, widths, strict=True)]
            lines.append("| " + " | ".join(padded) + " |")
        return "\n".join(lines)


def required(*parts: str) -> Path:
    """A file or folder of the datasets.

    Raises
    ------
    MissingDataError
        If it is not there; names it and the remedy.
    """
    path = DATASETS.joinpath(*parts)
    if not path.exists():
        raise MissingDataError(f"needs {path}; name the folder of datasets in GSUM_DATASETS")
    return path


def take_turns(
    sides: Mapping[str, Callable[[], Any]],
    rounds: int,
    clock: Callable[[], float] = time.perf_counter,
) -> dict[str, list[float]]:
    """Seconds of each side in each round, the sides in turn; warm them up before."""
    seconds: dict[str, list[float]] = {name: [] for name in sides}
    for _ in range(rounds):
        for name, side in sides.items():
            start = clock()
            side()
            seconds[name].append(clock() - start)
    return seconds


def median_ratio(theirs: Iterable[float], ours: Iterable[float]) -> float:
    """Median over the rounds of one side's time over the other's in the same round."""
    return statistics.median(slow / fast for slow, fast in zip(theirs, ours, strict=True))
