"""Evidence and answers of `evidence` on QMSum val, beside dense retrieval of six passages.

To be run once: nothing may be chosen by its figures.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa

from benchmarks import Measurement
from benchmarks.answers import WORDS
from benchmarks.evidence.found import HEADER, K, compared_ranks, metrics_of, paired
from benchmarks.evidence.meetings import Meetings, load
from gsum_assets.corpus.settings import CorpusSettings
from gsum_assets.evaluation.answer import answer_questions
from gsum_assets.evaluation.rouge import rouge
from gsum_assets.evidence.contexts import Budget, adaptive_contexts
from gsum_assets.evidence.rank import Evidence, rank
from gsum_assets.evidence.settings import CandidateSettings, ContextSettings
from gsum_assets.evidence.variants import VARIANTS
from gsum_assets.evidence.weights import load_network
from gsum_assets.retrieval.contexts import top_contexts
from gsum_assets.retrieval.dense import Dense
from gsum_assets.retrieval.oracles import rank_by_oracle
from gsum_assets.retrieval.ranking import rank_questions
from gsum_assets.retrieval.words import Words
from gsum_resources.arrow import pc
from gsum_resources.llm.extractive import ExtractiveModel
from gsum_resources.protocols import LanguageModel

DENSE, ALONE = "dense", "evidence alone"
ROUGE = ("rouge1", "rouge2", "rougeL")
NETWORKS = {"own features": "evidence-no-graph", "with graph": "evidence"}
BUDGET = Budget(ContextSettings().k_max, K * CorpusSettings().chunking.max_tokens)
UNBOUND = Budget(ContextSettings().k_max, 10**9)


def judged(meetings: Meetings) -> dict[str, Evidence]:
    """Return rankings and probabilities of each network."""
    return {
        name: rank(
            meetings.collection,
            meetings.sentences,
            meetings.questions,
            meetings.queries["text"].to_pylist(),
            load_network(VARIANTS[variant].weights),
            Words(),
            CandidateSettings().n,
        )
        for name, variant in NETWORKS.items()
    }


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
        compared_ranks(metrics, DENSE),
    )


def contexts_of(meetings: Meetings, found: Mapping[str, Evidence]) -> dict[str, pa.Table]:
    """Return the passages that each side reads."""
    chunks, queries, questions = meetings.chunks, meetings.queries, meetings.questions
    dense = rank_questions(Dense, questions, meetings.collection)
    own, graph = (found[name].probabilities for name in NETWORKS)
    oracle = rank_by_oracle("oracle-evidence", queries, questions, meetings.collection)
    return {
        DENSE: top_contexts(dense, chunks, K),
        "evidence": adaptive_contexts(queries, graph, chunks, BUDGET),
        "evidence-no-graph": adaptive_contexts(queries, own, chunks, BUDGET),
        "evidence-fixed-k": top_contexts(found["with graph"].rankings, chunks, K),
        f"evidence, up to {UNBOUND.k_max}": adaptive_contexts(queries, graph, chunks, UNBOUND),
        ALONE: top_contexts(oracle, chunks, K),
    }


def answers(
    kind: str, meetings: Meetings, contexts: Mapping[str, pa.Table], model: LanguageModel
) -> Measurement:
    """Return ROUGE of the answers to the questions of a kind, paired with dense."""
    queries = meetings.queries.filter(pc.equal(meetings.queries["kind"], kind))
    if kind == "specific":
        queries = queries.filter(pc.is_in(queries["query_id"], pa.array(list(meetings.marked))))
    ids = queries["query_id"].to_pylist()
    scored, words, read = {}, {}, {}
    for name, rows in contexts.items():
        own = rows.filter(pc.is_in(rows["query_id"], pa.array(ids)))
        if own.num_rows and set(own["query_id"].to_pylist()) >= set(ids):
            scored[name], words[name] = _scores(queries, own, model)
            read[name] = own.num_rows / len(ids)
    return Measurement(
        f"Answers on QMSum val, {kind} questions",
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
        ],
    )


def _cells(
    own: Mapping[str, Sequence[float]], dense: Mapping[str, Sequence[float]], name: str
) -> Iterator[str]:
    for metric in ROUGE:
        yield f"{100 * np.mean(own[metric]):.2f}"
        yield "" if name == DENSE else paired(own[metric], dense[metric])


def _scores(
    queries: pa.Table, contexts: pa.Table, model: LanguageModel
) -> tuple[dict[str, list[float]], float]:
    """Return ROUGE of each question's answer, in the order of `queries`, and the mean length."""
    rows = answer_questions(queries, contexts, model, WORDS).rows.to_pylist()
    written = {row["query_id"]: row["text"] for row in rows}
    scores: dict[str, list[float]] = {metric: [] for metric in ROUGE}
    for row in queries.select(["query_id", "references"]).to_pylist():
        own = rouge(written.get(row["query_id"], ""), row["references"])
        for metric in ROUGE:
            scores[metric].append(own[metric])
    return scores, float(np.mean([len(text.split()) for text in written.values()]))


def run(folder: Path) -> Iterator[Measurement]:
    """Yield a table of evidence, and one of answers for each kind of question."""
    meetings = load(folder, "val")
    found = judged(meetings)
    yield ranks(meetings, found)
    contexts = contexts_of(meetings, found)
    model = ExtractiveModel(meetings.embedder)
    for kind in ("specific", "general"):
        yield answers(kind, meetings, contexts, model)
