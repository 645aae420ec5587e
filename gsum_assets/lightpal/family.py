"""LightPAL, its ablation and baselines, and our `passage_walk`."""

import pyarrow as pa

from gsum_assets.lightpal.index import EDGE, INDEX, PASSAGES
from gsum_assets.lightpal.methods import METHODS, PASSAGE_WALK
from gsum_assets.lightpal.rank import PassageSearch, Tables
from gsum_assets.lightpal.settings import ContextSettings, LightpalSettings
from gsum_assets.lightpal.views import VIEWS
from gsum_assets.pipeline.family import Family
from gsum_assets.pipeline.step import CONTEXTS, RANKINGS, Inputs, Step
from gsum_assets.pipeline.tables import TABLES
from gsum_assets.retrieval.collection import Questions
from gsum_assets.retrieval.loading import collection_of, contexts_of
from gsum_assets.retrieval.rerank import reranked
from gsum_assets.retrieval.settings import DEFAULT_K

_NO_TRUST = TABLES["lightpal.walk_trust"].empty()


def _rank(inputs: Inputs) -> pa.Table:
    walks = inputs.method == PASSAGE_WALK
    # only the tables that a method uses, so that it depends on no other settings
    follows_paths = METHODS[inputs.method].follows == "paths"
    names = ["walk"] if walks else ["retrieval", *["promptrank"] * follows_paths]
    language = inputs.settings("language")
    settings = LightpalSettings.model_validate({n: inputs.settings(f"lightpal.{n}") for n in names})
    # where k is unused, reading its setting would make this step depend on it
    k = 1 if walks else _k(inputs)

    def search() -> PassageSearch:
        trust = inputs.table("walk_trust") if walks else _NO_TRUST
        return PassageSearch(
            inputs.method,
            collection_of(inputs, keep_indexes=True),
            Tables(inputs.table("passage_edges"), trust),
            language,
            settings,
            lambda: inputs.model("passage_scorer"),
            k,
        )

    tables = (*PASSAGES, "passage_edges", *(["walk_trust"] if walks else []))
    kept = inputs.derived((inputs.method, language, repr(settings), k), tables, search)
    questions = Questions.from_tables(inputs.table("queries"), inputs.table("query_embeddings"))
    return reranked(inputs, kept.rank(questions))


def _k(inputs: Inputs) -> int:
    """Return the number of passages in a context."""
    chosen = ContextSettings.model_validate(inputs.settings("lightpal.contexts"))
    return chosen.k or DEFAULT_K


FAMILY = Family(
    "lightpal",
    tuple(METHODS),
    index=INDEX,
    question=(
        Step(
            _rank,
            RANKINGS,
            (*PASSAGES, "passage_edges", "walk_trust", "query_embeddings", "passage_scorer"),
            code_version="5",
            dictionaries={"passage_edges": EDGE},
        ),
        Step(lambda inputs: contexts_of(inputs, _k(inputs)), CONTEXTS, ("chunks",), pool=None),
    ),
    default=(PASSAGE_WALK,),
    settings=LightpalSettings,
    k="lightpal.contexts.k",
    views=lambda: VIEWS,
    filtered=tuple(METHODS),
)
