"""Win rates: how often one method's answers are preferred to another's."""

from collections import Counter
from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from gsum_assets.evaluation.judges.bias import (
    first_won,
    grouped,
    judged_by_model,
    orders_differ,
    pairwise_rows,
    share,
)
from gsum_assets.pipeline.tables import TABLES
from gsum_assets.statistics.comparisons import compare, holm
from gsum_assets.statistics.intervals import wilson


def win_rates(judgements: pa.Table) -> pa.Table:
    """Return rows of `win_rates`: each pair of methods in both directions, by criterion.

    The value of a question is the mean over both orders and the repeats of each, or missing without
    a verdict in both orders. If all values are missing, the rate is null. p is adjusted for all
    pairs and criteria (Holm).
    """
    pairs = grouped(pairwise_rows(judgements), "method", "opponent", "criterion")
    rates: list[dict] = [
        {"method": method, "opponent": opponent, "criterion": criterion} | _rate(verdicts)
        for (method, opponent, criterion), verdicts in pairs.items()
    ]
    tested = [rate for rate in rates if rate["p_adjusted"] is not None]
    adjusted = holm([rate["p_adjusted"] for rate in tested])
    for rate, p in zip(tested, adjusted, strict=True):
        rate["p_adjusted"] = p
    table = TABLES["win_rates"]
    rows = [*rates, *map(_mirrored, rates)]
    rows.sort(key=lambda row: tuple(row[name] for name in table.key))
    return pa.Table.from_pylist(rows, table.schema)


def _rate(verdicts: Sequence[dict]) -> dict:
    by_question = grouped(verdicts, "query_id").values()
    values = [value for rows in by_question if (value := _value(rows)) is not None]
    rate = low = high = p_value = None
    if values:
        rate = float(np.mean(values))
        low, high = wilson(np.array([rate]), len(values))[0].tolist()
        p_value = compare(values, [0.5] * len(values)).p_value
    counts = Counter(row["verdict"] for row in verdicts)
    judged = judged_by_model(verdicts)
    return {
        "win_rate": rate,
        "low": low,
        "high": high,
        "p_adjusted": p_value,
        "n": len(values),
        "wins": counts["win"],
        "ties": counts["tie"],
        "losses": counts["loss"],
        "unparsed": counts["unparsed"],
        "first_won": share(first_won(judged)),
        "disagreement": share(orders_differ(judged)),
        "is_own": any(row["is_own"] for row in judged),
    }


def _value(rows: Sequence[dict]) -> float | None:
    """Return the mean over both orders of one question; None if one has no verdict."""
    of_orders = [
        [row["value"] for row in rows if row["first"] == first and row["value"] is not None]
        for first in (rows[0]["method"], rows[0]["opponent"])
    ]
    return sum(sum(v) / len(v) for v in of_orders) / 2 if all(of_orders) else None


def _mirrored(row: dict) -> dict:
    """Return the row of the same pair from the opponent's side."""
    complement = {"win_rate": "win_rate", "low": "high", "high": "low"}
    return row | {
        "method": row["opponent"],
        "opponent": row["method"],
        **{a: None if row[b] is None else 1 - row[b] for a, b in complement.items()},
        "wins": row["losses"],
        "losses": row["wins"],
    }
