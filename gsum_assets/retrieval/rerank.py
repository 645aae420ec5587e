"""The best passages of a method scored again, and both scores combined.

A first ranking compares a question with every passage by an index. For the best ones a slower score
is affordable: how likely the passage's words make the question (`query_likelihood`, Ponte and Croft
1998), how well each token of the question is matched by one of the passage (`late_interaction`, as
in ColBERT, Khattab and Zaharia 2020, but with vectors of the embedder, which was not trained for
it), or a cross-encoder, given by its folder. `docs/baselines.md` says what each was worth.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple, Protocol

import numpy as np
import pyarrow as pa

from gsum_assets.pipeline.step import Inputs
from gsum_assets.retrieval.hybrid import min_max
from gsum_assets.retrieval.settings import RerankSettings
from gsum_resources.embedding.token_embeddings import LocalTokenEmbedder, TokenEmbedder
from gsum_resources.scoring.cross_encoder import CrossEncoder
from gsum_resources.scoring.unigram import UnigramScorer
from gsum_resources.store.arrow import pc


class Reranker(Protocol):
    """Scores passages for a question."""

    def score(self, question: str, passages: Sequence[str]) -> np.ndarray:
        """Return a score of each passage, higher is better, `(n_passages,)`."""
        ...


class QueryLikelihood:
    """Log-probability of the question by the words of a passage, smoothed by all passages."""

    def score(self, question: str, passages: Sequence[str]) -> np.ndarray:
        """Return nats per word relative to the background, `(n_passages,)`."""
        scorer = UnigramScorer(background=tuple(passages))
        return np.array([row[0] for row in scorer.score(passages, [[question]] * len(passages))])


class LateInteraction:
    """Mean over the question's tokens of the best cosine with a token of the passage."""

    def __init__(self, embedder: TokenEmbedder) -> None:
        self._embedder = embedder

    def score(self, question: str, passages: Sequence[str]) -> np.ndarray:
        """Return mean cosines, `(n_passages,)`; 0 for a question without tokens."""
        asked, *read = self._embedder.embed_tokens([question, *passages])
        tokens = asked.vectors[asked.counted]
        if not len(tokens):
            return np.zeros(len(passages))
        return np.array([(tokens @ passage.vectors.T).max(axis=1).mean() for passage in read])


class Passages(NamedTuple):
    """Text and document of passages, both by chunk id."""

    texts: Mapping[str, str]
    documents: Mapping[str, str]


def reranked(inputs: Inputs, rankings: pa.Table) -> pa.Table:
    """Return rankings as `[retrieval.rerank]` has them; unchanged where it names no model."""
    settings = RerankSettings.model_validate(inputs.settings("retrieval.rerank"))
    if not settings.model:
        return rankings
    queries = inputs.table("queries")
    questions = dict(
        zip(queries["query_id"].to_pylist(), queries["retrieval_text"].to_pylist(), strict=True)
    )
    in_depth = rankings.filter(
        pc.and_(
            pc.equal(rankings["level"], "node"), pc.less_equal(rankings["rank"], settings.depth)
        )
    )
    ids = in_depth["item_id"].unique().to_pylist()
    chunks = inputs.tables["chunks"].rows_with("chunk_id", ids)
    of_chunks = chunks["chunk_id"].to_pylist()
    passages = Passages(
        dict(zip(of_chunks, chunks["text"].to_pylist(), strict=True)),
        dict(zip(of_chunks, chunks["document_id"].to_pylist(), strict=True)),
    )
    return rerank(rankings, questions, passages, reranker(settings.model), settings)


@lru_cache(maxsize=1)
def reranker(model: str) -> Reranker:
    """Return the reranker of a name, or the cross-encoder of a folder."""
    if model == "query_likelihood":
        return QueryLikelihood()
    if model == "late_interaction":
        return LateInteraction(LocalTokenEmbedder())
    return CrossEncoder(model, "[retrieval.rerank] model")


def rerank(
    rankings: pa.Table,
    questions: Mapping[str, str],
    passages: Passages,
    model: Reranker,
    settings: RerankSettings,
    clock: Callable[[], float] = time.perf_counter,
) -> pa.Table:
    """Return rankings whose best `depth` chunks and documents have a new order and new scores.

    Both scores are scaled to 0..1 over these and added by weight. A document has the new score of
    its best chunk among them; one without has the lowest. The sum is scaled to the range of the
    first scores, so that the rest of the ranking stays below.

    Parameters
    ----------
    rankings : rows of the table `rankings`, of each question and level by rank.
    questions : texts by id.
    passages : texts and documents of the best `depth` chunks of each question.
    """
    rows = rankings.select(["query_id", "level", "item_id", "score", "latency_s"]).to_pydict()
    groups: dict[tuple[str, str], list[int]] = {}
    for row, key in enumerate(zip(rows["query_id"], rows["level"], strict=True)):
        groups.setdefault(key, []).append(row)
    items, scores, latencies = rows["item_id"], rows["score"], rows["latency_s"]
    for query_id, text in questions.items():
        chunks = groups.get((query_id, "node"), [])
        best = [row for row in chunks[: settings.depth] if items[row] in passages.texts]
        if not best:
            continue
        started = clock()
        ids = [items[row] for row in best]
        new = model.score(text, [passages.texts[chunk_id] for chunk_id in ids])
        of_document: dict[str, float] = {}
        for chunk_id, value in zip(ids, new.tolist(), strict=True):
            document_id = passages.documents[chunk_id]
            of_document[document_id] = max(value, of_document.get(document_id, value))
        documents = groups.get((query_id, "document"), [])
        _reorder(items, scores, best, new, settings.weight)
        best_documents = documents[: settings.depth]
        least = min(of_document.values())
        of_rows = np.array([of_document.get(items[row], least) for row in best_documents])
        _reorder(items, scores, best_documents, of_rows, settings.weight)
        elapsed = clock() - started
        for row in (*chunks, *documents):
            latencies[row] += elapsed
    changed = {"item_id": items, "score": scores, "latency_s": latencies}
    for name, values in changed.items():
        index = rankings.schema.get_field_index(name)
        field = rankings.schema.field(index)
        rankings = rankings.set_column(index, field, pa.array(values, field.type))
    return rankings


def _reorder(
    items: list[str], scores: list[float], rows: Sequence[int], new: np.ndarray, weight: float
) -> None:
    """Write items and scores of some rows, best first, in the new order."""
    if not rows:
        return
    first = np.array([scores[row] for row in rows])
    total = (1 - weight) * min_max(first[None])[0] + weight * min_max(new[None])[0]
    order = np.argsort(-total, kind="stable")
    scaled = first.min() + min_max(total[None])[0] * np.ptp(first)
    ordered = [items[rows[i]] for i in order]
    for row, item, score in zip(rows, ordered, scaled[order].tolist(), strict=True):
        items[row], scores[row] = item, score
