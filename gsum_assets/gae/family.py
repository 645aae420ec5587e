"""Graph-augmented summarization, its published form, and variants."""

from collections.abc import Mapping

import pyarrow as pa

from gsum_assets.corpus.chunk import n_word_pieces
from gsum_assets.gae.index import INDEX, TEXTS, collection_of
from gsum_assets.gae.methods import METHODS
from gsum_assets.gae.prompts import PROMPTS
from gsum_assets.gae.rank import Clusters, rank
from gsum_assets.gae.refine import refined_contexts, unrefined_contexts
from gsum_assets.gae.reflect import reflections
from gsum_assets.gae.settings import (
    ContextSettings,
    GaeSettings,
    RefineSettings,
    RerankSettings,
)
from gsum_assets.gae.topics import topics
from gsum_assets.pipeline.cost import Cost
from gsum_assets.pipeline.family import Family
from gsum_assets.pipeline.result import Result
from gsum_assets.pipeline.step import CONTEXTS, RANKINGS, Inputs, Step
from gsum_assets.pipeline.tables import TABLES
from gsum_assets.retrieval.collection import Questions
from gsum_assets.retrieval.loading import contexts_of
from gsum_assets.retrieval.rerank import reranked

_CLUSTERS = ("clusters", "clusterings")


def _k(inputs: Inputs) -> int:
    return ContextSettings.model_validate(inputs.settings("gae.contexts")).k


def _refine_settings(inputs: Inputs) -> RefineSettings:
    return RefineSettings.model_validate(inputs.settings("gae.refine"))


def _rank(inputs: Inputs) -> pa.Table:
    has_clusters = METHODS[inputs.method].clustering is not None
    rankings = rank(
        inputs.method,
        collection_of(inputs, "chunk_embeddings"),
        Questions.from_tables(inputs.table("queries"), inputs.table("query_embeddings")),
        Clusters.from_tables(*map(inputs.table, _CLUSTERS)) if has_clusters else None,
        inputs.settings("language"),
        _k(inputs) if has_clusters else 1,
        RerankSettings.model_validate(inputs.settings("gae.rerank")),
    )
    return reranked(inputs, rankings)


def _cluster_of(inputs: Inputs) -> Mapping[str, int]:
    return Clusters.from_tables(*map(inputs.table, _CLUSTERS)).cluster_of


def _topics(inputs: Inputs) -> Result:
    if not METHODS[inputs.method].reflects:
        return Result(TABLES["gae.topics"].empty())
    return topics(
        inputs.table("contexts"),
        _cluster_of(inputs),
        inputs.table("queries"),
        inputs.model("language_model"),
        _refine_settings(inputs),
        n_word_pieces,
        inputs.prompts("gae"),
    )


def _reflections(inputs: Inputs) -> Result:
    if not METHODS[inputs.method].reflects:
        return Result(TABLES["gae.reflections"].empty())
    contexts, queries = inputs.table("contexts"), inputs.table("queries")
    model, prompts = inputs.model("language_model"), inputs.prompts("gae")
    return reflections(contexts, queries, model, prompts)


def _refined_contexts(inputs: Inputs) -> Result:
    contexts, queries = inputs.table("contexts"), inputs.table("queries")
    settings, max_words = _refine_settings(inputs), inputs.settings("answer")["max_words"]
    if not METHODS[inputs.method].reflects:
        return unrefined_contexts(contexts, queries, settings, max_words, n_word_pieces)
    return refined_contexts(
        contexts,
        inputs.table("topics"),
        inputs.table("reflections"),
        _cluster_of(inputs),
        queries,
        inputs.model("language_model"),
        settings,
        max_words,
        n_word_pieces,
        inputs.prompts("gae"),
    )


_REFLECT = [name for name, one in METHODS.items() if one.reflects]

FAMILY = Family(
    "gae",
    tuple(METHODS),
    index=INDEX,
    question=(
        Step(
            _rank,
            RANKINGS,
            (*TEXTS, "chunk_embeddings", *_CLUSTERS, "query_embeddings"),
            code_version="6",
        ),
        Step(lambda inputs: contexts_of(inputs, _k(inputs)), CONTEXTS, ("chunks",), pool=None),
        Step(
            _topics,
            {
                "topics": "Topic of each cluster among a question's passages, and its relevance to "
                "the question."
            },
            (*_CLUSTERS, "language_model"),
            pool="llm",
            code_version="3",
            costs=[Cost("question", requests=2.36, tokens_in=944, tokens_out=18, methods=_REFLECT)],
        ),
        Step(
            _reflections,
            {"reflections": "Relevance of each passage to its question."},
            ("language_model",),
            pool="llm",
            costs=[
                Cost(
                    "question",
                    times="gae.contexts.k",
                    tokens_in=335,
                    tokens_out=21,
                    methods=_REFLECT,
                    repeated=0.86,
                )
            ],
            code_version="3",
        ),
        Step(
            _refined_contexts,
            {
                "refined_contexts": "The answer is written from them: highly relevant passages are "
                "edited lightly, others are condensed, reduced or dropped."
            },
            (*_CLUSTERS, "language_model"),
            pool="llm",
            code_version="5",
            costs=[
                Cost(
                    "question",
                    times="gae.contexts.k",
                    tokens_in=337,
                    tokens_out=100,
                    methods=_REFLECT,
                )
            ],
        ),
    ),
    settings=GaeSettings,
    prompts=PROMPTS,
    prompt_tokens="gae.refine.prompt_tokens",
    k="gae.contexts.k",
    filtered=tuple(METHODS),
    costs=[Cost("question", tokens_in=1644, tokens_out=184, repeated=0.44)],
)
