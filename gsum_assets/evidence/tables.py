"""Tables of `evidence`."""

from gsum_assets.pipeline.columns import (
    DOCUMENT_ID,
    QUERY_ID,
    document_table,
    integer,
    label,
    number,
    result_table,
    text,
    texts,
    vector,
)

TABLES = (
    document_table(
        "evidence.sentences",
        "sentence of a passage",
        "chunk_id, position",
        label("chunk_id", "the passage"),
        DOCUMENT_ID,
        integer("position", "index within the passage, from 0"),
        text("speaker", "who says it in a transcript; empty: prose"),
        integer("n_words", "length in words, without disfluencies"),
        vector("embedding", "unit vector of the sentence"),
    ),
    result_table(
        "evidence.probabilities",
        "pair of a question and a passage of its scope",
        "query_id, chunk_id",
        QUERY_ID,
        label("chunk_id", "the passage"),
        integer("rank", "from 1, most probable first"),
        number("probability", "that the passage holds evidence for the question"),
        texts(
            "reasons",
            "features that speak for it, strongest first, with the probability that it would "
            "lose if the feature were average; of the 50 most probable passages",
        ),
    ),
)
