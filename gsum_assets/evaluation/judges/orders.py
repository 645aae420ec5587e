"""The same two answers shown in both orders: who won, and whether the order decided it."""

from collections import defaultdict
from collections.abc import Iterable, Sequence

import numpy as np
import pyarrow as pa

from gsum.statistics import intervals
from gsum_resources.arrow import pc

_COLUMNS = [
    "query_id", "criterion", "method", "opponent", "first", "repeat", "verdict", "value", "model",
    "is_own",
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


def judged_by_model(rows: Iterable[dict]) -> list[dict]:
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


def share_interval(counts: Iterable[tuple[int, int]]) -> tuple[float, float]:
    """Return the 95% interval of a share over questions, each with all of its verdicts.

    The share is a ratio of sums. A question enters by its linearized value, share + (part - share
    x whole) / mean whole (Cochran 1977, 6.5), which is its own share where all have as many
    verdicts.

    Parameters
    ----------
    counts : part and whole of each question; none of the wholes is 0, and there is at least one.
    """
    parts, wholes = np.array(list(counts), dtype=np.float64).T
    share = parts.sum() / wholes.sum()
    low, high = intervals(share + (parts - share * wholes) / wholes.mean())[0].clip(0, 1)
    return float(low), float(high)


def _winner(row: dict) -> str | None:
    """The method whose answer was better; None of a tie."""
    return {1.0: row["method"], 0.0: row["opponent"]}.get(row["value"])
