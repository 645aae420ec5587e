"""Methods side by side on the same questions: means with intervals, and every paired difference."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import pyarrow as pa

from gsum_assets.evaluation.statistics import Difference, Estimate, Resamples
from gsum_assets.tables import TABLES
from gsum_resources.arrow import pc

ALL = "all"  # the split that unites all splits


@dataclass(frozen=True)
class Group:
    """The values that may be compared with each other.

    Attributes
    ----------
    values : NaN where a method has none, `(n_questions, n_methods)`.
    """

    split: str
    kind: str
    metric: str
    methods: Sequence[str]
    questions: Sequence[str]
    values: np.ndarray

    def mean_of(self, measured: Mapping[tuple[str, str], float], method: str) -> float:
        """The mean of what was measured by method and question, over these questions."""
        found = [measured[method, q] for q in self.questions if (method, q) in measured]
        return sum(found) / len(found) if found else 0.0

    def estimates(self) -> Iterator[tuple[str, Estimate]]:
        """The mean of each method over the questions that it has."""
        for columns, rows in self._alike():
            found = Resamples(self.values[rows][:, columns]).estimates()
            yield from zip((self.methods[i] for i in columns), found, strict=True)

    def differences(self) -> Iterator[tuple[str, str, Difference]]:
        """Every pair of methods, over the questions that both have."""
        pairs: dict[bytes, list[tuple[int, int]]] = {}
        known = ~np.isnan(self.values)
        for i, j in combinations(range(len(self.methods)), 2):
            both = known[:, i] & known[:, j]
            if both.any():
                pairs.setdefault(both.tobytes(), []).append((i, j))
        for mask, alike in pairs.items():
            rows = np.frombuffer(mask, dtype=bool)
            columns = sorted({i for pair in alike for i in pair})
            place = {column: at for at, column in enumerate(columns)}
            first, second = ([place[pair[side]] for pair in alike] for side in (0, 1))
            resamples = Resamples(self.values[rows][:, columns])
            found = resamples.differences(first, second)
            for (i, j), difference in zip(alike, found, strict=True):
                yield self.methods[i], self.methods[j], difference

    def _alike(self) -> Iterator[tuple[list[int], np.ndarray]]:
        """Methods that have the same questions, and those questions."""
        known = ~np.isnan(self.values)
        found: dict[bytes, list[int]] = {}
        for column in range(known.shape[1]):
            found.setdefault(known[:, column].tobytes(), []).append(column)
        for mask, columns in found.items():
            yield columns, np.frombuffer(mask, dtype=bool)


def groups(queries: pa.Table, scores: pa.Table) -> list[Group]:
    """Every split (and all of them together), kind of question and metric.

    Parameters
    ----------
    queries : rows of `queries`. Scores of questions that are asked no more do not count.
    scores : `method`, `query_id`, `metric`, `value`; one value a method, question and metric.
    """
    about = {
        row["query_id"]: (row["split"], row["kind"])
        for row in queries.select(["query_id", "split", "kind"]).to_pylist()
    }
    by_place: dict[tuple[str, str, str], dict[tuple[str, str], float]] = {}
    for row in scores.select(["method", "query_id", "metric", "value"]).to_pylist():
        if row["query_id"] in about:
            split, kind = about[row["query_id"]]
            for part in (split, ALL):
                found = by_place.setdefault((part, kind, row["metric"]), {})
                found[row["method"], row["query_id"]] = row["value"]
    return [_group(*place, by_place[place]) for place in sorted(by_place)]


def _group(split: str, kind: str, metric: str, found: Mapping[tuple[str, str], float]) -> Group:
    methods = sorted({method for method, _ in found})
    questions = sorted({question for _, question in found})
    values = np.full((len(questions), len(methods)), np.nan)
    row_of = {question: i for i, question in enumerate(questions)}
    column_of = {method: i for i, method in enumerate(methods)}
    for (method, question), value in found.items():
        values[row_of[question], column_of[method]] = value
    return Group(split, kind, metric, methods, questions, values)


def comparisons(grouped: Sequence[Group]) -> pa.Table:
    """Rows of the table `comparisons`."""
    rows = sorted(
        (a, b, g.split, g.kind, g.metric, d.mean, d.low, d.high, d.p_value, d.n)
        for g in grouped
        for a, b, d in g.differences()
    )
    return as_table("comparisons", rows)


def as_table(name: str, rows: Sequence[Sequence]) -> pa.Table:
    """Rows, in the order of the declared columns, as a table."""
    schema = TABLES[name].schema
    columns = zip(*rows, strict=True) if rows else ([] for _ in schema)
    return pa.table([list(column) for column in columns], schema=schema)


def against(rows: pa.Table, method: str, opponent: str) -> pa.Table:
    """The rows of `comparisons` of one pair, whichever of them comes first in the alphabet."""
    first, second = sorted((method, opponent))
    return rows.filter(pc.and_(pc.equal(rows["method"], first), pc.equal(rows["opponent"], second)))
