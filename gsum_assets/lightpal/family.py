"""LightPAL, its ablation and baselines, and our `passage_walk`."""

import pyarrow as pa

from gsum_assets.lightpal.index import EDGE, INDEX, PASSAGES
from gsum_assets.lightpal.methods import METHODS, PASSAGE_WALK
from gsum_assets.lightpal.rank import PassageSearch, Tables
from gsum_assets.lightpal.settings import ContextSettings, LightpalSettings
from gsum_assets.lightpal.views import VIEWS
from gsum_assets.pipeline.cost import Cost
from gsum_assets.pipeline.family import Family
from gsum_assets.pipeline.step import CONTEXTS, RANKINGS, Inputs, Step
from gsum_assets.retrieval.collection import Questions
from gsum_assets.retrieval.loading import collection_of, contexts_of
from gsum_assets.retrieval.rerank import reranked
from gsum_assets.retrieval.settings import DEFAULT_K

_OF_WALKS = ("walk_trust", "communities")


def _rank(inputs: Inputs) -> pa.Table:
    walks = inputs.method == PASSAGE_WALK
    # only the tables that a method uses, so that it depends on no other settings
    follows_paths = METHODS[inputs.method].follows == "paths"
    names = ["walk", "communities"] if walks else ["retrieval", *["promptrank"] * follows_paths]
    language = inputs.settings("language")
    settings = LightpalSettings.model_validate({n: inputs.settings(f"lightpal.{n}") for n in names})
    # where k is unused, reading its setting would make this step depend on it
    k = 1 if walks else _k(inputs)

    read = ("passage_edges", *(_OF_WALKS if walks else ()))

    def search() -> PassageSearch:
        return PassageSearch(
            inputs.method,
            collection_of(inputs, keep_indexes=True),
            Tables(**{name: inputs.table(name) for name in read}),
            language,
            settings,
            lambda: inputs.model("passage_scorer"),
            k,
        )

    key = inputs.method, language, repr(settings), k
    kept = inputs.derived(key, (*PASSAGES, *read), search)
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
            (*PASSAGES, "passage_edges", *_OF_WALKS, "query_embeddings", "passage_scorer"),
            code_version="7",
            dictionaries={"passage_edges": EDGE},
        ),
        Step(lambda inputs: contexts_of(inputs, _k(inputs)), CONTEXTS, ("chunks",), pool=None),
    ),
    default=(PASSAGE_WALK,),
    settings=LightpalSettings,
    k="lightpal.contexts.k",
    views=lambda: VIEWS,
    filtered=tuple(METHODS),
    costs=[Cost("question", tokens_in=1430, tokens_out=182, repeated=0.4)],
)
