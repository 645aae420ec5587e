"""Rankings of passages by the results of each method."""

from collections.abc import Iterable, Mapping

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
    ranked: Mapping[str, Iterable[str]],
) -> pa.Table:
    """Return the rows of `rankings`, with the passages of the best line chunks first.

    Within a line chunk passages are ordered by dense retrieval; those in none of the found line
    chunks come last.
    """
    span_of = Overlapping(chunks, line_chunks).span_of
    return rank_questions(
        lambda scope: ByLineChunks(scope, span_of, ranked, Dense(scope)), questions, collection
    )


def rank_by_passages(collection: Collection, questions: Questions) -> pa.Table:
    """Return the rows of `rankings` by dense retrieval for ReadAgent, which has no retrieval.

    They decide which gists are shown if there are too many for a prompt.
    """
    return rank_questions(Dense, questions, collection)
