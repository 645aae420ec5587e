"""Declaration of the baselines."""

import pyarrow as pa

from gsum_assets.pipeline.cost import Cost
from gsum_assets.pipeline.family import Family
from gsum_assets.pipeline.step import CONTEXTS, RANKINGS, Inputs, Step
from gsum_assets.retrieval.contexts import N_SPANS, full_contexts
from gsum_assets.retrieval.loading import collection_of, main_contexts
from gsum_assets.retrieval.methods import METHODS, NEED_VECTORS, RETRIEVERS, rank
from gsum_assets.retrieval.oracles import askable
from gsum_assets.retrieval.settings import RetrievalSettings
from gsum_assets.retrieval.words import Words


def _rank(inputs: Inputs) -> pa.Table:
    settings = RetrievalSettings.model_validate(inputs.settings("retrieval"))
    dense = inputs.method in NEED_VECTORS
    collection = collection_of(inputs, with_vectors=dense, keep_indexes=True)
    return rank(
        inputs.method,
        collection,
        inputs.table("queries"),
        Words(inputs.settings("language"), settings.bigrams),
        inputs.table("query_embeddings") if dense else None,
    )


def _contexts(inputs: Inputs) -> pa.Table:
    if inputs.method == "full_context":
        settings = RetrievalSettings.model_validate(inputs.settings("retrieval"))
        read = inputs.table("queries"), inputs.table("chunks")
        return full_contexts(*read, settings.window_tokens, N_SPANS)
    return main_contexts(inputs)


_SHORT = [name for name in METHODS if name != "full_context"]

FAMILY = Family(
    "retrieval",
    METHODS,
    studies=(
        "oracle-evidence",
        "oracle-documents",
    ),
    question=(
        Step(
            _rank,
            RANKINGS,
            ("documents", "chunks", "chunk_embeddings", "query_embeddings"),
            code_version="7",
        ),
        Step(_contexts, CONTEXTS, ("chunks",), pool=None),
    ),
    default=("bm25", "dense", "hybrid"),
    settings=RetrievalSettings,
    supported_questions=askable,
    filtered=tuple(RETRIEVERS),
    lexical=[name for name in RETRIEVERS if name not in NEED_VECTORS],
    costs=[
        Cost("question", tokens_in=1370, tokens_out=182, methods=_SHORT, repeated=0.3),
        Cost(
            "question",
            tokens_out=185,
            reads_all="retrieval.window_tokens",
            text_in=0.97,
            methods=["full_context"],
        ),
    ],
)
