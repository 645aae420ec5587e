"""Graph-augmented summarization, its published form, and variants."""

import pyarrow as pa

from gsum_assets.gae.index import INDEX
from gsum_assets.gae.methods import METHODS
from gsum_assets.gae.prompts import PROMPTS
from gsum_assets.gae.rank import Clusters, rank
from gsum_assets.gae.refine import refined_contexts, unrefined_contexts
from gsum_assets.gae.relevance import reflections, topics
from gsum_assets.gae.settings import ContextSettings, GaeSettings, RefineSettings, RerankSettings
from gsum_assets.pipeline.cost import Cost
from gsum_assets.pipeline.family import Family
from gsum_assets.pipeline.result import Result
from gsum_assets.pipeline.step import CONTEXTS, RANKINGS, Inputs, Step
from gsum_assets.pipeline.tables import TABLES
from gsum_assets.retrieval.collection import Questions
from gsum_assets.retrieval.loading import collection_of, contexts_of


def _k(inputs: Inputs) -> int:
    return ContextSettings.model_validate(inputs.settings("gae.contexts")).k


def _prompt_tokens(inputs: Inputs) -> int:
    return RefineSettings.model_validate(inputs.settings("gae.refine")).prompt_tokens


def _clusters(inputs: Inputs) -> Clusters:
    return Clusters.from_tables(inputs.table("clusters"), inputs.table("clusterings"))


def _rank(inputs: Inputs) -> pa.Table:
    has_clusters = METHODS[inputs.method].clustering is not None
    return rank(
        inputs.method,
        collection_of(inputs),
        Questions.from_tables(inputs.table("queries"), inputs.table("query_embeddings")),
        _clusters(inputs) if has_clusters else None,
        inputs.settings("language"),
        _k(inputs) if has_clusters else 1,
        RerankSettings.model_validate(inputs.settings("gae.rerank")).same_document,
    )


def _topics(inputs: Inputs) -> Result:
    if not METHODS[inputs.method].reflects:
        return Result(TABLES["gae.topics"].empty())
    return topics(
        inputs.table("contexts"),
        _clusters(inputs),
        inputs.table("queries"),
        inputs.model("language_model"),
        _prompt_tokens(inputs),
        inputs.prompts("gae"),
    )


def _reflections(inputs: Inputs) -> Result:
    if not METHODS[inputs.method].reflects:
        return Result(TABLES["gae.reflections"].empty())
    contexts, queries = inputs.table("contexts"), inputs.table("queries")
    return reflections(contexts, queries, inputs.model("language_model"), inputs.prompts("gae"))


def _refined_contexts(inputs: Inputs) -> Result:
    contexts, queries = inputs.table("contexts"), inputs.table("queries")
    prompt_tokens, max_words = _prompt_tokens(inputs), inputs.settings("answer")["max_words"]
    if not METHODS[inputs.method].reflects:
        return unrefined_contexts(contexts, queries, prompt_tokens, max_words)
    return refined_contexts(
        contexts,
        inputs.table("topics"),
        inputs.table("reflections"),
        _clusters(inputs),
        queries,
        inputs.model("language_model"),
        prompt_tokens,
        max_words,
        inputs.prompts("gae"),
    )


_REFLECT = [name for name, method in METHODS.items() if method.reflects]
_CLUSTERS = ("clusters", "clusterings")
_K = "gae.contexts.k"

FAMILY = Family(
    "gae",
    tuple(METHODS),
    index=INDEX,
    studies=("gae-no-rerank", "gae-reflection"),
    question=(
        Step(
            _rank,
            RANKINGS,
            ("documents", "chunks", "chunk_embeddings", *_CLUSTERS, "query_embeddings"),
            code_version="7",
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
                    times=_K,
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
            costs=[Cost("question", times=_K, tokens_in=337, tokens_out=100, methods=_REFLECT)],
        ),
    ),
    settings=GaeSettings,
    prompts=PROMPTS,
    prompt_tokens="gae.refine.prompt_tokens",
    filtered=tuple(METHODS),
    costs=[Cost("question", tokens_in=1644, tokens_out=184, repeated=0.44)],
)
