"""Checks of sentences and probabilities."""

from collections.abc import Mapping, Sequence

import pyarrow as pa

from gsum_assets.pipeline.check import Check
from gsum_assets.pipeline.finding import Finding, count, found
from gsum_resources.store.arrow import pc


def of_passages(sentences: pa.Table, chunks: pa.Table) -> Finding:
    """Check that each sentence belongs to a passage of the corpus.

    Parameters
    ----------
    sentences : `chunk_id` and `position`.
    chunks : `chunk_id` of the whole corpus.
    """
    known = pc.is_in(sentences["chunk_id"], value_set=chunks["chunk_id"].combine_chunks())
    return found(
        count(sentences.num_rows, "sentence"),
        sentences.filter(pc.invert(known)),
        "belong to no passage of the corpus; materialize evidence/sentences again",
    )


def are_probabilities(rows: pa.Table) -> Finding:
    """Check that each probability is between 0 and 1, and falls with the rank.

    Parameters
    ----------
    rows : `query_id`, `chunk_id`, `rank` and `probability`.
    """
    ordered = rows.sort_by([("query_id", "ascending"), ("rank", "ascending")])
    values = ordered["probability"].combine_chunks()
    outside = pc.invert(pc.and_(pc.greater_equal(values, 0), pc.less_equal(values, 1)))
    rises = pa.array([False] * min(1, len(values)))
    if len(values) > 1:
        ids = ordered["query_id"].combine_chunks()
        same = pc.equal(ids[1:], ids[:-1])
        later = pc.and_(same, pc.greater(values[1:], values[:-1]))
        rises = pa.concat_arrays([rises, later])
    return found(
        count(rows.num_rows, "probability", "probabilities"),
        ordered.filter(pc.or_(outside, rises)),
        "are outside of 0 to 1 or above a better rank; materialize evidence/rankings again",
    )


_SHOWN = ("query_id", "chunk_id", "rank", "probability")

CHECKS: Mapping[str, Sequence[Check]] = {
    "evidence.sentences": [
        Check(
            "of_passages",
            "Each sentence belongs to a passage of the corpus.",
            lambda inputs: of_passages(
                inputs.rows("", ["chunk_id", "position"]), inputs.rows("chunks", ["chunk_id"])
            ),
        )
    ],
    "evidence.probabilities": [
        Check(
            "are_probabilities",
            "Probabilities are between 0 and 1, and no rank has more than the one before.",
            lambda inputs: are_probabilities(inputs.rows("", _SHOWN)),
        )
    ],
}
