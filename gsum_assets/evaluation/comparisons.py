"""Means of methods with intervals, and every paired difference."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from gsum_assets.pipeline.tables import TABLES
from gsum_assets.statistics.comparisons import compare, holm, pairwise
from gsum_assets.statistics.intervals import intervals

ALL = "all"  # name of the union of all splits
_DECIMALS = 9


class Estimate(NamedTuple):
    """A mean over `n` questions, and its 95% interval."""

    mean: float
    low: float
    high: float
    n: int


class Difference(NamedTuple):
    """Mean difference of two methods over the `n` questions that both have.

    `p_value` is for this pair alone, `p_adjusted` for all pairs of the metric.
    """

    mean: float
    low: float
    high: float
    p_value: float
    p_adjusted: float
    n: int


@dataclass(frozen=True)
class Group:
    """Comparable values of one kind of question.

    Attributes `splits`: names of this set of questions: a split, `ALL`, or both if there is one
    split; `values`: scores, NaN if missing, `(n_questions, n_columns)`.
    """

    splits: Sequence[str]
    kind: str
    columns: Sequence[tuple[str, str]]
    questions: Sequence[str]
    values: np.ndarray

    def mean_of(self, measured: Mapping[tuple[str, str], float], metric: str, method: str) -> float:
        """Return the mean of values measured by method and question, over the scored questions."""
        known = ~np.isnan(self.values[:, self.columns.index((metric, method))])
        questions = [
            question for question, is_known in zip(self.questions, known, strict=True) if is_known
        ]
        values = [measured[method, q] for q in questions if (method, q) in measured]
        return sum(values) / len(values) if values else 0.0

    def estimates(self) -> dict[str, dict[str, Estimate]]:
        """Return by metric the mean of each method, over the questions that it has."""
        known = ~np.isnan(self.values)
        alike: dict[bytes, list[int]] = {}  # columns that have exactly these questions
        for column in range(len(self.columns)):
            alike.setdefault(known[:, column].tobytes(), []).append(column)
        of_metric: dict[str, dict[str, Estimate]] = {}
        for mask, columns in alike.items():
            values = self.values[np.frombuffer(mask, dtype=bool)][:, columns]
            means, ends = values.mean(axis=0).tolist(), intervals(values).tolist()
            for column, mean, (low, high) in zip(columns, means, ends, strict=True):
                metric, method = self.columns[column]
                estimate = Estimate(round(mean, _DECIMALS), low, high, len(values))
                of_metric.setdefault(metric, {})[method] = estimate
        return of_metric

    def differences(self) -> Iterator[tuple[str, str, str, Difference]]:
        """Yield metric and two methods, for every pair, over the questions that both have."""
        of_metric: dict[str, list[int]] = {}
        for column, (metric, _) in enumerate(self.columns):
            of_metric.setdefault(metric, []).append(column)
        for metric, columns in of_metric.items():
            known = ~np.isnan(self.values[:, columns])
            values = self.values[:, columns]
            methods = [self.columns[column][1] for column in columns]
            pairs = list(combinations(range(len(columns)), 2))
            if (known == known[:, :1]).all():
                values = values[known[:, 0]]
                tables = pairwise(values)
                for i, j in pairs:
                    cells = [float(table[i, j]) for table in tables]
                    difference = Difference._make([*cells, len(values)])
                    yield metric, methods[i], methods[j], difference
                continue
            compared = {}  # over the questions that both have, adjusted by Holm's method
            for i, j in pairs:
                if (both := known[:, i] & known[:, j]).any():
                    compared[i, j] = compare(values[both, i].tolist(), values[both, j].tolist())
            adjusted = holm([comparison.p_value for comparison in compared.values()])
            for ((i, j), c), p in zip(compared.items(), adjusted, strict=True):
                difference = Difference(c.difference, c.low, c.high, c.p_value, p, c.n)
                yield metric, methods[i], methods[j], difference


def groups(queries: pa.Table, scores: pa.Table) -> list[Group]:
    """Return a group for every split (and all of them together) and kind of question."""
    about = {
        row["query_id"]: (row["split"], row["kind"])
        for row in queries.select(["query_id", "split", "kind"]).to_pylist()
    }
    by_kind: dict[str, dict[str, list[tuple]]] = {}
    for row in scores.select(["query_id", "metric", "method", "value"]).to_pylist():
        if row["query_id"] in about:
            split, kind = about[row["query_id"]]
            by_kind.setdefault(kind, {}).setdefault(split, []).append(tuple(row.values()))
    all_groups = []
    for kind, by_split in sorted(by_kind.items()):
        if len(by_split) == 1:
            ((split, rows),) = by_split.items()
            all_groups.append(_group([split, ALL], kind, rows))
            continue
        all_groups += [_group([split], kind, rows) for split, rows in sorted(by_split.items())]
        all_groups.append(_group([ALL], kind, [row for rows in by_split.values() for row in rows]))
    return all_groups


def _group(splits: Sequence[str], kind: str, rows: Sequence[tuple]) -> Group:
    questions = sorted({question for question, *_ in rows})
    columns = sorted({(metric, method) for _, metric, method, _ in rows})
    values = np.full((len(questions), len(columns)), np.nan)
    row_of = {question: i for i, question in enumerate(questions)}
    column_of = {column: i for i, column in enumerate(columns)}
    for question, metric, method, value in rows:
        values[row_of[question], column_of[metric, method]] = value
    return Group(splits, kind, columns, questions, values)


def comparisons(grouped: Sequence[Group]) -> pa.Table:
    """Return rows of the table `comparisons`."""
    rows = sorted(
        (method, opponent, split, g.kind, metric, *d)
        for g in grouped
        for metric, method, opponent, d in g.differences()
        for split in g.splits
    )
    return as_table("comparisons", rows)


def as_table(name: str, rows: Sequence[Sequence]) -> pa.Table:
    """Return rows in the order of the declared columns as a table."""
    schema = TABLES[name].schema
    columns = zip(*rows, strict=True) if rows else ([] for _ in schema)
    return pa.table([list(column) for column in columns], schema=schema)
