"""Tables of LightPAL."""

from gsum_assets.columns import (
    FLOAT,
    FLOAT32,
    INT,
    LEVEL,
    PASSAGE_ID,
    TEXT,
)
from gsum_resources.table import Column, Table

TABLES = (
    Table(
        "lightpal.candidates",
        "pair of a passage and a similar passage",
        (
            LEVEL,
            PASSAGE_ID,
            Column("candidate_id", TEXT, "the other passage"),
            Column("rank", INT, "from 1, most similar first"),
            Column("similarity", FLOAT32, "cosine; for documents, that of their closest chunks"),
        ),
        ("corpus",),
        ("level", "passage_id", "candidate_id"),
    ),
    Table(
        "lightpal.context_scores",
        "pair of a passage and one of its candidates",
        (
            LEVEL,
            PASSAGE_ID,
            Column("candidate_id", TEXT, "the candidate"),
            Column(
                "score",
                FLOAT,
                "log P(candidate | passage), nats per token; null: not available",
                True,
            ),
        ),
        ("corpus",),
        ("level", "passage_id", "candidate_id"),
    ),
    Table(
        "lightpal.passage_edges",
        "edge of a passage graph",
        (
            Column("graph", TEXT, "'context', 'embedding' or 'walk', by the score of its edges"),
            LEVEL,
            Column("scope", TEXT, "'corpus', or 'document': both ends are in one document"),
            Column("source_id", TEXT, "the passage, document_id or chunk_id by level"),
            Column("target_id", TEXT, "the passage to which the edge leads"),
            Column("rank", INT, "from 1, best edge of the source first"),
            Column("weight", FLOAT, "weight of the edge in a walk, not normalized"),
        ),
        ("corpus",),
        ("graph", "level", "scope", "source_id", "target_id"),
    ),
    Table(
        "lightpal.walk_trust",
        "graph of passage_walk with its trust",
        (
            LEVEL,
            Column("scope", TEXT, "'corpus' or 'document'"),
            Column("n_probes", INT, "number of held-out passages used as queries"),
            Column("walk_evidence", FLOAT, "value of the walk's results by another retriever, z"),
            Column("seed_evidence", FLOAT, "value of the seeds' results by another retriever, z"),
            Column("trust", FLOAT, "probability that the walk is not worse, 0 to 1"),
        ),
        ("corpus",),
        ("level", "scope"),
    ),
)
