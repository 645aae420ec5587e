"""The results of graph-augmented summarization as assets: rankings, refined contexts, answers."""

from collections.abc import Callable, Mapping

import pyarrow as pa

from gsum_assets.corpus.chunk import n_word_pieces
from gsum_assets.evaluation.family import Family, Inputs, Step
from gsum_assets.gae.levels import levels
from gsum_assets.gae.prompts import PROMPTS
from gsum_assets.gae.rank import ChosenClusters, Tables, rank
from gsum_assets.gae.refine import refined_contexts, unrefined_contexts
from gsum_assets.gae.reflect import reflections
from gsum_assets.gae.settings import (
    ContextSettings,
    GaeSettings,
    RefineSettings,
    RerankSettings,
)
from gsum_assets.gae.topics import topics
from gsum_assets.gae.variants import VARIANTS
from gsum_assets.result import Result
from gsum_assets.retrieval.collection import Collection, Questions
from gsum_assets.retrieval.contexts import top_contexts
from gsum_assets.tables import TABLES
from gsum_resources.arrow import pc


def _collection(inputs: Inputs) -> Collection:
    tables = (inputs.table(name) for name in ("documents", "chunks", "chunk_embeddings"))
    return Collection.from_tables(*tables)


def _tables(inputs: Inputs) -> Tables:
    return Tables(inputs.table("clusters"), inputs.table("clusterings"))


def _rank(variant: str, inputs: Inputs) -> pa.Table:
    reranks = VARIANTS[variant].reranks
    return rank(
        variant,
        _collection(inputs),
        Questions.from_tables(inputs.table("queries"), inputs.table("query_embeddings")),
        _tables(inputs) if reranks else _NO_TABLES,
        inputs.settings("language"),
        ContextSettings.model_validate(inputs.settings("gae.contexts")).k if reranks else 1,
        RerankSettings.model_validate(inputs.settings("gae.rerank") if reranks else {}),
    )


_NO_TABLES = Tables(TABLES["gae.clusters"].empty(), TABLES["gae.clusterings"].empty())


def _contexts(_: str, inputs: Inputs) -> pa.Table:
    chosen = ContextSettings.model_validate(inputs.settings("gae.contexts"))
    return top_contexts(inputs.table("rankings"), inputs.table("chunks"), chosen.k)


def _topics(variant: str, inputs: Inputs) -> Result:
    chosen = VARIANTS[variant]
    if not (chosen.reflects and chosen.clusters):
        return Result(TABLES["gae.topics"].empty())

    def ask(queries: pa.Table, clusters: Mapping[str, int]) -> Result:
        return topics(
            inputs.table("contexts"),
            clusters,
            queries,
            inputs.model("language_model"),
            _refine_settings(inputs),
            n_word_pieces,
            inputs.prompts("gae"),
        )

    return _by_scope(variant, inputs, ask)


def _reflections(variant: str, inputs: Inputs) -> Result:
    if not VARIANTS[variant].reflects:
        return Result(TABLES["gae.reflections"].empty())
    contexts, queries = inputs.table("contexts"), inputs.table("queries")
    model, prompts = inputs.model("language_model"), inputs.prompts("gae")
    return reflections(contexts, queries, model, prompts)


def _refined_contexts(variant: str, inputs: Inputs) -> Result:
    settings, max_words = _refine_settings(inputs), inputs.settings("answer")["max_words"]
    contexts = inputs.table("contexts")
    if not VARIANTS[variant].reflects:
        return unrefined_contexts(
            contexts, inputs.table("queries"), settings, max_words, n_word_pieces
        )

    def ask(queries: pa.Table, clusters: Mapping[str, int]) -> Result:
        return refined_contexts(
            contexts,
            inputs.table("topics"),
            inputs.table("reflections"),
            clusters,
            queries,
            inputs.model("language_model"),
            settings,
            max_words,
            n_word_pieces,
            inputs.prompts("gae"),
        )

    return _by_scope(variant, inputs, ask)


def _by_scope(
    variant: str, inputs: Inputs, ask: Callable[[pa.Table, Mapping[str, int]], Result]
) -> Result:
    """Ask about the corpus and about single documents apart: their clusterings may differ."""
    queries = inputs.table("queries")
    of_corpus = pc.is_null(queries["document_id"])
    made = [
        ask(queries.filter(among), _cluster_of(variant, inputs, scope))
        for scope, among in (("corpus", of_corpus), ("document", pc.invert(of_corpus)))
    ]
    rows = pa.concat_tables([one.rows for one in made]).combine_chunks()
    return Result(rows, [problem for one in made for problem in one.problems])


def _cluster_of(variant: str, inputs: Inputs, scope: str) -> Mapping[str, int]:
    """Cluster of each chunk by its id; none where the method has no clusters."""
    chosen = VARIANTS[variant]
    if not chosen.clusters:
        return {}
    *_, nodes = levels(Collection.from_tables(inputs.table("documents"), inputs.table("chunks")))
    labels = ChosenClusters(chosen, _tables(inputs)).of(nodes, scope).labels
    return dict(zip(nodes.ids, labels.tolist(), strict=True))


def _refine_settings(inputs: Inputs) -> RefineSettings:
    return RefineSettings.model_validate(inputs.settings("gae.refine"))


GAE = Family(
    name="gae",
    settings=GaeSettings,
    prompts=PROMPTS,
    variants=tuple(VARIANTS),
    default=(),
    rank=_rank,
    contexts=_contexts,
    reads=("documents", "chunks", "chunk_embeddings"),
    reads_by_corpus=("clusters", "clusterings"),
    k="gae.contexts.k",
    refinements=(
        Step(
            "topics",
            _topics,
            "What the clusters among a question's passages are about, and how far that bears on "
            "it.",
            code_version="2",
        ),
        Step(
            "reflections",
            _reflections,
            "How far each passage bears on its question.",
            code_version="2",
        ),
        Step(
            "refined_contexts",
            _refined_contexts,
            "The passages as the answer is written from them: what bears on the question much is "
            "edited lightly, what bears on it little is reduced or dropped.",
            code_version="2",
        ),
    ),
)
"""The method with the clustering that held-out passages speak for, the published clusterer, and
the paper's ablations."""
