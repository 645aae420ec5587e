"""Tables by type of question: each method and plain retrieval that read as many tokens."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from benchmarks import Measurement
from benchmarks.graphrag_bench.reading import Column
from benchmarks.results import interval, p_text
from gsum.statistics import SIGNIFICANT, Comparison, compare, holm, intervals

KINDS = ("fact-retrieval", "complex-reasoning", "contextual-summarize", "creative-generation")
METRICS = {"rouge_l": "ROUGE-L", "coverage": "coverage"}
Key = tuple[str, str]  # type or method, and metric; or type and method

_HEADER = (
    "method",
    "ROUGE-L [95% interval]",
    "coverage",
    "tokens read",
    "calls",
    "tokens of all calls",
    *(
        cell
        for name in METRICS.values()
        for cell in (f"{name} less that of plain retrieval [95% interval]", "p")
    ),
)


@dataclass(frozen=True)
class Beside:
    """A method compared with plain retrieval; `p_adjusted` for all differences of its metric."""

    plain: str
    found: Comparison
    p_adjusted: float


@dataclass(frozen=True)
class Results:
    """Readings and answers of all methods.

    Attributes
    ----------
    query_ids : ids of the questions of each type.
    methods : questions of each method.
    best : the plain retriever to compare with, by type and metric.
    controls : for a method and a metric, its plain retrievers' questions at the method's tokens.
    """

    query_ids: Mapping[str, Sequence[str]]
    methods: Mapping[str, Column]
    best: Mapping[Key, str]
    controls: Mapping[Key, Column]


def best_plain(
    query_ids: Mapping[str, Sequence[str]], plain: Mapping[str, Column]
) -> dict[Key, str]:
    """Return for each type and metric the retriever of the highest mean, with its own number read.

    Parameters
    ----------
    plain : questions of each plain retriever.
    """
    return {
        (kind, metric): max(plain, key=lambda name: values(plain[name], ids, metric).mean())
        for kind, ids in query_ids.items()
        for metric in METRICS
    }


def tables(results: Results, notes: str) -> list[Measurement]:
    """Return the differences to plain retrieval in short, then a table for each type."""
    comparisons = {metric: compared(results, metric) for metric in METRICS}
    return [
        *(overview(results, metric, comparisons[metric]) for metric in METRICS),
        *(table_of(kind, results, comparisons, notes) for kind in results.query_ids),
    ]


def compared(results: Results, metric: str) -> dict[Key, Beside]:
    """Compare each method, type by type, with the control of its tokens."""
    found: dict[Key, Comparison] = {}
    for kind, query_ids in results.query_ids.items():
        for method in _compared_methods(results):
            scores = values(results.methods[method], query_ids, metric)
            plain = values(results.controls[method, metric], query_ids, metric)
            found[kind, method] = compare(scores.tolist(), plain.tolist())
    adjusted = holm([one.p_value for one in found.values()])
    return {
        key: Beside(results.best[key[0], metric], one, p)
        for (key, one), p in zip(found.items(), adjusted, strict=True)
    }


def _compared_methods(results: Results) -> list[str]:
    return list(dict.fromkeys(method for method, _ in results.controls))


def overview(results: Results, metric: str, comparisons: Mapping[Key, Beside]) -> Measurement:
    """Return the differences of all types: when graphs help over plain retrieval."""
    rows = [
        [method, *(_difference(comparisons[kind, method]) for kind in results.query_ids)]
        for method in _compared_methods(results)
    ]
    header = ["method", *(f"{kind}, n = {len(ids)}" for kind, ids in results.query_ids.items())]
    return Measurement(
        f"{METRICS[metric]} less that of plain retrieval at the same tokens",
        f"Percentage points; *: p < {SIGNIFICANT}, adjusted for {len(comparisons)} differences.",
        header,
        rows,
    )


def _difference(one: Beside) -> str:
    return f"{100 * one.found.difference:+.1f}{'*' * (one.p_adjusted < SIGNIFICANT)}"


def table_of(
    kind: str, results: Results, comparisons: Mapping[str, Mapping[Key, Beside]], notes: str
) -> Measurement:
    """Return every method's scores and cost on one type of question."""
    query_ids = results.query_ids[kind]
    rows = []
    for method, column in results.methods.items():
        scores = values(column, query_ids, "rouge_l")
        low, high = intervals(scores)[0]
        spent = [
            f"{values(column, query_ids, m).mean():,.0f}" for m in ("read", "calls", "tokens_in")
        ]
        rows.append(
            [
                method,
                interval(float(scores.mean()), low, high),
                f"{100 * values(column, query_ids, 'coverage').mean():.1f}",
                *spent,
                *_cells(of_metric.get((kind, method)) for of_metric in comparisons.values()),
            ]
        )
    return Measurement(f"{kind}, n = {len(query_ids)}", notes, _HEADER, rows)


def _cells(compared_by_metric: Iterable[Beside | None]) -> list[str]:
    cells = []
    for one in compared_by_metric:
        if one is None:
            cells += ["", ""]
        else:
            difference = interval(*one.found[:3], sign="+")
            cells += [f"{one.plain}: {difference}", p_text(one.p_adjusted)]
    return cells


def values(column: Column, query_ids: Sequence[str], metric: str) -> np.ndarray:
    """Return one metric of the questions, `(n_questions,)`."""
    return np.array([getattr(column[query_id], metric) for query_id in query_ids], dtype=float)
