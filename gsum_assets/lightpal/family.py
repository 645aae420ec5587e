"""LightPAL, its ablation and its comparisons as a family of methods."""

import pyarrow as pa

from gsum_assets.evaluation.family import Family, Inputs
from gsum_assets.lightpal.rank import Tables, rank
from gsum_assets.lightpal.settings import ContextSettings, LightpalSettings
from gsum_assets.lightpal.variants import PASSAGE_WALK, PROMPTRANK, VARIANTS
from gsum_assets.retrieval.collection import Collection, Questions
from gsum_assets.retrieval.contexts import top_contexts
from gsum_assets.retrieval.settings import DEFAULT_K
from gsum_assets.tables import TABLES

_NO_TRUST = TABLES["lightpal.walk_trust"].empty()


def _rank(variant: str, inputs: Inputs) -> pa.Table:
    collection = Collection.from_tables(
        *(inputs.table(name) for name in ("documents", "chunks", "chunk_embeddings"))
    )
    trust = inputs.table("walk_trust") if variant == PASSAGE_WALK else _NO_TRUST
    return rank(
        variant,
        collection,
        Questions.from_tables(inputs.table("queries"), inputs.table("query_embeddings")),
        Tables(inputs.table("passage_edges"), trust),
        inputs.settings("language"),
        _retrieval_settings(variant, inputs),
        lambda: inputs.model("passage_scorer"),
        _k(inputs) if variant != PASSAGE_WALK else 1,  # what is not read cannot be out of date
    )


def _retrieval_settings(variant: str, inputs: Inputs) -> LightpalSettings:
    """The tables that a method reads; a change in another is none of its own."""
    names = {PASSAGE_WALK: ["walk"], PROMPTRANK: ["retrieval", "promptrank"]}.get(
        variant, ["retrieval"]
    )
    return LightpalSettings.model_validate({n: inputs.settings(f"lightpal.{n}") for n in names})


def _contexts(_: str, inputs: Inputs) -> pa.Table:
    return top_contexts(inputs.table("rankings"), inputs.table("chunks"), _k(inputs))


def _k(inputs: Inputs) -> int:
    """Passages given for an answer."""
    chosen = ContextSettings.model_validate(inputs.settings("lightpal.contexts"))
    return chosen.k or DEFAULT_K


LIGHTPAL = Family(
    name="lightpal",
    k="lightpal.contexts.k",
    settings=LightpalSettings,
    variants=tuple(VARIANTS),
    default=(PASSAGE_WALK,),
    rank=_rank,
    contexts=_contexts,
    reads=("documents", "chunks", "chunk_embeddings"),
    reads_by_corpus=("passage_edges", "walk_trust"),
    models=("passage_scorer",),
)
"""The published method, its ablation, its slow comparison, and the walk of our own."""
