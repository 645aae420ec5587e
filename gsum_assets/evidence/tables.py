"""Tables of `evidence`."""

import pyarrow as pa

from gsum_assets.pipeline.columns import (
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
from gsum_resources.store.table import Column, Rule, Table, TableCheck, lacks

TABLES = (
    Table(
        "evidence.model",
        "network trained on the corpus",
        (
            Column(
                "data",
                TEXT,
                "questions learnt from: 'marked' or 'simulated'; 'packaged': none",
                label=True,
            ),
            Column(
                "embedding_model", TEXT, "identity of the embedder of its training data", label=True
            ),
            Column("n_questions", INT, "number of training questions"),
            Column("learnt_from", TEXTS, "hashes of the ids of the training documents"),
            Column("settings", TEXT, "training settings, JSON", label=True),
            Column("weights", pa.binary(), "the networks, safetensors"),
        ),
        RESULT,
    ),
    Table(
        "evidence.training_log",
        "epoch of a training",
        (
            Column("epoch", INT, "from 1; 0: the packaged weights"),
            Column(
                "loss", FLOAT, "cross-entropy, nats, mean over batches; null: not trained", True
            ),
            Column(
                "held_out_ap",
                FLOAT,
                "average precision on documents that a network was not trained on, mean over "
                "questions",
            ),
        ),
        RESULT,
        ("epoch",),
    ),
    Table(
        "evidence.sentences",
        "sentence of a passage",
        (
            Column("chunk_id", TEXT, "the passage", label=True),
            DOCUMENT_ID,
            Column("position", INT, "index within the passage, from 0"),
            Column("speaker", TEXT, "who says it in a transcript; empty: prose"),
            Column("n_words", INT, "length in words, without disfluencies"),
            Column("embedding", VECTOR, "unit vector of the sentence"),
        ),
        DOCUMENT_LEVEL,
        ("chunk_id", "position"),
        checks=(
            TableCheck(
                "of_passages",
                "Each sentence belongs to a passage of the corpus.",
                "sentence",
                (Rule(lacks("chunk_id", "chunks"), "belong to no passage of the corpus"),),
                "chunk_id, position",
            ),
        ),
    ),
    Table(
        "evidence.probabilities",
        "pair of a question and a passage of its scope",
        (
            QUERY_ID,
            Column("chunk_id", TEXT, "the passage", label=True),
            Column("rank", INT, "from 1, most probable first"),
            Column("probability", FLOAT, "that the passage holds evidence for the question"),
            Column(
                "reasons",
                TEXTS,
                "features that speak for it, strongest first, with the probability that it would "
                "lose if the feature were average; of the 50 most probable passages",
            ),
        ),
        RESULT,
        ("query_id", "chunk_id"),
        checks=(
            TableCheck(
                "are_probabilities",
                "Probabilities are between 0 and 1, and no rank has more than the one before.",
                "probability|probabilities",
                (
                    Rule(
                        "probability NOT BETWEEN 0 AND 1 OR probability > before",
                        "are outside of 0 to 1 or above a better rank",
                    ),
                ),
                "query_id, chunk_id, rank, probability",
                """
        SELECT *, lag(probability) OVER (PARTITION BY query_id ORDER BY rank) AS before
    FROM "evidence.probabilities" """,
                "materialize evidence/rankings again",
            ),
        ),
    ),
)
