"""When do graphs help? Retrieval, answers and costs of all methods, by the spread of evidence.

    python -m benchmarks.graphs HOME:CORPUS ... [--store]

Each corpus is one in which `gsum run` has answered questions by several methods; nothing is
computed again. Its table compares each method with its control: the cheapest method of the same
budget, for a graph the method that it starts from. The last table compares the method that `gsum
ask` chooses with all others.

Spread is the number of documents with evidence for a question, or for a question about one document
the tokens from the first to the last marked passage. Questions without marks are grouped by kind.
"""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

import gsum
from benchmarks import Measurement
from benchmarks.quality import TOKENS, Row, row_of
from benchmarks.results import parser_of, publish
from gsum.statistics import compare, holm
from gsum_assets.answering.methods import OF_A_CORPUS, OF_ONE_DOCUMENT
from gsum_assets.pipeline.corpus_settings import load_settings
from gsum_assets.plots.main_metrics import is_upper_bound
from gsum_assets.statistics.comparisons import SIGNIFICANT, Comparison

CONTROL = "dense"
CONTROLS = {
    "passage_walk": "hybrid",
    "lightpal": "lightpal-embedding",
    "evidence": "evidence-no-graph",
    "gae": "gae-no-rerank",
    "gae-reflection": "gae-no-rerank",
    "gae-no-rerank": "hybrid",
    "graphrag-local": "graphrag-ss",
    "raptor": "raptor-leaves",
    "jerr-search": "jerr",
    "jerr": "bm25-lines",
    "gor": "gor-untrained",
}
"""What a method is compared with; the others with `CONTROL`, as is one whose control did not run.
They read as much, and differ by the graph, or by what the method adds to its seeds."""

DOCUMENT_ENDS = (1, 2, 3, 4, 7, 10)
TOKEN_ENDS = (500, 1000, 2000)
"""Last numbers of the bins of spread; the last bin is open."""

NAMES = {"r@10": "R@10", "context_r": "read R", "context_p": "read P", "rouge1": "ROUGE-1"}
"""Metrics of `scores`. Spread is shown for the first one that a corpus has: documents found by
questions about all documents, else marked passages that are read, else answers."""

_LEAST = 8  # questions of a group that is shown
NOTES = (
    "Percent, and after it the gain: the paired difference from the method named under 'less', "
    "± half its 95% interval; *: p < 0.05, adjusted for the methods of a column (Holm). Columns of "
    "documents, tokens or kinds are gains in the first metric over questions of that spread "
    "(number of questions). index, a question: calls of a language model; tokens in and out; "
    "seconds as recorded, beside other work."
)
Groups = Mapping[str, Sequence[str]]
"""Ids of questions by a label."""


@dataclass(frozen=True)
class Asked:
    """A corpus with its questions and the scores of all methods.

    Attributes
    ----------
    rows : scores by method.
    groups : questions by spread, or by kind.
    costs : rows of `costs` by method and stage.
    in_document : whether each question is about one document.
    """

    title: str
    rows: Mapping[str, Row]
    groups: Groups
    costs: Mapping[tuple[str, str], Mapping[str, Any]]
    in_document: bool

    def control_of(self, method: str) -> str:
        """Return the method that a method is compared with."""
        control = CONTROLS.get(method, CONTROL)
        return control if control in self.rows else CONTROL

    def values(self, method: str, metric: str) -> Mapping[str, float]:
        """Return the scores of a method by question."""
        return self.rows[method].scores.get(metric, {})

    @property
    def name(self) -> str:
        """The title without numbers."""
        return self.title.partition(":")[0]

    @cached_property
    def shown(self) -> Groups:
        """Groups that are large enough for an interval."""
        return {label: ids for label, ids in self.groups.items() if len(ids) >= _LEAST}

    @cached_property
    def metrics(self) -> list[str]:
        """The metrics that the control has."""
        return [metric for metric in NAMES if self.values(CONTROL, metric)]

    def gains(self, metric: str, ids: Sequence[str] | None = None) -> dict[str, Comparison]:
        """Return each method less its control, p adjusted for the methods (Holm).

        Parameters
        ----------
        ids : questions that count; None: all.
        """
        pairs = {m: self.control_of(m) for m in self.rows if m != CONTROL}
        return differences({m: self.values(m, metric) for m in self.rows}, pairs, ids)


