"""Evidence and answers of `evidence` on held-out questions, beside dense retrieval.

To be run once: nothing may be chosen by its figures.
"""

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from benchmarks import Measurement
from benchmarks.answers import WORDS
from benchmarks.evidence.found import HEADER, K, compared_ranks, metrics_of, paired
from benchmarks.evidence.meetings import Meetings, load
from gsum_assets.corpus.importers.benchmark import Contents
from gsum_assets.corpus.importers.qmsum import read_qmsum
from gsum_assets.corpus.importers.squality import read_squality
from gsum_assets.corpus.settings import CorpusSettings
from gsum_assets.evaluation.answer import answer_questions
from gsum_assets.evaluation.rouge import rouge
from gsum_assets.evidence.contexts import Budget, adaptive_contexts
from gsum_assets.evidence.network import Model
from gsum_assets.evidence.rank import Evidence, rank
from gsum_assets.evidence.sentence_index import SentenceIndex
from gsum_assets.evidence.settings import CandidateSettings, ContextSettings
from gsum_assets.evidence.variants import VARIANTS, Variant
from gsum_assets.evidence.weights import load_model
from gsum_assets.retrieval.contexts import top_contexts
from gsum_assets.retrieval.dense import Dense
from gsum_assets.retrieval.oracles import rank_by_oracle
from gsum_assets.retrieval.ranking import rank_questions
from gsum_assets.retrieval.words import Words
from gsum_resources.arrow import pc
from gsum_resources.lazy import Lazy
from gsum_resources.llm.classical.selection import SelectionSettings
from gsum_resources.llm.extractive import ExtractiveModel
from gsum_resources.protocols import LanguageModel

DENSE, ALONE = "dense", "evidence alone"
ROUGE = ("rouge1", "rouge2", "rougeL")
NETWORKS = {"own features": "evidence-no-graph", "with graph": "evidence"}
LONGER = ContextSettings().k_max
WEIGHTED = f"dense, {LONGER} passages, weighted"
BUDGET = Budget(
    LONGER, LONGER * CorpusSettings().chunking.max_tokens, K, ContextSettings().whole_tokens
)


class Benchmark(NamedTuple):
    """An official file with held-out questions, its reader and its name."""

    file: str
    read: Callable[[Path], Contents]
    name: str


BENCHMARKS = {
    "val": Benchmark("val.jsonl.gz", read_qmsum, "QMSum val"),
    "squality": Benchmark("dev.jsonl.gz", read_squality, "SQuALITY dev"),
}


class Side(NamedTuple):
    """Contexts, and whether the answerer prefers passages by their scores.

    Attributes
    ----------
    selection : how it weighs sentences.
    """

    contexts: pa.Table
    weighted: bool = False
    selection: SelectionSettings = SelectionSettings()


def judged(meetings: Meetings) -> dict[str, Evidence]:
    """Return rankings and probabilities of each network."""
    return {
        name: rank(
            meetings.collection,
            SentenceIndex.of_rows(meetings.sentences),
            meetings.questions,
            meetings.queries["text"].to_pylist(),
            load_model(VARIANTS[variant].weights),
            Words(),
            CandidateSettings().n,
            prose=_prose(VARIANTS[variant]),
        )
        for name, variant in NETWORKS.items()
    }


def _prose(variant: Variant) -> Model | None:
    return load_model(variant.prose) if variant.prose else None


def ranks(meetings: Meetings, found: Mapping[str, Evidence]) -> Measurement:
    """Return how much of the marked evidence each ranking finds."""
    marked = meetings.marked
    dense = rank_questions(Dense, meetings.questions, meetings.collection, depth=10**6)
    dense = dense.filter(pc.equal(dense["level"], "node"))
    ordered = {DENSE: (dense, "item_id")}
    ordered |= {name: (one.probabilities, "chunk_id") for name, one in found.items()}
    metrics = {}
    for name, (rows, column) in ordered.items():
        ids: dict[str, list[str]] = {query_id: [] for query_id in marked}
        for row in rows.select(["query_id", column]).to_pylist():
            if row["query_id"] in ids:
                ids[row["query_id"]].append(row[column])
        metrics[name] = metrics_of(
            [np.array([i in marked[query_id] for i in own]) for query_id, own in ids.items()]
        )
    return Measurement(
        "Evidence found on QMSum val",
        f"{len(marked)} questions with marked evidence, each over its meeting; percent; "
        "differences are paired, 95% bootstrap intervals over questions.",
        HEADER,
        [
            *compared_ranks(metrics, DENSE),
            ["with graph less own features", *[""] * 5, _gain(metrics)],
        ],
    )


def _gain(metrics: Mapping[str, Mapping[str, Sequence[float]]]) -> str:
    own, graph = NETWORKS
    return paired(metrics[graph]["ap"], metrics[own]["ap"], 1)


