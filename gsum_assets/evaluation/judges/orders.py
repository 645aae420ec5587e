"""The same two answers shown in both orders: who won, and whether the order decided it."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import pyarrow as pa

from gsum_resources.arrow import pc

_COLUMNS = [
    "query_id", "criterion", "method", "opponent", "first", "repeat", "verdict", "value", "model"
]  # fmt: skip


def pairwise_rows(judgements: pa.Table) -> list[dict]:
    """The rows of `judgements` that compare two methods."""
    is_pairwise = pc.equal(judgements["judge"], "pairwise")
    return judgements.filter(is_pairwise).select(_COLUMNS).to_pylist()


def grouped(rows: Iterable[dict], *names: str) -> dict[tuple, list[dict]]:
    """The rows by the values of these columns, in order of the values."""
    groups: dict[tuple, list[dict]] = defaultdict(list)
    for row in rows:
        groups[tuple(row[name] for name in names)].append(row)
    return dict(sorted(groups.items()))


def asked(rows: Iterable[dict]) -> list[dict]:
    """Those that a model gave: ties of answers with the same words say nothing about it."""
    return [row for row in rows if row["model"]]


def value_in_both_orders(rows: Sequence[dict]) -> float | None:
    """Mean value of one question, each order counting half; None where an order has no verdict."""
    means = []
    for first in (rows[0]["method"], rows[0]["opponent"]):
        values = [
            row["value"] for row in rows if row["first"] == first and row["value"] is not None
        ]
        if not values:
            return None
        means.append(sum(values) / len(values))
    return sum(means) / 2


def first_won(rows: Iterable[dict]) -> tuple[int, int]:
    """Decided verdicts for the answer shown first, and decided verdicts."""
    decided = [_winner(row) == row["first"] for row in rows if row["value"] in (0.0, 1.0)]
    return sum(decided), len(decided)


def disagreements(rows: Iterable[dict]) -> tuple[int, int]:
    """Pairs of both orders that differ in their winner, and all with a verdict in both.

    A tie in one order and a winner in the other differ; two ties agree.
    """
    differ = []
    for both in grouped(rows, "query_id", "method", "opponent", "repeat").values():
        winners = [_winner(row) for row in both if row["value"] is not None]
        if len(winners) == 2:
            differ.append(winners[0] != winners[1])
    return sum(differ), len(differ)


def share(part: int, whole: int) -> float | None:
    """None of nothing."""
    return part / whole if whole else None


def share_interval(counts: Mapping[str, tuple[int, int]], seed: int = 0) -> tuple[float, float]:
    """95% percentile bootstrap interval of a share over questions, which are drawn as a whole.

    Parameters
    ----------
    counts : part and whole of each question; none of the wholes is 0, and there is at least one.
    """
    from scipy.stats import bootstrap

    parts, wholes = np.array(list(counts.values()), dtype=np.float64).T
    if len(parts) == 1:  # scipy refuses, though every resample is the share itself
        return float(parts[0] / wholes[0]), float(parts[0] / wholes[0])
    found = bootstrap(
        (parts, wholes),
        lambda part, whole, axis: part.sum(axis) / whole.sum(axis),
        paired=True,
        method="percentile",
        batch=max(1, 2**22 // len(parts)),
        rng=seed,
    ).confidence_interval
    return float(found.low), float(found.high)


def _winner(row: dict) -> str | None:
    """The method whose answer was better; None of a tie."""
    return {1.0: row["method"], 0.0: row["opponent"]}.get(row["value"])
