"""Tables of LightPAL, with a row for each passage that lists others.

A passage is listed by its number, a hash of its id: 8 bytes that stay when other passages come and
go. The views `lightpal.pairs` and `lightpal.edges` have a row for each passage that is listed, with
its id.
"""

import pyarrow as pa

from gsum_assets.pipeline.columns import (
    DOCUMENT_ID,
    FLOAT,
    FLOAT32,
    LEVEL,
    PASSAGE_ID,
    corpus_table,
    integer,
    label,
    number,
    text,
)
from gsum_resources.store.table import Column, Macro, View

_NUMBERS = pa.list_(pa.int64())
_HASH = Column("candidates_hash", pa.int64(), "hash of the candidates in their order")

TABLES = (
    corpus_table(
        "lightpal.candidates",
        "passage with the most similar passages",
        "level, passage_id",
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
    corpus_table(
        "lightpal.context_scores",
        "passage with the scores of its candidates",
        "level, passage_id",
        LEVEL,
        PASSAGE_ID,
        _HASH,
        Column(
            "scores",
            pa.list_(FLOAT),
            "log P(candidate | passage) of each candidate, nats per token; null: not available",
        ),
    ),
    corpus_table(
        "lightpal.passage_edges",
        "passage with its edges in a passage graph",
        "graph, level, scope, source_id",
        label("graph", "'context', 'embedding' or 'walk', by the score of its edges"),
        LEVEL,
        label("scope", "'corpus', or 'document': both ends are in one document"),
        text("source_id", "the passage, document_id or chunk_id by level"),
        Column("targets", _NUMBERS, "numbers of the passages to which edges lead, best first"),
        Column("weights", pa.list_(FLOAT), "weight of each edge in a walk, not normalized"),
    ),
    corpus_table(
        "lightpal.communities",
        "document with its community in the graph of passage_walk",
        "document_id",
        DOCUMENT_ID,
        Column("community", pa.int64(), "the community, by the least number of its documents"),
    ),
    corpus_table(
        "lightpal.walk_trust",
        "graph of passage_walk with its trust",
        "level, scope",
        LEVEL,
        label("scope", "'corpus' or 'document'"),
        integer("n_probes", "number of held-out passages used as queries"),
        number("walk_evidence", "value of the walk's results by another retriever, z"),
        number("seed_evidence", "value of the seeds' results by another retriever, z"),
        number("trust", "probability that the walk is not worse, 0 to 1"),
    ),
)

_PAIRS = """
WITH pairs AS (
    SELECT corpus, level, c.passage_id, unnest(c.candidates) AS number,
           generate_subscripts(c.candidates, 1)::INTEGER AS rank,
           unnest(similarities) AS similarity, unnest(scores) AS score
    FROM lightpal.candidates AS c
    LEFT JOIN lightpal.context_scores AS s USING (corpus, level, passage_id, candidates_hash)
)
SELECT corpus, level, pairs.passage_id, candidate.passage_id AS candidate_id, rank, similarity,
       score
FROM pairs JOIN lightpal.candidates AS candidate USING (corpus, level)
WHERE candidate.passage_number = number
"""

_EDGES = """
WITH edges AS (
    SELECT corpus, graph, level, scope, source_id, unnest(targets) AS number,
           generate_subscripts(targets, 1)::INTEGER AS rank, unnest(weights) AS weight
    FROM lightpal.passage_edges
)
SELECT corpus, graph, level, scope, source_id, target.passage_id AS target_id, rank, weight
FROM edges JOIN lightpal.candidates AS target USING (corpus, level)
WHERE target.passage_number = number
"""

_ONE_GRAPH = """
SELECT source_id, target_id, rank, weight FROM lightpal.edges
WHERE corpus = in_corpus AND graph = of_graph AND level = of_level AND scope = of_scope
"""

VIEWS = (
    View(
        "lightpal.pairs",
        "pair of a passage and one of its candidates",
        _PAIRS,
        {
            "candidate_id": "the other passage",
            "rank": "rank of the candidate for the passage, from 1",
            "similarity": "cosine similarity of the two passages",
            "score": "score of the candidate in the context of the passage",
        },
    ),
    View(
        "lightpal.edges",
        "edge of one of nine passage graphs: choose by `graph` (walk, context, embedding), `level` "
        "(node: chunks, document) and `scope` (corpus, document: of chunks within a document), or "
        "by the macro passage_graph",
        _EDGES,
        {
            "target_id": "the passage that the edge leads to",
            "rank": "rank of the edge among those of its source, from 1",
            "weight": "weight of the edge",
        },
    ),
    Macro(
        "passage_graph",
        ("in_corpus", "of_graph := 'walk'", "of_level := 'node'", "of_scope := 'corpus'"),
        "edge of one passage graph, by default that of passage_walk between chunks of a corpus",
        _ONE_GRAPH,
    ),
)
