"""Tables of `evidence`."""

import pyarrow as pa

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
from gsum_resources.store.table import Column

TABLES = (
    result_table(
        "evidence.model",
        "network trained on the corpus",
        "",
        label("data", "questions learnt from: 'marked'; 'packaged': none"),
        label("embedding_model", "identity of the embedder of its training data"),
        integer("n_questions", "number of training questions"),
        texts("learnt_from", "hashes of the ids of the training documents"),
        label("settings", "training settings, JSON"),
        Column("weights", pa.binary(), "the networks, safetensors"),
    ),
    result_table(
        "evidence.training_log",
        "epoch of a training",
        "epoch",
        integer("epoch", "from 1; 0: the packaged weights"),
        number("loss", "cross-entropy, nats, mean over batches; null: not trained", nullable=True),
        number(
            "held_out_ap",
            "average precision on documents that a network was not trained on, mean over questions",
        ),
    ),
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
