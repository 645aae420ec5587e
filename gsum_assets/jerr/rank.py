"""Passages of the corpus by what each method finds: the rankings of this family."""

from collections.abc import Mapping, Sequence

import pyarrow as pa

from gsum_assets.jerr.order import ByLineChunks, Overlapping
from gsum_assets.retrieval.collection import Collection, Questions
from gsum_assets.retrieval.dense import Dense
from gsum_assets.retrieval.ranking import rank_questions


def rank_by_lines(
    collection: Collection,
    questions: Questions,
    chunks: pa.Table,
    line_chunks: pa.Table,
    found: Mapping[str, Sequence[str]],
) -> pa.Table:
    """Return the rows of `rankings`: the passages of the best line chunks first.

    Within a line chunk dense retrieval orders them, and what is in none found comes last.

    Parameters
    ----------
    collection, questions : with embeddings.
    chunks, line_chunks : passages of the corpus, and line chunks of one size.
    found : line chunks of each question, best first.
    """
    span_of = Overlapping(chunks, line_chunks).span_of
    return rank_questions(
        lambda scope: ByLineChunks(scope, span_of, found, Dense(scope)), questions, collection
    )


def rank_by_passages(collection: Collection, questions: Questions) -> pa.Table:
    """Return the rows of `rankings` for ReadAgent, which reads all gists and ranks nothing: dense retrieval.

    It decides which gists are shown where they are too many for a prompt.
    """
    return rank_questions(Dense, questions, collection)
