"""The baselines by name: how each ranks, and what each gives to the language model."""

from collections.abc import Callable, Mapping

import numpy as np
import pyarrow as pa

from gsum_assets.retrieval.bm25 import Bm25
from gsum_assets.retrieval.collection import Collection, Questions
from gsum_assets.retrieval.dense import Dense
from gsum_assets.retrieval.full_context import FullContext
from gsum_assets.retrieval.hybrid import hybrid, rrf
from gsum_assets.retrieval.random_order import RandomOrder
from gsum_assets.retrieval.ranking import Retriever, rank_questions
from gsum_assets.retrieval.tfidf import TfIdf
from gsum_resources.protocols import Embedder

RETRIEVERS: Mapping[str, Callable[[Collection], Retriever]] = {
    "random": RandomOrder,
    "bm25": Bm25,
    "tfidf": TfIdf,
    "dense": Dense,
    "hybrid": hybrid,
    "rrf": rrf,
    "full_context": FullContext,
}
NEED_VECTORS = frozenset({"dense", "hybrid", "rrf"})


def rank(
    variant: str,
    documents: pa.Table,
    chunks: pa.Table,
    queries: pa.Table,
    chunk_embeddings: pa.Table | None = None,
    embedder: Embedder | None = None,
) -> pa.Table:
    """Rows of the table `rankings` for one baseline.

    Parameters
    ----------
    chunk_embeddings, embedder : needed by the variants in `NEED_VECTORS`, unused by others.
    """
    collection = Collection.from_tables(documents, chunks, chunk_embeddings)
    vectors: np.ndarray | None = None
    if embedder is not None:
        vectors = embedder.embed_queries(queries["retrieval_text"].to_pylist())
    questions = Questions.from_table(queries, vectors)
    return rank_questions(RETRIEVERS[variant], questions, collection)
