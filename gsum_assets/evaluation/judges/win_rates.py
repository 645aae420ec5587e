"""Win rates: how often one method's answers are preferred to another's."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa

from gsum_assets.evaluation.judges.length_control import Valued, at_equal_length
from gsum_assets.evaluation.judges.orders import (
    disagreements,
    first_won,
    grouped,
    judged_by_model,
    pairwise_rows,
    share,
    value_in_both_orders,
)
from gsum_assets.pipeline.tables import TABLES
from gsum_assets.statistics.comparisons import compare, holm
from gsum_assets.statistics.intervals import wilson

NWords = Mapping[tuple[str, str], float]
"""Words of an answer by method and query id."""


def win_rates(judgements: pa.Table, n_words: NWords | None = None) -> pa.Table:
    """Return rows of `win_rates`: each pair of methods in both directions, by criterion.

    The value of a question is the mean over both orders and the repeats of each, or missing without
    a verdict in both orders. If all values are missing, the rate is null. p is adjusted for all
    pairs and criteria (Holm).

    Parameters
    ----------
    n_words : of every answer; None: rates at equal length are null.
    """
    pairs = grouped(pairwise_rows(judgements), "method", "opponent", "criterion")
    equal = _at_equal_length(pairs, n_words) if n_words is not None else {}
    rates: list[dict] = [_rate(pairs[pair]) | _lengths(equal.get(pair)) for pair in pairs]
    tested = [i for i, rate in enumerate(rates) if rate["p_adjusted"] is not None]
    adjusted = holm([rates[i]["p_adjusted"] for i in tested])
    for i, p in zip(tested, adjusted, strict=True):
        rates[i]["p_adjusted"] = p
    rows: list[dict] = []
    for (method, opponent, criterion), rate in zip(pairs, rates, strict=True):
        rows.append({"method": method, "opponent": opponent, "criterion": criterion, **rate})
        rows.append(_mirrored(rows[-1]))
    table = TABLES["win_rates"]
    rows.sort(key=lambda row: tuple(row[name] for name in table.key))
    return pa.Table.from_pylist(rows, table.schema)


def to_markdown(rates: pa.Table, criterion: str = "overall") -> str:
    """Return a Markdown table of how often each row was preferred to each column, percent.

    Half the 95% interval follows, and the rate at equal length in brackets; a dash means that there
    was no verdict.
    """
    by_pair = {
        (row["method"], row["opponent"]): row
        for row in rates.to_pylist()
        if row["criterion"] == criterion
    }
    methods = sorted({method for method, _ in by_pair})
    lines = [
        f"**{criterion}**: how often the row was preferred to the column, percent",
        "",
        "| " + " | ".join(["", *methods]) + " |",
        "|---" + "|---:" * len(methods) + "|",
    ]
    for method in methods:
        cells = []
        for opponent in methods:
            row = by_pair.get((method, opponent))
            if row is None or row["win_rate"] is None:
                cells.append("" if row is None else "–")
            else:
                half = 50 * (row["high"] - row["low"])
                equal = row["at_equal_length"]
                at_equal = "" if equal is None else f" ({100 * equal:.0f})"
                cells.append(f"{100 * row['win_rate']:.0f} ±{half:.0f}{at_equal}")
        lines.append("| " + " | ".join([method, *cells]) + " |")
    return "\n".join(lines)


def _rate(verdicts: Sequence[dict]) -> dict:
    by_question = grouped(verdicts, "query_id").values()
    values = [value for rows in by_question if (value := value_in_both_orders(rows)) is not None]
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
        "first_won": share(*first_won(judged)),
        "disagreement": share(*disagreements(judged)),
        "is_own": any(row["is_own"] for row in judged),
    }


def _at_equal_length(
    pairs: Mapping[tuple, Sequence[dict]], n_words: NWords
) -> dict[tuple, tuple[float, float]]:
    """Return the rate at equal length, and how many times as long answers are, by pair."""
    by_criterion: dict[str, dict[tuple, list[Valued]]] = defaultdict(dict)
    for (method, opponent, criterion), verdicts in pairs.items():
        by_criterion[criterion][method, opponent, criterion] = [
            Valued(value, n_words[method, query_id], n_words[opponent, query_id])
            for (query_id,), rows in grouped(verdicts, "query_id").items()
            if (value := value_in_both_orders(rows)) is not None
        ]
    ratios = {
        pair: sum(v.n_words for v in valued) / max(1.0, sum(v.n_words_opponent for v in valued))
        for of_pairs in by_criterion.values()
        for pair, valued in of_pairs.items()
    }
    rates = [at_equal_length(of_pairs) for of_pairs in by_criterion.values()]
    return {pair: (rate, ratios[pair]) for of_pairs in rates for pair, rate in of_pairs.items()}


def _lengths(found: tuple[float, float] | None) -> dict[str, float | None]:
    rate, ratio = found or (None, None)
    return {"at_equal_length": rate, "times_as_long": ratio}


def _mirrored(row: dict) -> dict:
    """Return the row of the same pair from the opponent's side."""
    rate, low, high = row["win_rate"], row["low"], row["high"]
    equal, ratio = row["at_equal_length"], row["times_as_long"]
    return row | {
        "method": row["opponent"],
        "opponent": row["method"],
        "win_rate": None if rate is None else 1 - rate,
        "low": None if high is None else 1 - high,
        "high": None if low is None else 1 - low,
        "at_equal_length": None if equal is None else 1 - equal,
        "times_as_long": 1 / ratio if ratio else None,
        "wins": row["losses"],
        "losses": row["wins"],
    }
