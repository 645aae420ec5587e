"""Methods side by side on the same questions: means with intervals, and every paired difference."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import pyarrow as pa

from gsum_assets.evaluation.statistics import Difference, Estimate, Resamples
from gsum_assets.tables import TABLES

ALL = "all"  # the split that unites all splits
_PAIRS_AT_ONCE = 256  # resampled differences in memory at a time: 20 MB


@dataclass(frozen=True)
class Group:
    """The values of one kind of question that may be compared with each other.

    Attributes
    ----------
    splits : those that these questions make up: one and, if there is no other, `ALL`.
    columns : metric and method of each.
    values : NaN where a method has none, `(n_questions, n_columns)`.
    """

    splits: Sequence[str]
    kind: str
    columns: Sequence[tuple[str, str]]
    questions: Sequence[str]
    values: np.ndarray

    def mean_of(self, measured: Mapping[tuple[str, str], float], metric: str, method: str) -> float:
        """The mean of what was measured by method and question, over the questions scored."""
        known = ~np.isnan(self.values[:, self.columns.index((metric, method))])
        asked = [
            question for question, is_known in zip(self.questions, known, strict=True) if is_known
        ]
        found = [measured[method, q] for q in asked if (method, q) in measured]
        return sum(found) / len(found) if found else 0.0

    def estimates(self) -> dict[str, dict[str, Estimate]]:
        """By metric the mean of each method, over the questions that it has."""
        found: dict[str, dict[str, Estimate]] = {}
        for rows, columns in self._alike(range(len(self.columns))):
            resamples = Resamples(self.values[rows][:, columns])
            for column, estimate in zip(columns, resamples.estimates(), strict=True):
                metric, method = self.columns[column]
                found.setdefault(metric, {})[method] = estimate
        return found

    def differences(self) -> Iterator[tuple[str, str, str, Difference]]:
        """Metric and two methods, for every pair, over the questions that both have."""
        of_metric: dict[str, list[int]] = {}
        for column, (metric, _) in enumerate(self.columns):
            of_metric.setdefault(metric, []).append(column)
        pairs = [pair for columns in of_metric.values() for pair in combinations(columns, 2)]
        for rows, alike in self._alike(pairs):
            columns = sorted({column for pair in alike for column in pair})
            place = {column: at for at, column in enumerate(columns)}
            resamples = Resamples(self.values[rows][:, columns])
            for start in range(0, len(alike), _PAIRS_AT_ONCE):
                part = alike[start : start + _PAIRS_AT_ONCE]
                first, second = ([place[pair[side]] for pair in part] for side in (0, 1))
                found = resamples.differences(first, second)
                for (i, j), difference in zip(part, found, strict=True):
                    (metric, method), (_, opponent) = self.columns[i], self.columns[j]
                    yield metric, method, opponent, difference

    def _alike(self, wanted: Iterable[Any]) -> Iterator[tuple[np.ndarray, list[Any]]]:
        """Those columns, or pairs of columns, that have the same questions, and those questions."""
        known = ~np.isnan(self.values)
        found: dict[bytes, list[Any]] = {}
        for one in wanted:
            rows = known[:, one] if isinstance(one, int) else known[:, list(one)].all(1)
            if rows.any():
                found.setdefault(rows.tobytes(), []).append(one)
        for mask, alike in found.items():
            yield np.frombuffer(mask, dtype=bool), alike


def groups(queries: pa.Table, scores: pa.Table) -> list[Group]:
    """Every split (and all of them together) and kind of question.

    Parameters
    ----------
    queries : rows of `queries`. Scores of questions that are asked no more do not count.
    scores : `method`, `query_id`, `metric`, `value`; one value a method, question and metric.
    """
    about = {
        row["query_id"]: (row["split"], row["kind"])
        for row in queries.select(["query_id", "split", "kind"]).to_pylist()
    }
    by_kind: dict[str, dict[str, list[tuple]]] = {}
    for row in scores.select(["query_id", "metric", "method", "value"]).to_pylist():
        if row["query_id"] in about:
            split, kind = about[row["query_id"]]
            by_kind.setdefault(kind, {}).setdefault(split, []).append(tuple(row.values()))
    found = []
    for kind, by_split in sorted(by_kind.items()):
        if len(by_split) == 1:
            ((split, rows),) = by_split.items()
            found.append(_group([split, ALL], kind, rows))
            continue
        found += [_group([split], kind, rows) for split, rows in sorted(by_split.items())]
        found.append(_group([ALL], kind, [row for rows in by_split.values() for row in rows]))
    return found


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
    """Rows of the table `comparisons`."""
    rows = sorted(
        (method, opponent, split, g.kind, metric, d.mean, d.low, d.high, d.p_value, d.n)
        for g in grouped
        for metric, method, opponent, d in g.differences()
        for split in g.splits
    )
    return as_table("comparisons", rows)


def as_table(name: str, rows: Sequence[Sequence]) -> pa.Table:
    """Rows, in the order of the declared columns, as a table."""
    schema = TABLES[name].schema
    columns = zip(*rows, strict=True) if rows else ([] for _ in schema)
    return pa.table([list(column) for column in columns], schema=schema)
