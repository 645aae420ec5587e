"""Tables of LightPAL, with a row for each passage that lists others.

A passage is listed by its number, a hash of its id: 8 bytes that stay when other passages come and
go. The views `lightpal.pairs` and `lightpal.edges` have a row for each passage that is listed, with
its id.
"""

import pyarrow as pa

from gsum_assets.pipeline.columns import FLOAT, FLOAT32, INT, LEVEL, PASSAGE_ID, TEXT
from gsum_resources.store.table import Column, Table

_NUMBERS = pa.list_(pa.int64())
_HASH = Column("candidates_hash", pa.int64(), "hash of the candidates in their order")

TABLES = (
    Table(
        "lightpal.candidates",
        "passage with the most similar passages",
        (
            LEVEL,
            PASSAGE_ID,
            Column("passage_number", pa.int64(), "number of the passage, a hash of its id"),
            Column("candidates", _NUMBERS, "numbers of the candidates, most similar first"),
            _HASH,
            Column(
                "similarities",
                pa.list_(FLOAT32),
                "cosine with each; of documents, that of their closest chunks",
            ),
        ),
        ("corpus",),
        ("level", "passage_id"),
    ),
    Table(
        "lightpal.context_scores",
        "passage with the scores of its candidates",
        (
            LEVEL,
            PASSAGE_ID,
            _HASH,
            Column(
                "scores",
                pa.list_(FLOAT),
                "log P(candidate | passage) of each candidate, nats per token; null: not available",
            ),
        ),
        ("corpus",),
        ("level", "passage_id"),
    ),
    Table(
        "lightpal.passage_edges",
        "passage with its edges in a passage graph",
        (
            Column(
                "graph",
                TEXT,
                "'context', 'embedding' or 'walk', by the score of its edges",
                label=True,
            ),
            LEVEL,
            Column(
                "scope", TEXT, "'corpus', or 'document': both ends are in one document", label=True
            ),
            Column("source_id", TEXT, "the passage, document_id or chunk_id by level"),
            Column("targets", _NUMBERS, "numbers of the passages to which edges lead, best first"),
            Column("weights", pa.list_(FLOAT), "weight of each edge in a walk, not normalized"),
        ),
        ("corpus",),
        ("graph", "level", "scope", "source_id"),
    ),
    Table(
        "lightpal.walk_trust",
        "graph of passage_walk with its trust",
        (
            LEVEL,
            Column("scope", TEXT, "'corpus' or 'document'", label=True),
            Column("n_probes", INT, "number of held-out passages used as queries"),
            Column("walk_evidence", FLOAT, "value of the walk's results by another retriever, z"),
            Column("seed_evidence", FLOAT, "value of the seeds' results by another retriever, z"),
            Column("trust", FLOAT, "probability that the walk is not worse, 0 to 1"),
        ),
        ("corpus",),
        ("level", "scope"),
    ),
)
