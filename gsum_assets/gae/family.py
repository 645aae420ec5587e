"""Graph-augmented summarization with a chosen or the published clustering, and its ablations."""

from collections.abc import Callable, Mapping

import pyarrow as pa

from gsum_assets.corpus.chunk import n_word_pieces
from gsum_assets.gae.checks import PUBLISHED_CLUSTERS_PART
from gsum_assets.gae.index import INDEX, TEXTS, collection_of
from gsum_assets.gae.levels import levels
from gsum_assets.gae.methods import METHODS
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
from gsum_assets.pipeline.family import Family
from gsum_assets.pipeline.result import Result
from gsum_assets.pipeline.step import CONTEXTS, RANKINGS, Inputs, Step
from gsum_assets.pipeline.tables import TABLES
from gsum_assets.retrieval.collection import Questions
from gsum_assets.retrieval.loading import contexts_of
from gsum_resources.store.arrow import pc

_NO_TABLES = Tables(TABLES["gae.clusters"].empty(), TABLES["gae.clusterings"].empty())
_CLUSTERS = ("clusters", "clusterings")


def _tables(inputs: Inputs) -> Tables:
    return Tables(*map(inputs.table, _CLUSTERS))


def _k(inputs: Inputs) -> int:
    return ContextSettings.model_validate(inputs.settings("gae.contexts")).k


def _refine_settings(inputs: Inputs) -> RefineSettings:
    return RefineSettings.model_validate(inputs.settings("gae.refine"))


def _rank(inputs: Inputs) -> pa.Table:
    reranks = METHODS[inputs.method].reranks
    return rank(
        inputs.method,
        collection_of(inputs, "chunk_embeddings"),
        Questions.from_tables(inputs.table("queries"), inputs.table("query_embeddings")),
        _tables(inputs) if reranks else _NO_TABLES,
        inputs.settings("language"),
        _k(inputs) if reranks else 1,
        RerankSettings.model_validate(inputs.settings("gae.rerank") if reranks else {}),
    )


def _topics(inputs: Inputs) -> Result:
    chosen = METHODS[inputs.method]
    if not (chosen.reflects and chosen.clusters):
        return Result(TABLES["gae.topics"].empty())
    contexts, model = inputs.table("contexts"), inputs.model("language_model")
    settings, prompts = _refine_settings(inputs), inputs.prompts("gae")
    return _by_scope(
        inputs,
        lambda queries, clusters: topics(
            contexts, clusters, queries, model, settings, n_word_pieces, prompts
        ),
    )


def _reflections(inputs: Inputs) -> Result:
    if not METHODS[inputs.method].reflects:
        return Result(TABLES["gae.reflections"].empty())
    contexts, queries = inputs.table("contexts"), inputs.table("queries")
    model, prompts = inputs.model("language_model"), inputs.prompts("gae")
    return reflections(contexts, queries, model, prompts)


def _refined_contexts(inputs: Inputs) -> Result:
    settings, max_words = _refine_settings(inputs), inputs.settings("answer")["max_words"]
    contexts = inputs.table("contexts")
    if not METHODS[inputs.method].reflects:
        return unrefined_contexts(
            contexts, inputs.table("queries"), settings, max_words, n_word_pieces
        )
    topic_rows, judged = inputs.table("topics"), inputs.table("reflections")
    model, prompts = inputs.model("language_model"), inputs.prompts("gae")
    return _by_scope(
        inputs,
        lambda queries, clusters: refined_contexts(
            contexts,
            topic_rows,
            judged,
            clusters,
            queries,
            model,
            settings,
            max_words,
            n_word_pieces,
            prompts,
        ),
    )


def _by_scope(inputs: Inputs, ask: Callable[[pa.Table, Mapping[str, int]], Result]) -> Result:
    """Apply `ask` separately to each scope of questions, since their clusterings may differ."""
    queries = inputs.table("queries")
    of_corpus = pc.is_null(queries["document_id"])
    among = {"corpus": of_corpus, "document": pc.invert(of_corpus)}
    clusters: dict[str, Mapping[str, int]] = {scope: {} for scope in among}
    chosen = METHODS[inputs.method]
    if chosen.clusters:
        *_, nodes = levels(collection_of(inputs))
        of_scopes = ChosenClusters(chosen, _tables(inputs))
        for scope in among:
            labels = of_scopes.of(nodes, scope).labels.tolist()
            clusters[scope] = dict(zip(nodes.ids, labels, strict=True))
    results = [ask(queries.filter(mask), clusters[scope]) for scope, mask in among.items()]
    rows = pa.concat_tables([result.rows for result in results]).combine_chunks()
    return Result(rows, [failure for result in results for failure in result.failures])


FAMILY = Family(
    "gae",
    tuple(METHODS),
    index=INDEX,
    question=(
        Step(
            _rank,
            RANKINGS,
            (*TEXTS, "chunk_embeddings", *_CLUSTERS, "query_embeddings"),
            code_version="3",
        ),
        Step(lambda inputs: contexts_of(inputs, _k(inputs)), CONTEXTS, ("chunks",), pool=None),
        Step(
            _topics,
            {
                "topics": "Topic of each cluster among a question's passages, and its relevance to "
                "the question."
            },
            (*TEXTS, *_CLUSTERS, "language_model"),
            pool="llm",
            code_version="2",
        ),
        Step(
            _reflections,
            {"reflections": "Relevance of each passage to its question."},
            ("language_model",),
            pool="llm",
            code_version="3",
        ),
        Step(
            _refined_contexts,
            {
                "refined_contexts": "The answer is written from them: highly relevant passages are "
                "edited lightly, others are condensed, reduced or dropped."
            },
            (*TEXTS, *_CLUSTERS, "language_model"),
            pool="llm",
            code_version="4",
            checks={"refined_contexts": [PUBLISHED_CLUSTERS_PART]},
        ),
    ),
    settings=GaeSettings,
    prompts=PROMPTS,
    prompt_tokens="gae.refine.prompt_tokens",
    k="gae.contexts.k",
    filtered=tuple(METHODS),
)
