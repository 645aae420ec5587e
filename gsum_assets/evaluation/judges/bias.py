"""Biases of a judge: by the position of an answer, and for answers of its own."""

from collections import defaultdict
from collections.abc import Iterable, Sequence

import numpy as np
import pyarrow as pa

from gsum_assets.evaluation.judges.verdicts import CRITERIA, UNPARSED
from gsum_assets.statistics.intervals import intervals
from gsum_resources.store.arrow import pc

_COLUMNS = [
    "query_id", "criterion", "method", "opponent", "first", "repeat", "verdict", "value", "model",
    "is_own",
]  # fmt: skip
SCHEMA = pa.schema(
    [
        pa.field("criterion", pa.string(), False),
        *(pa.field(name, pa.float64()) for name in ("first_won", "low", "high", "disagreement")),
        *(pa.field(name, pa.int32(), False) for name in ("n", "n_both_orders", "unparsed")),
    ]
)
"""Columns of `position_bias`."""


def position_bias(judgements: pa.Table) -> pa.Table:
    """Return one row per criterion, over all pairs of methods.

    `first_won` is the fraction of the `n` decided verdicts won by the answer shown first, with its
    95% interval over questions; both orders are judged, so that 0.5 is no bias. `disagreement` is
    the fraction of the `n_both_orders` pairs of orders with different winners. Both may be null.
    """
    by_criterion = grouped(judged_by_model(pairwise_rows(judgements)), "criterion")
    rows = []
    for criterion in CRITERIA:
        verdicts = by_criterion.get((criterion,), [])
        if not verdicts:
            continue
        decided = first_won(verdicts)
        by_question = map(first_won, grouped(verdicts, "query_id").values())
        low, high = share_interval(filter(None, by_question)) if decided else (None, None)
        differ = orders_differ(verdicts)
        rows.append(
            {
                "criterion": criterion,
                "first_won": share(decided),
                "low": low,
                "high": high,
                "disagreement": share(differ),
                "n": len(decided),
                "n_both_orders": len(differ),
                "unparsed": sum(row["verdict"] == UNPARSED for row in verdicts),
            }
        )
    return pa.Table.from_pylist(rows, SCHEMA)


def pairwise_rows(judgements: pa.Table) -> list[dict]:
    """Return the rows of `judgements` that compare two methods."""
    is_pairwise = pc.equal(judgements["judge"], "pairwise")
    return judgements.filter(is_pairwise).select(_COLUMNS).to_pylist()


def judged_by_model(rows: Iterable[dict]) -> list[dict]:
    """Return the rows with a verdict of a model, without ties of identical answers."""
    return [row for row in rows if row["model"]]


def grouped(rows: Iterable[dict], *names: str) -> dict[tuple, list[dict]]:
    """Return the rows grouped by the values of these columns, in order of the values."""
    groups: dict[tuple, list[dict]] = defaultdict(list)
    for row in rows:
        groups[tuple(row[name] for name in names)].append(row)
    return dict(sorted(groups.items()))


def first_won(rows: Iterable[dict]) -> list[bool]:
    """Return for each decided verdict whether the answer shown first won."""
    return [_winner(row) == row["first"] for row in rows if row["value"] in (0.0, 1.0)]


def orders_differ(rows: Iterable[dict]) -> list[bool]:
    """Return for each pair with a verdict in both orders whether the winners differ.

    A tie differs from a winner, not from a tie.
    """
    differ = []
    for both in grouped(rows, "query_id", "method", "opponent", "repeat").values():
        winners = [_winner(row) for row in both if row["value"] is not None]
        if len(winners) == 2:
            differ.append(winners[0] != winners[1])
    return differ


def _winner(row: dict) -> str | None:
    """Return the method whose answer was better; None for a tie."""
    return {1.0: row["method"], 0.0: row["opponent"]}.get(row["value"])


def share(values: Sequence[bool]) -> float | None:
    """Return the share of values that are true, or None without any."""
    return sum(values) / len(values) if values else None


def share_interval(of_questions: Iterable[Sequence[bool]]) -> tuple[float, float]:
    """Return the 95% interval of a share over questions, each with at least one value.

    The share is a ratio of sums. Each question counts by its linearized value, share + (part -
    share x whole) / mean whole (Cochran 1977, 6.5).
    """
    counts = [(sum(values), len(values)) for values in of_questions]
    parts, wholes = np.array(counts, dtype=np.float64).T
    share = parts.sum() / wholes.sum()
    low, high = intervals(share + (parts - share * wholes) / wholes.mean())[0].clip(0, 1)
    return float(low), float(high)


def own_judge_note(judgements: pa.Table) -> str | None:
    """Return a sentence on verdicts of a model on its own answers; None without any.

    Models tend to prefer their own answers. Both methods of a pair are named, since the verdict
    depends on both answers.
    """
    own = judgements.filter(judgements["is_own"])
    if not own.num_rows:
        return None
    methods = {name for column in ("method", "opponent") for name in own[column].to_pylist()}
    return (
        f"The judge {', '.join(sorted(set(own['model'].to_pylist())))} also wrote answers that it "
        f"judged ({', '.join(sorted(filter(None, methods)))}), and models tend to prefer their "
        "own; choose another model in gsum.toml, table [judge]."
    )