def sides_of(meetings: Meetings, found: Mapping[str, Evidence]) -> dict[str, Side]:
    """Return the passages that each side reads; "weighted" are controls without training."""
    chunks, queries, questions = meetings.chunks, meetings.queries, meetings.questions
    dense = rank_questions(Dense, questions, meetings.collection, depth=10**6)
    own, graph = (found[name] for name in NETWORKS)
    longer = top_contexts(dense, chunks, LONGER)
    evidence = adaptive_contexts(queries, graph, Lazy.of(chunks), BUDGET)
    sides = {
        DENSE: Side(top_contexts(dense, chunks, K)),
        f"dense, {LONGER} passages": Side(longer),
        WEIGHTED: Side(by_similarity(longer, dense), True),
        "evidence": Side(evidence, True),
        "evidence, not weighted": Side(evidence),
        "evidence-no-graph": Side(adaptive_contexts(queries, own, Lazy.of(chunks), BUDGET), True),
        "evidence-fixed-k": Side(top_contexts(graph.rankings, chunks, K), True),
    }
    if meetings.marked:
        oracle = rank_by_oracle("oracle-evidence", queries, questions, meetings.collection)
        sides[ALONE] = Side(top_contexts(oracle, chunks, K))
    return sides


def by_similarity(contexts: pa.Table, rankings: pa.Table) -> pa.Table:
    """Return contexts whose scores are a sigmoid of the similarity, standardized in the scope."""
    nodes = rankings.filter(pc.equal(rankings["level"], "node"))
    scores: dict[str, list[float]] = {}
    for row in nodes.select(["query_id", "score"]).to_pylist():
        scores.setdefault(row["query_id"], []).append(row["score"])
    spread = {i: (float(np.mean(own)), float(np.std(own)) + 1e-9) for i, own in scores.items()}
    weights = []
    for row in contexts.select(["query_id", "score"]).to_pylist():
        mean, deviation = spread[row["query_id"]]
        weights.append(float(1 / (1 + np.exp(-1.5 * ((row["score"] - mean) / deviation - 1.5)))))
    index = contexts.schema.get_field_index("score")
    field = contexts.schema.field(index)
    return contexts.set_column(index, field, pa.array(weights, field.type))


def answers(
    benchmark: str, kind: str, meetings: Meetings, sides: Mapping[str, Side], model: LanguageModel
) -> Measurement:
    """Return ROUGE of the answers to the questions of a kind, paired with dense."""
    queries = meetings.queries.filter(pc.equal(meetings.queries["kind"], kind))
    if kind == "specific" and meetings.marked:
        queries = queries.filter(pc.is_in(queries["query_id"], pa.array(list(meetings.marked))))
    ids = queries["query_id"].to_pylist()
    scored, words, read = {}, {}, {}
    for name, side in sides.items():
        own = side.contexts.filter(pc.is_in(side.contexts["query_id"], pa.array(ids)))
        if set(own["query_id"].to_pylist()) >= set(ids):
            scored[name], words[name] = scores_of(queries, Side(own, side.weighted), model)
            read[name] = own.num_rows / len(ids)
            print(f"{kind}: {name}", file=sys.stderr)
    return Measurement(
        f"Answers on {benchmark}, {kind} questions",
        f"{len(ids)} questions; ROUGE F1 in percent of extractive answers of {WORDS} words; "
        "differences from dense are paired, 95% bootstrap intervals over questions.",
        [
            "contexts of",
            "passages",
            "words",
            *(h for m in ROUGE for h in (m, "less that of dense")),
        ],
        [
            [name, f"{read[name]:.1f}", f"{words[name]:.0f}", *_cells(own, scored[DENSE], name)]
            for name, own in scored.items()
        ]
        + [
            [f"evidence less {other}", "", "", *_differences(scored["evidence"], scored[other])]
            for other in (WEIGHTED, "evidence-no-graph")
        ],
    )


def _differences(
    own: Mapping[str, Sequence[float]], other: Mapping[str, Sequence[float]]
) -> list[str]:
    return [cell for metric in ROUGE for cell in ("", paired(own[metric], other[metric]))]


def _cells(
    own: Mapping[str, Sequence[float]], dense: Mapping[str, Sequence[float]], name: str
) -> Iterator[str]:
    for metric in ROUGE:
        yield f"{100 * np.mean(own[metric]):.2f}"
        yield "" if name == DENSE else paired(own[metric], dense[metric])


def scores_of(
    queries: pa.Table, side: Side, model: LanguageModel
) -> tuple[dict[str, list[float]], float]:
    """Return ROUGE of each question's answer, in the order of `queries`, and the mean length."""
    found = answer_questions(queries, side.contexts, model, WORDS, weighted=side.weighted)
    rows = found.rows.to_pylist()
    written = {row["query_id"]: row["text"] for row in rows}
    scores: dict[str, list[float]] = {metric: [] for metric in ROUGE}
    for row in queries.select(["query_id", "references"]).to_pylist():
        own = rouge(written.get(row["query_id"], ""), row["references"])
        for metric in ROUGE:
            scores[metric].append(own[metric])
    return scores, float(np.mean([len(text.split()) for text in written.values()]))


def run(benchmark: Benchmark, folder: Path) -> Iterator[Measurement]:
    """Yield a table of evidence where it is marked, and one of answers for each kind."""
    meetings = load(folder / benchmark.file, benchmark.read)
    found = judged(meetings)
    if meetings.marked:
        yield ranks(meetings, found)
    sides = sides_of(meetings, found)
    model = ExtractiveModel(meetings.embedder)
    for kind in ("specific", "general"):
        yield answers(benchmark.name, kind, meetings, sides, model)
