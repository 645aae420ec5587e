"""Rankings of all questions by the probability that a passage holds evidence."""

import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from gsum_assets.evidence.features import (
    GRAPH,
    OWN,
    Question,
    graph_features,
    own_features,
    signals,
)
from gsum_assets.evidence.network import Network, edges_of
from gsum_assets.evidence.scope import Scope, ScopeIndex
from gsum_assets.evidence.sentence_index import SentenceIndex
from gsum_assets.pipeline.tables import TABLES
from gsum_assets.retrieval.collection import Collection, Questions, scopes
from gsum_assets.retrieval.ranking import DEPTH, top
from gsum_assets.retrieval.words import Words
from gsum_resources.text.reading import question_aspects

DENSE = OWN.index("dense")  # column of the features
ALL = (*OWN, *GRAPH)
"""Names of the features that a network with the graph reads; one without reads `OWN`."""

_N_SHOWN = 3  # reasons of a passage
_N_EXPLAINED = 50  # passages of a question, most probable first, with reasons; answers read fewer
_LEAST_SHOWN = 0.005  # probability; less is not shown


class Judged(NamedTuple):
    """A question with the passages of its scope.

    Attributes
    ----------
    number : of the question, from 0.
    documents : the document of each, `(n,)`.
    features : `(n, n_features)`.
    """

    number: int
    scope: Scope
    documents: Sequence[str]
    features: np.ndarray
    latency_s: float


class EvidenceRanking(NamedTuple):
    """Rows of `rankings` and of `evidence.probabilities`."""

    rankings: pa.Table
    probabilities: pa.Table


def rank(
    collection: Collection,
    sentences: SentenceIndex,
    questions: Questions,
    texts: Sequence[str],
    network: Network,
    words: Words,
    n_candidates: int,
    clock: Callable[[], float] = time.perf_counter,
    prose: Network | None = None,
    explains: bool = True,
) -> EvidenceRanking:
    """Return the rankings of all questions, and every probability with its reasons.

    A question without search terms ("Summarize the meeting") has no evidence in particular; its
    passages are ranked by similarity.

    `n_candidates` passages are judged beside their neighbours, in a scope with more. `prose` is the
    network for scopes without speakers, by default `network`. Without `explains` there are no
    reasons, each of which takes as long as the probabilities.
    """

    def network_for(scope: Scope) -> Network:
        return network if prose is None or scope.is_speech else prose

    rankings: dict[int, pa.Table] = {}
    judgements: dict[int, pa.Table] = {}
    inputs = collection, sentences, questions, texts, words, n_candidates, clock
    for judged in judge(*inputs, lambda scope: network_for(scope).reads_graph):
        started = clock()
        chosen, ids = network_for(judged.scope), judged.scope.ids
        edges = edges_of(judged.scope) if chosen.reads_graph else []
        scaled = chosen.scaled(judged.features)
        probabilities = chosen.probabilities(scaled, edges).round(6)
        order = top(probabilities[None], ids, len(ids))[0]
        because: list[list[str]] = []
        if explains:
            because = reasons(chosen, scaled, edges, probabilities, order[:_N_EXPLAINED])
        scores, ranked = probabilities, order
        if not question_aspects(texts[judged.number]):
            scores = judged.features[:, DENSE]
            ranked = top(scores[None], ids, len(ids))[0]
        latency = judged.latency_s + clock() - started
        query_id = questions.ids[judged.number]
        rankings[judged.number] = _ranking_rows(query_id, judged, scores, ranked, latency)
        rows = {
            "query_id": [query_id] * len(order),
            "chunk_id": [ids[i] for i in order.tolist()],
            "rank": list(range(1, len(order) + 1)),
            "probability": probabilities[order],
            "reasons": because + [[]] * (len(order) - len(because)),
        }
        judgements[judged.number] = pa.table(rows, TABLES["evidence.probabilities"].schema)

    def in_order(table: str, rows: dict[int, pa.Table]) -> pa.Table:
        parts = [TABLES[table].empty(), *(rows[number] for number in sorted(rows))]
        return pa.concat_tables(parts).combine_chunks()

    return EvidenceRanking(
        in_order("rankings", rankings), in_order("evidence.probabilities", judgements)
    )


