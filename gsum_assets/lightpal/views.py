"""Views with a row for each passage that a row of LightPAL's tables lists, with its id."""

from gsum_resources.store.table import Macro, View

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
