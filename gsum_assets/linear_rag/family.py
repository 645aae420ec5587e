"""LinearRAG as a family of one method."""

import pyarrow as pa

from gsum_assets.linear_rag.retriever import LinearRag, entities_named_in
from gsum_assets.linear_rag.settings import LinearRagSettings
from gsum_assets.linear_rag.tri_graph import TriGraph
from gsum_assets.multi_hop.graph import entity_mentions, entity_of_name
from gsum_assets.pipeline.cost import Cost
from gsum_assets.pipeline.embed import vector_column
from gsum_assets.pipeline.family import Family
from gsum_assets.pipeline.step import CONTEXTS, RANKINGS, Inputs, Step
from gsum_assets.pipeline.tables import TABLES
from gsum_assets.retrieval.collection import Collection, Questions
from gsum_assets.retrieval.loading import collection_of, main_contexts
from gsum_assets.retrieval.ranking import rank_questions
from gsum_assets.retrieval.vectors import vectors_of

_ALIASES, _ENTITIES, _SENTENCES = "graphrag/aliases", "graphrag/entities", "evidence/sentences"


def _mentions(inputs: Inputs) -> pa.Table:
    return entity_mentions(inputs.table("chunks"), inputs.table(_ALIASES))


def _entity_embeddings(inputs: Inputs) -> pa.Table:
    rows = inputs.table(_ENTITIES).select(["entity_id", "name"]).sort_by("entity_id")
    if not rows.num_rows:
        return TABLES["linear_rag.entity_embeddings"].empty()
    vectors = inputs.model("embedding_model").embed(rows["name"].to_pylist())
    return rows.append_column("embedding", vector_column(vectors))


def _rank(inputs: Inputs) -> pa.Table:
    questions = Questions.from_tables(inputs.table("queries"), inputs.table("query_embeddings"))
    sentences, mentions = inputs.table(_SENTENCES), inputs.table("mentions")
    embeddings = inputs.table("entity_embeddings")
    named = entities_named_in(questions.texts, entity_of_name(inputs.table(_ALIASES)))
    settings = LinearRagSettings.model_validate(inputs.settings("linear_rag"))

    def retriever(scope: Collection) -> LinearRag:
        graph = TriGraph.of(scope.chunk_ids, sentences, mentions)
        vectors = vectors_of(embeddings, graph.entity_ids, "entity")
        return LinearRag(scope, graph, vectors, named, settings)

    return rank_questions(retriever, questions, collection_of(inputs))


FAMILY = Family(
    "linear_rag",
    ("linear-rag",),
    index=(
        Step(
            _mentions,
            {"mentions": "Sentences that name an entity of the concept graph join passages."},
            ("chunks", _ALIASES),
        ),
        Step(
            _entity_embeddings,
            {"entity_embeddings": "Where a question without a name starts."},
            (_ENTITIES, "embedding_model"),
            costs=[Cost("passage", "embedding_model", requests=2.7, tokens_in=5)],
        ),
    ),
    question=(
        Step(
            _rank,
            RANKINGS,
            (
                *("documents", "chunks", "chunk_embeddings", "mentions", "entity_embeddings"),
                *(_ALIASES, _SENTENCES, "query_embeddings"),
            ),
            code_version="2",
        ),
        Step(main_contexts, CONTEXTS, ("chunks",), pool=None),
    ),
    settings=LinearRagSettings,
    costs=[Cost("question", tokens_in=1390, tokens_out=182, repeated=0.0)],
)
