"""Indexing overhead besides the language model: both packages over the same passages.

Each side is a process that starts with an empty folder and talks to an instant server of its own.
"""

import os
import tempfile
from collections.abc import Callable, Sequence
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from benchmarks import Measurement
from benchmarks.graphrag import ours, theirs
from benchmarks.graphrag.instant import Counts, instant_server
from benchmarks.graphrag.measured import Usage
from benchmarks.graphrag.passages import passages

_SHOWN_STEPS = 14


class Side(NamedTuple):
    """Cost and output of one package.

    Attributes
    ----------
    load : processes running on the machine before, mean of a minute.
    rows : of each table.
    """

    name: str
    usage: Usage
    counts: Counts
    load: float
    rows: dict[str, int]


def run_theirs(folder: Path, same: bool = False) -> Side:
    """Index with the package, in a new folder.

    Raises
    ------
    MissingDataError
        If no other environment is named.
    """
    return _run(f"graphrag {theirs.VERSION}", folder, theirs.index, theirs.n_rows, same)


def run_ours(folder: Path, same: bool = False) -> Side:
    """Index with gsum, in a new home."""
    return _run("gsum", folder, ours.index, ours.n_rows, same)


def measure(same: bool = False) -> list[Measurement]:
    """Both sides, and gsum's seconds by step.

    Parameters
    ----------
    same : every passage names the same few things, so that there is little to merge and to report.

    Raises
    ------
    MissingDataError
        If no other environment is named; nothing is run then.
    """
    theirs.python()
    with tempfile.TemporaryDirectory() as root:
        sides = [run_theirs(Path(root, "theirs"), same), run_ours(Path(root, "ours"), same)]
        spent = ours.spent(Path(root, "ours"), sides[1].usage)
    return [compared(sides), by_step(spent)]


def compared(sides: Sequence[Side]) -> Measurement:
    """A row a side; ratios are the first one's over the last one's."""
    first, last = sides[0].usage, sides[-1].usage
    rows = [
        [
            side.name,
            *(f"{value:,.1f}" for value in side.usage[:2]),
            f"{side.usage.peak_mib:,.0f}",
            f"{side.counts.completions:,}",
            f"{side.counts.embeddings}: {side.counts.texts:,}",
            f"{side.counts.cpu_s:.1f}",
            f"{side.load:.1f}",
        ]
        for side in sides
    ]
    if len(sides) > 1:
        ratios = [f"{a / b:.1f}" for a, b in zip(first[:3], last[:3], strict=True)]
        rows.append(["ratio", *ratios, "", "", "", ""])
    written = "; ".join(f"{side.name}: {_row_counts(side.rows)}" for side in sides)
    return Measurement(
        "GraphRAG: an index without the language model's time, gsum beside the graphrag package",
        f"{len(passages())} passages of 300 word pieces, one document each; one gleaning, no "
        f"claims, {theirs.N_CONCURRENT} requests at once; every reply comes at once from a process "
        "of its own, and tells both sides the same entities and relationships. Both caches are on "
        "and empty; gsum also keeps its ledger and provenance. Start of the process included. "
        f"Rows made: {written}.",
        [
            "",
            "wall, s",
            "CPU, s",
            "peak, MiB",
            "completions",
            "embedding requests: texts",
            "server CPU, s",
            "load before",
        ],
        rows,
    )


def by_step(spent: ours.Spent) -> Measurement:
    """Where gsum's seconds go."""
    shown = dict(islice(spent.steps.items(), _SHOWN_STEPS))
    n_others = len(spent.steps) - len(shown)
    in_steps = sum(spent.steps.values())
    parts = {
        **shown,
        f"{n_others} other steps": in_steps - sum(shown.values()),
        "start of the process and imports": spent.starting,
        "Dagster, within its runs": spent.within,
        "Dagster, between its runs, and the end": spent.between,
    }
    return Measurement(
        "GraphRAG: where gsum's seconds go",
        "By the clock, over all runs of `gsum run`. A step whose name ends in _checks runs an "
        f"asset's checks; all steps together took {in_steps:.1f} s of {sum(parts.values()):.1f} s.",
        ["step", "s"],
        [[name, f"{seconds:.2f}"] for name, seconds in parts.items()],
    )


def _run(
    name: str,
    folder: Path,
    index: Callable[[Path, dict[str, str], str], Usage],
    n_rows: Callable[[Path], dict[str, int]],
    same: bool,
) -> Side:
    texts = {f"{number:03d}.txt": text for number, text in enumerate(passages())}
    with instant_server(same) as server:
        load = os.getloadavg()[0]
        usage = index(folder, texts, server.base_url)
        side = Side(name, usage, server.counts(), load, n_rows(folder))
    if side.rows["text_units"] != len(texts):
        raise AssertionError(
            f"{name} made {side.rows['text_units']} chunks of {len(texts)} passages; lower "
            "N_TOKENS so that each passage is one chunk"
        )
    return side


def _row_counts(rows: dict[str, int]) -> str:
    return ", ".join(f"{n:,} {name.replace('_', ' ')}" for name, n in rows.items())
