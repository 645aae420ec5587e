"""Published figures beside ours: means with intervals, and differences paired by question."""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from gsum_assets.evaluation.judges.ratings import rating_scores
from gsum_assets.evaluation.retrieval_metrics import harmonic_mean
from gsum_assets.pipeline.tables import TABLES
from gsum_assets.reproduce.homes import Part
from gsum_assets.reproduce.preset import Preset, PublishedTable
from gsum_assets.statistics.comparisons import compare
from gsum_assets.statistics.intervals import intervals
from gsum_resources.store.arrow import pc
from gsum_resources.store.parquet_store import ParquetStore

NONE = "–"
_WIN = "win:"
_OF_MEANS = "F1@"
_SECONDS = "seconds:"
Scores = Mapping[str, Mapping[str, Mapping[str, float]]]
"""Scores from 0 to 1, or seconds, by method of the preset, metric and question."""
Wins = Mapping[tuple[str, str], tuple[float, float, float]]
"""Win rate of the headline with its interval, by opponent and criterion."""


class SideBySide(NamedTuple):
    """A published table beside ours, as text."""

    title: str
    header: Sequence[str]
    rows: Sequence[Sequence[str]]


def read_scores(parts: Sequence[Part]) -> Scores:
    """Return the stored scores of all rows, the ratings of judges, and times.

    `seconds:query` is the time to rank for a question, `seconds:index` that of all batches of
    embeddings and calls of the index, under the question "".
    """
    scores: dict[str, dict[str, dict[str, float]]] = {}
    for part in parts:
        for method, metric, query_id, value in _stored(part):
            for name in part.rows.get(method, ()):
                scores.setdefault(name, {}).setdefault(metric, {})[query_id] = value
    return scores


def _stored(part: Part) -> Iterator[tuple[str, str, str, float]]:
    for method, rows in _read(part, "scores"):
        for row in rows.to_pylist():
            yield method, row["metric"], row["query_id"], row["value"]
    for method, rows in _read(part, "rankings", ["query_id", "latency_s"]):
        for row in rows.to_pylist():
            yield method, f"{_SECONDS}query", row["query_id"], row["latency_s"]
    for _, rows in _read(part, "costs"):
        for row in rows.filter(pc.equal(rows["stage"], "index")).to_pylist():
            yield row["method"], f"{_SECONDS}index", "", row["latency_s"]
    for _, rows in _read(part, "judgements"):
        for row in rating_scores(rows).to_pylist():
            yield row["method"], row["metric"], row["query_id"], row["value"]


def _read(
    part: Part, name: str, columns: Sequence[str] | None = None
) -> Iterator[tuple[str, pa.Table]]:
    """Yield the method, if there is one, and the rows of each partition of a table."""
    store, table = ParquetStore(part.home.warehouse), TABLES[name]
    for partition in store.partitions(table, part.corpus):
        yield partition.method or "", store.read(table, [partition], columns)[0]


def read_wins(parts: Sequence[Part], headline: str) -> Wins:
    """Return the stored win rates of the headline's method."""
    return {
        (opponent, row["criterion"]): (row["win_rate"], row["low"], row["high"])
        for part in parts
        for _, rows in _read(part, "win_rates")
        for row in rows.to_pylist()
        if headline in part.rows.get(row["method"], ()) and row["win_rate"] is not None
        for opponent in part.rows.get(row["opponent"], ())
    }


def side_by_side(preset: Preset, scores: Scores, wins: Wins) -> Iterator[SideBySide]:
    """Yield each published table beside ours, in percent.

    The last two columns are the headline's method minus the row in the first metric: as published,
    and ours over the questions that both have, with Student's interval of the differences.
    """
    n = max((len(of) for by in scores.values() for of in by.values()), default=0)
    for table in preset.tables:
        header = ["row", "method"]
        for metric in table.metrics:
            header += [f"{metric}, paper", "ours"]
        are_seconds = all(metric.startswith(_SECONDS) for metric in table.metrics)
        is_compared = not (table.metrics[0].startswith(_WIN) or are_seconds)
        if is_compared:
            header += [f"{preset.headline} − row", "ours"]
        rows = []
        for row, method in table.methods.items():
            cells = [row, method or NONE]
            for metric, published in zip(table.metrics, table.published(row), strict=True):
                figure = NONE if published is None else f"{published:g}"
                cells += [figure, _ours(method, metric, scores, wins)]
            if is_compared:
                cells += _against(preset.headline, table, row, scores)
            rows.append(cells)
        title = (
            f"{preset.paper}, {table.name}: {'seconds' if are_seconds else 'percent'}, "
            f"ours over {n:,} questions, ± half the 95% interval"
        )
        yield SideBySide(title, header, rows)


def _ours(method: str, metric: str, scores: Scores, wins: Wins) -> str:
    if metric.startswith(_WIN):
        rate = wins.get((method, metric.removeprefix(_WIN)))
        return NONE if rate is None else _with_interval(*rate)
    of_method = scores.get(method, {})
    if metric.startswith(_OF_MEANS):
        k = metric.removeprefix(_OF_MEANS)
        of_metric = [list(of_method.get(f"{m}@{k}", {}).values()) or [0.0] for m in "pr"]
        means = [float(np.mean(values)) for values in of_metric]
        return f"{100 * harmonic_mean(*means):.1f}" if any(means) else NONE
    values = list(of_method.get(metric, {}).values())
    if not values:
        return NONE
    if metric.startswith(_SECONDS):
        return f"{np.mean(values):.3g}"
    ((low, high),) = intervals(np.array(values)).tolist()
    return _with_interval(float(np.mean(values)), low, high)


def _against(headline: str, table: PublishedTable, row: str, scores: Scores) -> list[str]:
    """Return the difference of the headline's method and a row, as published and ours."""
    metric, method = table.metrics[0], table.methods[row]
    if method == headline:
        return ["", ""]
    of_headline = [name for name, own in table.methods.items() if own == headline]
    first = table.published(of_headline[0])[0] if of_headline else None
    second = table.published(row)[0]
    published = NONE if first is None or second is None else f"{first - second:+.1f}"
    ours, theirs = (scores.get(name, {}).get(metric, {}) for name in (headline, method))
    both = sorted(ours.keys() & theirs.keys())
    if not both:
        return [published, NONE]
    difference = compare([ours[q] for q in both], [theirs[q] for q in both])
    return [published, _with_interval(*difference[:3], sign="+")]


def _with_interval(mean: float, low: float, high: float, sign: str = "") -> str:
    """Return shares as percent with half the interval, `19.0 ±0.9`."""
    half = (high - low) / 2
    return f"{100 * mean:{sign}.1f} ±{f'{100 * half:.1f}' if np.isfinite(half) else NONE}"
