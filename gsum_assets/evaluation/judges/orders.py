"""Verdicts on the same two answers in both orders: winners, and agreement of the orders."""

from collections import defaultdict
from collections.abc import Iterable, Sequence

import numpy as np
import pyarrow as pa

from gsum_assets.statistics.intervals import intervals
from gsum_resources.store.arrow import pc

_COLUMNS = [
    "query_id", "criterion", "method", "opponent", "first", "repeat", "verdict", "value", "model",
    "is_own",
]  # fmt: skip


def pairwise_rows(judgements: pa.Table) -> list[dict]:
    """Return the rows of `judgements` that compare two methods."""
    is_pairwise = pc.equal(judgements["judge"], "pairwise")
    return judgements.filter(is_pairwise).select(_COLUMNS).to_pylist()


def grouped(rows: Iterable[dict], *names: str) -> dict[tuple, list[dict]]:
    """Return the rows grouped by the values of these columns, in order of the values."""
    groups: dict[tuple, list[dict]] = defaultdict(list)
    for row in rows:
        groups[tuple(row[name] for name in names)].append(row)
    return dict(sorted(groups.items()))


def judged_by_model(rows: Iterable[dict]) -> list[dict]:
    """Return the rows with a verdict of a model, without ties of identical answers."""
    return [row for row in rows if row["model"]]


def value_in_both_orders(rows: Sequence[dict]) -> float | None:
    """Return the mean over both orders of one question; None if one has no verdict."""
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
    """Return the number of decided verdicts for the answer shown first, and of all decided."""
    decided = [_winner(row) == row["first"] for row in rows if row["value"] in (0.0, 1.0)]
    return sum(decided), len(decided)


def disagreements(rows: Iterable[dict]) -> tuple[int, int]:
    """Return the number of pairs of both orders with different winners, and of all pairs.

    Only pairs with a verdict in both orders count. A tie differs from a winner, not from a tie.
    """
    differ = []
    for both in grouped(rows, "query_id", "method", "opponent", "repeat").values():
        winners = [_winner(row) for row in both if row["value"] is not None]
        if len(winners) == 2:
            differ.append(winners[0] != winners[1])
    return sum(differ), len(differ)


def share(part: int, whole: int) -> float | None:
    """Return `part / whole`, or None if `whole` is 0."""
    return part / whole if whole else None


def share_interval(counts: Iterable[tuple[int, int]]) -> tuple[float, float]:
    """Return the 95% interval of a share over questions, each with all of its verdicts.

    The share is a ratio of sums. Each question counts by its linearized value, share + (part -
    share x whole) / mean whole (Cochran 1977, 6.5), which is its own share if all questions have
    equally many verdicts.

    Parameters
    ----------
    counts : part and whole of each question, at least one; no whole is 0.
    """
    parts, wholes = np.array(list(counts), dtype=np.float64).T
    share = parts.sum() / wholes.sum()
    low, high = intervals(share + (parts - share * wholes) / wholes.mean())[0].clip(0, 1)
    return float(low), float(high)


def _winner(row: dict) -> str | None:
    """Return the method whose answer was better; None for a tie."""
    return {1.0: row["method"], 0.0: row["opponent"]}.get(row["value"])
