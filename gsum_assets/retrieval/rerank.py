"""The best passages of a method scored again, and both scores combined.

The new score is by a function of this module, or by a cross-encoder that is given by its folder.
`docs/baselines.md` says what each was worth.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache, partial

import numpy as np
import pyarrow as pa

from gsum_assets.pipeline.step import Inputs
from gsum_assets.retrieval.hybrid import min_max
from gsum_assets.retrieval.settings import RerankSettings
from gsum_resources.embedding.token_embeddings import LocalTokenEmbedder
from gsum_resources.scoring.cross_encoder import CrossEncoder
from gsum_resources.scoring.unigram import UnigramScorer
from gsum_resources.store.arrow import pc

Rescore = Callable[[str, Sequence[str]], np.ndarray]
"""Returns a score of each passage for a question, higher is better, `(n_passages,)`."""


def query_likelihood(question: str, passages: Sequence[str]) -> np.ndarray:
    """Return the log-probability of the question by the words of each passage, `(n_passages,)`.

    In nats per word, smoothed by all passages (Ponte and Croft 1998).
    """
    scorer = UnigramScorer(background=tuple(passages))
    return np.array([row[0] for row in scorer.score(passages, [[question]] * len(passages))])


def late_interaction(
    question: str, passages: Sequence[str], embedder: LocalTokenEmbedder
) -> np.ndarray:
    """Return the mean over the question's tokens of the best cosine with a token of each passage.

    `(n_passages,)`; 0 for a question without tokens. As in ColBERT (Khattab and Zaharia 2020), but
    with vectors of an embedder that was not trained for it.
    """
    asked, *read = embedder.embed_tokens([question, *passages])
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
def reranker(model: str) -> Rescore:
    """Return the reranker of a name, or the cross-encoder of a folder."""
    if model == "query_likelihood":
        return query_likelihood
    if model == "late_interaction":
        return partial(late_interaction, embedder=LocalTokenEmbedder())
    return CrossEncoder(model, "[retrieval.rerank] model").score


def rerank(
    rankings: pa.Table,
    questions: Mapping[str, str],
    chunks: pa.Table,
    rescore: Rescore,
    settings: RerankSettings,
    clock: Callable[[], float] = time.perf_counter,
) -> pa.Table:
    """Return rankings whose best `depth` chunks and documents have a new order and new scores.

    Both scores are scaled to 0..1 over these and added by weight; the sum has the range of the
    first scores, so that the rest of the ranking stays below. A document has the new score of its
    best chunk among them, or the lowest. `chunks` has `chunk_id`, `document_id` and `text` of these
    chunks, `questions` has texts by id.
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
        new = rescore(text, texts)
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