def differences(
    scores: Mapping[str, Mapping[str, float]],
    pairs: Mapping[str, str],
    ids: Sequence[str] | None = None,
) -> dict[str, Comparison]:
    """Compare methods with others over the questions that both have; p adjusted for all (Holm).

    Parameters
    ----------
    scores : by method and question.
    pairs : what each method is compared with.
    """
    found = {}
    for method, other in pairs.items():
        common = scores[method].keys() & scores[other].keys()
        common = sorted(common if ids is None else common.intersection(ids))
        if common:
            first, second = ([scores[name][q] for q in common] for name in (method, other))
            found[method] = compare(first, second)
    adjusted = holm([comparison.p_value for comparison in found.values()])
    return {m: c._replace(p_value=p) for (m, c), p in zip(found.items(), adjusted, strict=True)}


def groups_of(queries: Sequence[Mapping], chunks: Sequence[Mapping]) -> Groups:
    """Return the ids of questions by the spread of their evidence, narrowest first.

    Parameters
    ----------
    queries : rows of `queries`. If none has marked passages or documents, the groups are kinds.
    chunks : `chunk_id`, `document_id`, `position`, `n_tokens`.
    """
    chunk_of = {chunk["chunk_id"]: chunk for chunk in chunks}
    tokens_of: dict[str, dict[int, int]] = defaultdict(dict)
    for chunk in chunks:
        tokens_of[chunk["document_id"]][chunk["position"]] = chunk["n_tokens"]
    groups: dict[tuple[int, str], list[str]] = defaultdict(list)
    for query in queries:
        marked = [chunk_of[i] for i in query["relevant_chunk_ids"] if i in chunk_of]
        if query["document_id"] is None:
            documents = {chunk["document_id"] for chunk in marked}
            if n := len(documents.union(query["relevant_document_ids"])):
                groups[binned(n, DOCUMENT_ENDS, "documents")].append(query["query_id"])
        elif marked:
            positions = [chunk["position"] for chunk in marked]
            tokens = tokens_of[query["document_id"]]
            n = sum(tokens.get(i, 0) for i in range(min(positions), max(positions) + 1))
            groups[binned(n, TOKEN_ENDS, "tokens")].append(query["query_id"])
    if not groups:
        for query in queries:
            groups[0, query["kind"]].append(query["query_id"])
    return {label: groups[i, label] for i, label in sorted(groups)}


def binned(value: int, ends: Sequence[int], unit: str) -> tuple[int, str]:
    """Return the index and the label of a value's bin."""
    i = bisect_left(ends, value)
    if i == len(ends):
        return i, f"over {ends[-1]:,} {unit}"
    first, last = ends[i - 1] + 1 if i else 1, ends[i]
    numbers = f"{last:,}" if first == last else f"{first:,} to {last:,}"
    return i, f"{numbers} {unit[:-1] if last == 1 else unit}"


def read(home: Path, corpus: str) -> Asked:
    """Read a corpus of a home.

    Raises
    ------
    LookupError
        If `dense` did not answer its questions.
    """
    opened = gsum.open(home)
    costs = {(row["method"], row["stage"]): row for row in _rows(opened, "costs", corpus)}
    methods = sorted({method for method, _ in costs})
    if CONTROL not in methods:
        raise LookupError(
            f"{home}: '{corpus}' has no answers of '{CONTROL}', the control; "
            f"gsum run {corpus} --methods {CONTROL}"
        )
    queries = _rows(opened, "queries", corpus)
    columns = ["chunk_id", "document_id", "position", "n_tokens"]
    chunks = _rows(opened, "chunks", corpus, columns)
    n_documents = len({chunk["document_id"] for chunk in chunks})
    splits = " and ".join(sorted({query["split"] for query in queries}))
    title = load_settings(home / "corpora" / corpus).title
    return Asked(
        f"{title}, {splits}: {len(queries):,} questions, {n_documents:,} documents",
        {method: row_of(home, corpus, method) for method in methods},
        groups_of(queries, chunks),
        costs,
        all(query["document_id"] is not None for query in queries),
    )


