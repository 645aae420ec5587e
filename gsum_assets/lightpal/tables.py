"""The tables of LightPAL."""

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
        "passage and another that resembles it",
        (
            LEVEL,
            PASSAGE_ID,
            Column("candidate_id", TEXT, "the other passage"),
            Column("rank", INT, "from 1, most similar first"),
            Column("similarity", FLOAT32, "cosine; of documents that of their closest chunks"),
        ),
        ("corpus",),
        ("level", "passage_id", "candidate_id"),
    ),
    Table(
        "lightpal.context_scores",
        "passage and one of its candidates",
        (
            LEVEL,
            PASSAGE_ID,
            Column("candidate_id", TEXT, "the candidate"),
            Column(
                "score",
                FLOAT,
                "log P(candidate | passage), nats per token; null: not to be had",
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
            Column("graph", TEXT, "'context', 'embedding' or 'walk': what chose its edges"),
            LEVEL,
            Column("scope", TEXT, "'corpus', or 'document': both ends are of one document"),
            Column("source_id", TEXT, "the passage, document_id or chunk_id by level"),
            Column("target_id", TEXT, "the passage that it leads to"),
            Column("rank", INT, "from 1, best edge of the source first"),
            Column("weight", FLOAT, "of the step in a walk, before weights are made to sum 1"),
        ),
        ("corpus",),
        ("graph", "level", "scope", "source_id", "target_id"),
    ),
    Table(
        "lightpal.walk_trust",
        "graph that passage_walk walks, and how far it is trusted",
        (
            LEVEL,
            Column("scope", TEXT, "'corpus' or 'document'"),
            Column("n_probes", INT, "passages held out and searched for"),
            Column("walk_evidence", FLOAT, "what the walk finds, by the other retriever, z"),
            Column("seed_evidence", FLOAT, "what the seeds find, by the other retriever, z"),
            Column("trust", FLOAT, "probability that the walk finds no worse, 0 to 1"),
        ),
        ("corpus",),
        ("level", "scope"),
    ),
)
