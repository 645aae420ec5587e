"""Win rates: how often one method's answers are preferred to another's, also at equal length.

A judge that prefers longer answers favours methods that write them (arXiv 2506.06331). As in
length-controlled AlpacaEval (arXiv 2404.04475, section 3), the logit of a question's value is
a + b · tanh(d / s), where d is the difference of both answers in words and s its standard
deviation. Each pair of methods has its own a, and all pairs of a criterion share b. The rate at
equal length is that of d = 0.
"""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import NamedTuple

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

_RIDGE = 0.01  # so that a pair that always wins has a rate below 1
_STEPS = 50

NWords = Mapping[tuple[str, str], float]
"""Words of an answer by method and query id."""


class Valued(NamedTuple):
    """A question's value for the first method of a pair, 0 to 1, and words of both answers."""

    value: float
    n_words: float
    n_words_opponent: float


def win_rates(judgements: pa.Table, n_words: NWords | None = None) -> pa.Table:
    """Return rows of `win_rates`: each pair of methods in both directions, by criterion.

    The value of a question is the mean over both orders and the repeats of each, or missing without
    a verdict in both orders. If all values are missing, the rate is null. p is adjusted for all
    pairs and criteria (Holm). Without `n_words` of the answers, rates at equal length are null.
    """
    pairs = grouped(pairwise_rows(judgements), "method", "opponent", "criterion")
    at_equal = _lengths(pairs, n_words) if n_words is not None else {}
    rates: list[dict] = [
        {"method": method, "opponent": opponent, "criterion": criterion}
        | _rate(verdicts)
        | dict.fromkeys(("at_equal_length", "times_as_long"))
        | at_equal.get((method, opponent, criterion), {})
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
    complement |= {"at_equal_length": "at_equal_length"}
    ratio = row["times_as_long"]
    return row | {
        "method": row["opponent"],
        "opponent": row["method"],
        **{a: None if row[b] is None else 1 - row[b] for a, b in complement.items()},
        "times_as_long": 1 / ratio if ratio else None,
        "wins": row["losses"],
        "losses": row["wins"],
    }


def _lengths(pairs: Mapping[tuple, Sequence[dict]], n_words: NWords) -> dict[tuple, dict]:
    """Return the rate at equal length, and how many times as long answers are, by pair."""
    by_criterion: dict[str, dict[tuple, list[Valued]]] = defaultdict(dict)
    for (method, opponent, criterion), verdicts in pairs.items():
        by_criterion[criterion][method, opponent, criterion] = [
            Valued(value, n_words[method, query_id], n_words[opponent, query_id])
            for (query_id,), rows in grouped(verdicts, "query_id").items()
            if (value := _value(rows)) is not None
        ]
    lengths = {}
    for of_pairs in by_criterion.values():
        for pair, rate in at_equal_length(of_pairs).items():
            n_opponent = sum(valued.n_words_opponent for valued in of_pairs[pair])
            ratio = sum(valued.n_words for valued in of_pairs[pair]) / max(1.0, n_opponent)
            lengths[pair] = {"at_equal_length": rate, "times_as_long": ratio}
    return lengths


def at_equal_length(pairs: Mapping[tuple, Sequence[Valued]]) -> dict[tuple, float]:
    """Return the win rate of each pair at equal length.

    `pairs` are questions by pair, all of one criterion; pairs without any are left out.
    """
    named = [pair for pair, valued in pairs.items() if valued]
    rows = [(i, *valued) for i, pair in enumerate(named) for valued in pairs[pair]]
    if not rows:
        return {}
    number, values, n_words, n_other = np.array(rows, dtype=np.float64).T
    longer = n_words - n_other
    spread = longer.std() or 1.0
    x = np.zeros((len(rows), len(named) + 1))
    x[np.arange(len(rows)), number.astype(int)] = 1
    x[:, -1] = np.tanh(longer / spread)
    weights = np.zeros(x.shape[1])
    for _ in range(_STEPS):  # Newton's method
        p = 1 / (1 + np.exp(-x @ weights))
        gradient = x.T @ (values - p) - _RIDGE * weights
        curvature = (x.T * (p * (1 - p))) @ x + _RIDGE * np.eye(len(weights))
        step = np.linalg.solve(curvature, gradient)
        weights += step
        if np.abs(step).max() < 1e-9:
            break
    rates = 1 / (1 + np.exp(-weights[:-1]))
    return dict(zip(named, rates.tolist(), strict=True))
