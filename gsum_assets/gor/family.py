"""Graph of Records, its ablations and its baselines."""

import pyarrow as pa

from gsum_assets.corpus.chunk import n_word_pieces
from gsum_assets.gor.index import INDEX
from gsum_assets.gor.methods import METHODS, WITHOUT_NETWORK
from gsum_assets.gor.prompts import PROMPTS
from gsum_assets.gor.rank import rank_in, searched
from gsum_assets.gor.settings import ContextSettings, GorSettings
from gsum_assets.pipeline.cost import Cost
from gsum_assets.pipeline.family import Family
from gsum_assets.pipeline.step import CONTEXTS, RANKINGS, Inputs, Step
from gsum_assets.pipeline.tables import TABLES
from gsum_assets.retrieval.collection import Collection
from gsum_assets.retrieval.contexts import nodes_within, top_nodes
from gsum_assets.retrieval.settings import DEFAULT_K


def _rank(inputs: Inputs) -> pa.Table:
    without = inputs.method in WITHOUT_NETWORK

    def collection() -> Collection:
        return searched(
            inputs.method,
            inputs.table("documents"),
            inputs.table("record_nodes"),
            TABLES["gor.node_embeddings"].empty() if without else inputs.table("node_embeddings"),
        )

    tables = ("documents", "record_nodes", *([] if without else ["node_embeddings"]))
    return rank_in(
        inputs.derived(inputs.method, tables, collection),
        inputs.method,
        inputs.table("record_nodes"),
        inputs.table("record_edges"),
        inputs.table("queries"),
        inputs.table("query_embeddings"),
    )


def _contexts(inputs: Inputs) -> pa.Table:
    chosen = ContextSettings.model_validate(inputs.settings("gor.contexts"))
    rankings, nodes = inputs.table("rankings"), inputs.table("record_nodes")
    if chosen.budget_tokens is not None:
        return nodes_within(rankings, nodes, chosen.budget_tokens, n_word_pieces)
    return top_nodes(rankings, nodes, chosen.k or DEFAULT_K)


FAMILY = Family(
    "gor",
    METHODS,
    index=INDEX,
    question=(
        Step(
            _rank,
            RANKINGS,
            (
                *("documents", "record_nodes", "record_edges"),
                *("node_embeddings", "query_embeddings"),
            ),
            code_version="3",
        ),
        Step(_contexts, CONTEXTS, ("record_nodes",), pool=None, code_version="2"),
    ),
    settings=GorSettings,
    prompts=PROMPTS,
    k="gor.contexts.k",
    filtered=tuple(METHODS),
    costs=[Cost("question", tokens_in=1108, tokens_out=181, repeated=0.59)],
)
