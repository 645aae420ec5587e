"""HippoRAG 2 as a family of one method."""

import numpy as np
import pyarrow as pa

from gsum_assets.hippo_rag.edges import edge_rows
from gsum_assets.hippo_rag.retriever import HippoRag, PhraseGraph
from gsum_assets.hippo_rag.settings import HippoRagSettings, LinkingSettings
from gsum_assets.hippo_rag.triples import PROMPTS, link_questions, similarities, triple_rows
from gsum_assets.pipeline.cost import Cost
from gsum_assets.pipeline.family import Family
from gsum_assets.pipeline.result import Result
from gsum_assets.pipeline.step import CONTEXTS, RANKINGS, Inputs, Step
from gsum_assets.retrieval.collection import Collection, Questions
from gsum_assets.retrieval.hybrid import min_max
from gsum_assets.retrieval.loading import collection_of, main_contexts
from gsum_assets.retrieval.ranking import rank_questions

_ALIASES, _ENTITIES = "graphrag/aliases", "graphrag/entities"
_RELATIONSHIPS = "graphrag/relationships"


def _questions(inputs: Inputs) -> Questions:
    return Questions.from_tables(inputs.table("queries"), inputs.table("query_embeddings"))


def _triples(inputs: Inputs) -> pa.Table:
    named = inputs.table(_RELATIONSHIPS), inputs.table(_ENTITIES)
    return triple_rows(*named, inputs.model("embedding_model"))


def _edges(inputs: Inputs) -> pa.Table:
    tables = map(inputs.table, ("chunks", _ALIASES, _ENTITIES, _RELATIONSHIPS))
    return edge_rows(*tables, embedder=inputs.model("embedding_model"))


def _link(inputs: Inputs) -> Result:
    settings = LinkingSettings.model_validate(inputs.settings("hippo_rag.linking"))
    model = None
    if settings.recognition:
        model = inputs.model("language_model")
        if getattr(model, "only_quotes", False):
            model = None  # rules recognize nothing
    triples, questions = inputs.table("triples"), _questions(inputs)
    return link_questions(
        triples, questions, model, settings.n_triples, inputs.prompts("hippo_rag")
    )


def _rank(inputs: Inputs) -> pa.Table:
    questions, triples, edges = _questions(inputs), inputs.table("triples"), inputs.table("edges")
    ids, ends = (triples[name].to_pylist() for name in ("relationship_id", "entity_ids"))
    row_of = {relationship_id: row for row, relationship_id in enumerate(ids)}
    scores = similarities(triples, np.asarray(questions.embeddings))
    scores = dict(zip(questions.ids, min_max(scores) if triples.num_rows else scores, strict=True))
    columns = (inputs.column("linked_triples", name) for name in ("query_id", "relationship_ids"))
    linked = {
        query_id: [
            (*ends[row], float(scores[query_id][row])) for row in map(row_of.__getitem__, kept)
        ]
        for query_id, kept in zip(*columns, strict=True)
    }

    def retriever(scope: Collection) -> HippoRag:
        return HippoRag(scope, PhraseGraph.of(scope.chunk_ids, edges), linked)

    return rank_questions(retriever, questions, collection_of(inputs))


FAMILY = Family(
    "hippo_rag",
    ("hippo-rag",),
    index=(
        Step(
            _triples,
            {"triples": "Relationships as texts, which questions are linked with."},
            (_RELATIONSHIPS, _ENTITIES, "embedding_model"),
            costs=[Cost("passage", "embedding_model", requests=4.5, tokens_in=10)],
        ),
        Step(
            _edges,
            {"edges": "Phrases are joined by relations and likeness, and with their passages."},
            ("chunks", _ALIASES, _ENTITIES, _RELATIONSHIPS, "embedding_model"),
        ),
    ),
    question=(
        Step(
            _link,
            {"linked_triples": "A language model keeps those that help, where one is set."},
            ("triples", "query_embeddings", "language_model"),
            pool="llm",
            costs=[Cost("question", calls=2.0, tokens_in=720, tokens_out=81)],
        ),
        Step(
            _rank,
            RANKINGS,
            ("documents", "chunks", "chunk_embeddings", "triples", "edges", "query_embeddings"),
            code_version="2",
        ),
        Step(main_contexts, CONTEXTS, ("chunks",), pool=None),
    ),
    settings=HippoRagSettings,
    prompts=PROMPTS,
    costs=[Cost("question", tokens_in=1390, tokens_out=182, repeated=0.0)],
)
