"""Tables of `evidence`."""

from gsum_assets.columns import (
    DOCUMENT_ID,
    DOCUMENT_LEVEL,
    FLOAT,
    INT,
    QUERY_ID,
    RESULT,
    TEXT,
    TEXTS,
    VECTOR,
)
from gsum_resources.table import Column, Table

TABLES = (
    Table(
        "evidence.sentences",
        "sentence of a passage",
        (
            Column("chunk_id", TEXT, "the passage"),
            DOCUMENT_ID,
            Column("position", INT, "index within the passage, from 0"),
            Column("speaker", TEXT, "who says it in a transcript; empty: prose"),
            Column("n_words", INT, "length in words, without disfluencies"),
            Column("embedding", VECTOR, "unit vector of the sentence"),
        ),
        DOCUMENT_LEVEL,
        ("chunk_id", "position"),
    ),
    Table(
        "evidence.probabilities",
        "pair of a question and a passage of its scope",
        (
            QUERY_ID,
            Column("chunk_id", TEXT, "the passage"),
            Column("rank", INT, "from 1, most probable first"),
            Column("probability", FLOAT, "that the passage holds evidence for the question"),
            Column(
                "reasons",
                TEXTS,
                "features that speak for it, strongest first, with the probability that it would "
                "lose if the feature were average",
            ),
        ),
        RESULT,
        ("query_id", "chunk_id"),
    ),
)
