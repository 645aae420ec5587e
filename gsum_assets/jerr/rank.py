"""Passages of the corpus by what each method finds: the rankings of this family."""

import pyarrow as pa

from gsum_assets.jerr.order import ByLineChunks, Overlapping, chunks_by_nodes
from gsum_assets.retrieval.collection import Collection, Questions
from gsum_assets.retrieval.dense import Dense
from gsum_assets.retrieval.ranking import rank_questions


def rank_by_graph(
    collection: Collection,
    questions: Questions,
    chunks: pa.Table,
    line_chunks: pa.Table,
    searches: pa.Table,
) -> pa.Table:
    """Rows of `rankings`: the passages of the line chunks that the best nodes point to first.

    Within a line chunk dense retrieval orders them, and what no node points to comes last.

    Parameters
    ----------
    collection, questions : with embeddings.
    chunks, line_chunks : passages of the corpus, and line chunks of one size.
    searches : rows of `jerr.searches`.
    """
    span_of = Overlapping(chunks, line_chunks).span_of
    found = chunks_by_nodes(searches)
    return rank_questions(
        lambda scope: ByLineChunks(scope, span_of, found, Dense(scope)), questions, collection
    )


def rank_by_passages(collection: Collection, questions: Questions) -> pa.Table:
    """Rows of `rankings` for ReadAgent, which reads all gists and ranks nothing: dense retrieval.

    It decides which gists are shown where they are too many for a prompt.
    """
    return rank_questions(Dense, questions, collection)