def judge(
    collection: Collection,
    sentences: SentenceIndex,
    questions: Questions,
    texts: Sequence[str],
    words: Words,
    n_candidates: int,
    clock: Callable[[], float] = time.perf_counter,
    reads_graph: Callable[[Scope], bool] = lambda _: True,
) -> Iterator[Judged]:
    """Yield the features of each question's passages, scope by scope; parameters as in `rank`.

    `reads_graph` says whether the features of a scope include those of the graph.

    Raises `ValueError` if the vectors of questions and sentences have different lengths.
    """
    assert questions.embeddings is not None
    dim = questions.embeddings.shape[1]
    if len(questions) and sentences.dim not in (None, dim):
        raise ValueError(
            f"evidence: question vectors have {dim} dimensions, sentence vectors {sentences.dim}; "
            "materialize evidence/sentences with the questions' embedding model"
        )
    for members, inside in scopes(questions, collection):
        index = inside.derived((sentences, words), partial(ScopeIndex, inside, sentences, words))
        whole = index.whole if len(index) <= n_candidates else None
        for member in members:
            started = clock()
            vector = questions.embeddings[member]
            bm25 = index.bm25.scores([questions.texts[member]])[0]
            rows = index.candidates(vector, bm25, n_candidates)
            scope = whole or index.scope(rows)
            terms = frozenset(words.split(questions.texts[member]))
            question = Question(texts[member], terms, vector)
            scores = signals(scope, question, bm25[rows], index.having(terms, rows))
            features = own_features(scope, question, scores)
            if reads_graph(scope):
                features = np.hstack([features, graph_features(scope, scores)])
            latency = clock() - started
            yield Judged(member, scope, index.document_ids(rows), features, latency)


def _ranking_rows(
    query_id: str, judged: Judged, scores: np.ndarray, order: np.ndarray, latency: float
) -> pa.Table:
    """Return rows of `rankings`: documents by their best passage, then passages."""
    best: dict[str, float] = {}
    for i in order:
        best.setdefault(judged.documents[int(i)], float(scores[i]))
    documents = sorted(best, key=lambda document: (-best[document], document))[:DEPTH]
    chunks = order[:DEPTH]
    n = len(documents) + len(chunks)
    rows = {
        "query_id": [query_id] * n,
        "level": ["document"] * len(documents) + ["node"] * len(chunks),
        "rank": [*range(1, len(documents) + 1), *range(1, len(chunks) + 1)],
        "item_id": [*documents, *(judged.scope.ids[i] for i in chunks.tolist())],
        "score": [*(best[document] for document in documents), *scores[chunks].tolist()],
        "latency_s": [latency] * n,
    }
    return pa.table(rows, TABLES["rankings"].schema)


def reasons(
    network: Network,
    scaled: np.ndarray,
    edges: Sequence[np.ndarray],
    probabilities: np.ndarray,
    chosen: np.ndarray,
) -> list[list[str]]:
    """Return the strongest reasons for each chosen passage, as "best sentence +0.21".

    A feature is replaced by its mean in all passages and all its forms at once.
    """
    if not edges:  # no passage gets messages from others
        scaled, probabilities = scaled[chosen], probabilities[chosen]
        chosen = np.arange(len(chosen))
    group_of = np.array([name.partition(":")[0] for name in network.names])
    groups = list(dict.fromkeys(group_of.tolist()))
    losses = np.empty((len(chosen), len(groups)))
    for column, group in enumerate(groups):
        without = np.where(group_of == group, np.float32(0), scaled)
        losses[:, column] = (probabilities - network.probabilities(without, edges))[chosen]
    best = np.argsort(-losses.round(6), axis=1, kind="stable")[:, :_N_SHOWN]
    return [
        [f"{groups[i]} {loss[i]:+.2f}" for i in order if loss[i] >= _LEAST_SHOWN]
        for order, loss in zip(best, losses, strict=True)
    ]


def explained(probabilities: pa.Table, contexts: pa.Table) -> str:
    """Return the passages that were read with their probabilities and reasons, as text."""
    judged = {row["chunk_id"]: row for row in probabilities.to_pylist()}
    read = contexts.sort_by("rank").to_pylist()
    total = sum(row["probability"] for row in judged.values())
    lines = [
        f"passages read: {len(read)} of {len(judged)} judged, "
        f"{total:.1f} of which are expected to hold evidence"
    ]
    for row in read:
        # a passage that was found when its document was searched alone is not judged
        if judgement := judged.get(row["node_id"]):
            because = ", ".join(judgement["reasons"]) or "no single feature"
            location = f"{row['document_id']}, passage {row['position']}"
            lines.append(
                f"  {judgement['probability']:5.2f}  {location} ({row['node_id']}): {because}"
            )
    return "\n".join(lines)
