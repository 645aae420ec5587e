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
from typing import Protocol

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


def reranked(inputs: Inputs, rankings: pa.Table) -> pa.Table:
    """Return rankings as `[retrieval.rerank]` has them; unchanged where it names no model."""
    settings = RerankSettings.model_validate(inputs.settings("retrieval.rerank"))
    if not settings.model:
        return rankings
    queries = inputs.table("queries")
    texts = zip(queries["query_id"].to_pylist(), queries["retrieval_text"].to_pylist(), strict=True)
    is_chunk = pc.equal(rankings["level"], "node")
    best = rankings.filter(pc.and_(is_chunk, pc.less_equal(rankings["rank"], settings.depth)))
    chunk_ids = best["item_id"].unique().to_pylist()
    chunks = inputs.tables["chunks"].rows_with("chunk_id", chunk_ids)
    return rerank(rankings, dict(texts), chunks, reranker(settings.model), settings)


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
    chunks: pa.Table,
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
    chunks : `chunk_id`, `document_id` and `text` of the best `depth` chunks of each question.
    """
    names = ("chunk_id", "document_id", "text")
    passages = {id_: row for id_, *row in zip(*(chunks[n].to_pylist() for n in names), strict=True)}
    columns = {name: rankings[name].to_pylist() for name in ("item_id", "score", "latency_s")}
    items, scores, latencies = columns.values()
    rows_of: dict[tuple[str, str], list[int]] = {}
    keys = zip(rankings["query_id"].to_pylist(), rankings["level"].to_pylist(), strict=True)
    for row, key in enumerate(keys):
        rows_of.setdefault(key, []).append(row)
    for query_id, text in questions.items():
        of_chunks = rows_of.get((query_id, "node"), [])
        of_documents = rows_of.get((query_id, "document"), [])
        best = [row for row in of_chunks[: settings.depth] if items[row] in passages]
        if not best:
            continue
        started = clock()
        documents, texts = zip(*(passages[items[row]] for row in best), strict=True)
        new = model.score(text, texts)
        score_of: dict[str, float] = {}
        for document_id, value in zip(documents, new.tolist(), strict=True):
            score_of[document_id] = max(value, score_of.get(document_id, value))
        _reorder(items, scores, best, new, settings.weight)
        best_documents, least = of_documents[: settings.depth], min(score_of.values())
        new = np.array([score_of.get(items[row], least) for row in best_documents])
        _reorder(items, scores, best_documents, new, settings.weight)
        elapsed = clock() - started
        for row in (*of_chunks, *of_documents):
            latencies[row] += elapsed
    for name, values in columns.items():
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
