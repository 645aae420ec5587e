"""Graph of Records, its ablations and its baselines as a family of methods."""

import pyarrow as pa

from gsum_assets.corpus.chunk import n_word_pieces
from gsum_assets.evaluation.family import Family, Inputs
from gsum_assets.gor.contexts import nodes_within, top_nodes
from gsum_assets.gor.prompts import PROMPTS
from gsum_assets.gor.rank import rank
from gsum_assets.gor.settings import ContextSettings, GorSettings
from gsum_assets.gor.variants import VARIANTS, WITHOUT_NETWORK
from gsum_assets.retrieval.settings import DEFAULT_K
from gsum_assets.tables import TABLES


def _rank(variant: str, inputs: Inputs) -> pa.Table:
    without = variant in WITHOUT_NETWORK
    return rank(
        variant,
        inputs.table("documents"),
        inputs.table("record_nodes"),
        inputs.table("record_edges"),
        TABLES["gor.node_embeddings"].empty() if without else inputs.table("node_embeddings"),
        inputs.table("queries"),
        inputs.table("query_embeddings"),
    )


def _contexts(_: str, inputs: Inputs) -> pa.Table:
    chosen = ContextSettings.model_validate(inputs.settings("gor.contexts"))
    rankings, nodes = inputs.table("rankings"), inputs.table("record_nodes")
    if chosen.budget_tokens is not None:
        return nodes_within(rankings, nodes, chosen.budget_tokens, n_word_pieces)
    return top_nodes(rankings, nodes, chosen.k or DEFAULT_K)


GOR = Family(
    name="gor",
    settings=GorSettings,
    prompts=PROMPTS,
    variants=VARIANTS,
    default=(),
    rank=_rank,
    contexts=_contexts,
    reads=("documents", "gor/record_nodes", "gor/record_edges"),
    reads_by_variant=("node_embeddings",),
    k="gor.contexts.k",
)
