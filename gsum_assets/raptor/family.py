"""RAPTOR, and its control without summaries."""

import pyarrow as pa

from gsum_assets.corpus.chunk import n_word_pieces
from gsum_assets.pipeline.cost import Cost
from gsum_assets.pipeline.family import Family, Read
from gsum_assets.pipeline.result import Result
from gsum_assets.pipeline.step import CONTEXTS, RANKINGS, Inputs, Step
from gsum_assets.raptor.settings import ContextSettings, RaptorSettings, TreeSettings
from gsum_assets.raptor.tree import PROMPTS, summarize
from gsum_assets.retrieval.collection import Questions
from gsum_assets.retrieval.contexts import node_collection, nodes_within
from gsum_assets.retrieval.dense import Dense
from gsum_assets.retrieval.ranking import rank_questions

LEAVES = "raptor-leaves"
"""Control: passages alone, read up to the same number of tokens."""

_COLUMNS = ["node_id", "document_id", "position", "text"]


def _tree_nodes(inputs: Inputs) -> Result:
    return summarize(
        inputs.table("chunks"),
        inputs.table("chunk_embeddings"),
        inputs.model("language_model"),
        inputs.model("embedding_model"),
        TreeSettings.model_validate(inputs.settings("raptor.tree")),
        inputs.prompts("raptor"),
        inputs.progress("documents clustered"),
    )


def _nodes(inputs: Inputs) -> pa.Table:
    """Return passages and summaries."""
    chunks = inputs.table("chunks").select(["chunk_id", *_COLUMNS[1:]]).rename_columns(_COLUMNS)
    chunks = chunks.append_column("kind", pa.repeat("chunk", chunks.num_rows))
    if inputs.method == LEAVES:
        return chunks
    summaries = inputs.table("tree_nodes").select(_COLUMNS)
    summaries = summaries.append_column("kind", pa.repeat("summary", summaries.num_rows))
    return pa.concat_tables([chunks, summaries], promote_options="permissive")


def _rank(inputs: Inputs) -> pa.Table:
    names = ["node_id", "embedding"]
    vectors = inputs.table("chunk_embeddings").select(["chunk_id", "embedding"])
    vectors = vectors.rename_columns(names)
    if inputs.method != LEAVES and inputs.table("tree_nodes").num_rows:
        vectors = pa.concat_tables([vectors, inputs.table("tree_nodes").select(names)])
    collection = node_collection(inputs.table("documents"), _nodes(inputs), vectors)
    questions = Questions.from_tables(inputs.table("queries"), inputs.table("query_embeddings"))
    return rank_questions(Dense, questions, collection)


def _contexts(inputs: Inputs) -> pa.Table:
    settings = ContextSettings.model_validate(inputs.settings("raptor.contexts"))
    nodes, budget = _nodes(inputs), settings.budget_tokens
    return nodes_within(inputs.table("rankings"), nodes, budget, n_word_pieces)


def _read(inputs: Inputs) -> Read:
    """Return what was read, with the passages below each summary."""
    rows = inputs.table("contexts")
    if inputs.method == LEAVES:
        return Read(rows, {})
    summaries = inputs.table("tree_nodes").select(["node_id", "document_id", "chunk_ids"])
    return Read(
        rows,
        {
            row["node_id"]: [(chunk_id, row["document_id"]) for chunk_id in row["chunk_ids"]]
            for row in summaries.to_pylist()
        },
    )


FAMILY = Family(
    "raptor",
    ("raptor", LEAVES),
    index=(
        Step(
            _tree_nodes,
            {"tree_nodes": "The layers of each document's tree above its passages."},
            (
                *("chunks", "chunk_embeddings"),
                *("corpus_settings", "language_model", "embedding_model"),
            ),
            pool="llm",
            costs=[
                Cost(
                    "passage",
                    requests=0.11,
                    tokens_in=1841,
                    tokens_out=142,
                    whole_documents=True,
                )
            ],
        ),
    ),
    studies=("raptor-leaves",),
    question=(
        Step(
            _rank,
            RANKINGS,
            ("documents", "chunks", "chunk_embeddings", "tree_nodes", "query_embeddings"),
        ),
        Step(_contexts, CONTEXTS, ("chunks", "tree_nodes"), pool=None),
    ),
    settings=RaptorSettings,
    prompts=PROMPTS,
    read=_read,
    filtered=("raptor", LEAVES),
    costs=[Cost("question", tokens_in=2051, tokens_out=183, repeated=0.33)],
)
