"""The baselines as a family of methods."""

import pyarrow as pa

from gsum_assets.evaluation.family import Family, Inputs
from gsum_assets.retrieval.contexts import full_contexts, top_contexts
from gsum_assets.retrieval.oracles import askable
from gsum_assets.retrieval.settings import RetrievalSettings
from gsum_assets.retrieval.variants import NEED_VECTORS, VARIANTS, rank
from gsum_assets.retrieval.words import Words


def _rank(variant: str, inputs: Inputs) -> pa.Table:
    settings = RetrievalSettings.model_validate(inputs.settings("retrieval"))
    dense = variant in NEED_VECTORS
    return rank(
        variant,
        inputs.table("documents"),
        inputs.table("chunks"),
        inputs.table("queries"),
        Words(inputs.settings("language"), settings.bigrams),
        inputs.table("chunk_embeddings") if dense else None,
        inputs.table("query_embeddings") if dense else None,
    )


def _contexts(variant: str, inputs: Inputs) -> pa.Table:
    settings = RetrievalSettings.model_validate(inputs.settings("retrieval"))
    if variant == "full_context":
        return full_contexts(inputs.table("queries"), inputs.table("chunks"), settings)
    return top_contexts(inputs.table("rankings"), inputs.table("chunks"), settings.main_k)


RETRIEVAL = Family(
    name="retrieval",
    variants=VARIANTS,
    default=("bm25", "dense", "hybrid"),
    rank=_rank,
    contexts=_contexts,
    reads=("documents", "chunks", "chunk_embeddings"),
    settings=RetrievalSettings,
    k="retrieval.k",
    without_k=("full_context",),
    asked=askable,
)