def _rows(opened: gsum.Home, name: str, corpus: str, columns: Sequence[str] = ()) -> list[dict]:
    frame = opened.table(name, corpus, columns=columns or None)
    return frame.astype(object).where(frame.notna(), None).to_dict("records")


def table(asked: Asked) -> Measurement:
    """Return the table of a corpus, best first by the first metric."""
    first, *others = asked.metrics
    gains = {metric: asked.gains(metric) for metric in asked.metrics}
    of_groups = [asked.gains(first, ids) for ids in asked.shown.values()]
    header = ["method", "less", NAMES[first]]
    header += [f"{label} ({len(ids)})" for label, ids in asked.shown.items()]
    header += [*(NAMES[metric] for metric in others), "tokens read", "index", "a question"]
    rows = []
    for method in sorted(asked.rows, key=lambda m: -_mean(asked.values(m, first))):
        values = [_valued(asked.values(method, m), gains[m].get(method)) for m in asked.metrics]
        rows.append(
            [
                method,
                "" if method == CONTROL else asked.control_of(method),
                values[0],
                *(_gain(of_group.get(method)) for of_group in of_groups),
                *values[1:],
                f"{_mean(asked.values(method, TOKENS)):,.0f}",
                *(_cost(asked.costs[method, stage], stage) for stage in ("index", "query")),
            ]
        )
    return Measurement(asked.title, NOTES, header, rows)


def rule_table(corpora: Sequence[Asked]) -> Measurement:
    """Return which method `gsum ask` chooses for each corpus, and which ones are better."""
    rows = []
    for asked in corpora:
        order = OF_ONE_DOCUMENT if asked.in_document else OF_A_CORPUS
        chosen = next((method for method in order if method in asked.rows), CONTROL)
        others = [m for m in asked.rows if m != chosen and not is_upper_bound(m)]
        for metric in asked.metrics:
            scores = {method: asked.values(method, metric) for method in asked.rows}
            found = differences(scores, dict.fromkeys(others, chosen))
            better = [m for m, c in found.items() if c.difference > 0 and c.p_value < SIGNIFICANT]
            better.sort(key=lambda m: -found[m].difference)
            cells = "; ".join(f"{m} {_gain(found[m])}" for m in better)
            value = f"{100 * _mean(scores[chosen]):.1f}"
            rows.append([asked.name, chosen, NAMES[metric], value, cells or "none"])
    return Measurement(
        "The rule of `gsum ask` and the figures",
        "Percent; methods better than the chosen one over all questions, by any number of tokens "
        "read (paired, p < 0.05, adjusted for all methods by Holm).",
        ["questions", "chosen", "metric", "value", "significantly better"],
        rows,
    )


def _mean(scores: Mapping[str, float]) -> float:
    return float(np.mean(list(scores.values()))) if scores else 0.0


def _valued(scores: Mapping[str, float], gain: Comparison | None) -> str:
    return f"{100 * _mean(scores):.1f} {_gain(gain)}".strip() if scores else "–"


def _gain(found: Comparison | None) -> str:
    if found is None:
        return ""
    half = f" ±{100 * (found.high - found.difference):.1f}" if found.n > 1 else ""
    return f"{100 * found.difference:+.1f}{half}{'*' * (found.p_value < SIGNIFICANT)}"


def _cost(row: Mapping[str, Any], stage: str) -> str:
    """Return calls, tokens in and out together, and seconds: of the index, or of one question."""
    n = row["n"] if stage == "query" and row["n"] else 1
    tokens = (row["tokens_in"] + row["tokens_out"]) / n
    calls = f"{row['calls'] / n:,.1f}".removesuffix(".0")
    return f"{calls}; {tokens:,.0f}; {row['latency_s'] / n:,.{2 * (stage == 'query')}f}"


def main() -> None:
    """Print the tables of all corpora, and store them if so chosen."""
    parser = parser_of(__doc__)
    parser.add_argument("corpora", nargs="+", metavar="HOME:CORPUS")
    chosen = parser.parse_args()
    corpora = []
    for named in chosen.corpora:
        home, _, corpus = named.rpartition(":")
        if not home:
            parser.error(f"'{named}' names no home; write HOME:CORPUS")
        corpora.append(read(Path(home).resolve(), corpus))
    publish("graphs", [*map(table, corpora), rule_table(corpora)], chosen.store)


if __name__ == "__main__":
    main()
