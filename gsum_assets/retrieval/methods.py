"""The baselines by name: retrievers and contexts."""

from collections.abc import Callable, Mapping

import pyarrow as pa

from gsum_assets.retrieval.baselines import FullContext, RandomOrder, TfIdf
from gsum_assets.retrieval.bm25 import Bm25
from gsum_assets.retrieval.collection import Collection, Questions
from gsum_assets.retrieval.dense import Dense
from gsum_assets.retrieval.hybrid import hybrid, rrf
from gsum_assets.retrieval.oracles import ORACLES, rank_by_oracle
from gsum_assets.retrieval.ranking import Retriever, rank_questions
from gsum_assets.retrieval.words import Words

RETRIEVERS: Mapping[str, Callable[[Collection, Words], Retriever]] = {
    "random": lambda collection, _: RandomOrder(collection),
    "bm25": Bm25,
    "tfidf": TfIdf,
    "dense": lambda collection, _: Dense(collection),
    "hybrid": hybrid,
    "rrf": rrf,
    "full_context": lambda collection, _: FullContext(collection),
}
METHODS = (*RETRIEVERS, *ORACLES)
NEED_VECTORS = frozenset({"dense", "hybrid", "rrf", *ORACLES})
DEFAULT_METHOD = "hybrid"
"""Of `gsum ask`, and of a corpus without questions; chosen on QMSum and ODSum-Story train."""


def rank(
    method: str,
    collection: Collection,
    queries: pa.Table,
    words: Words,
    query_embeddings: pa.Table | None = None,
) -> pa.Table:
    """Return the rows of the table `rankings` for one baseline.

    The methods in `NEED_VECTORS` need `query_embeddings`, and vectors of the collection.
    """
    questions = Questions.from_tables(queries, query_embeddings)
    if method in ORACLES:
        return rank_by_oracle(method, queries, questions, collection)
    build = RETRIEVERS[method]

    def retriever(scope: Collection) -> Retriever:
        return scope.derived((method, words), lambda: build(scope, words))

    return rank_questions(retriever, questions, collection)
