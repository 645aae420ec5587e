"""Questions about the entity graph as SQL macros: `from hubs('board')`."""

from gsum_resources.store.table import Macro

_DAMPING, _STEPS = 0.85, 30  # 0.85**30 < 0.01 of the mass has not converged

_ENTITIES_OF = """
SELECT name, any_value(type) AS type, count(*) AS passages, any_value(degree) AS degree,
       any_value(description) AS description, entity_id
FROM (SELECT *, unnest(chunk_ids) AS chunk_id FROM graphrag.entities WHERE corpus = in_corpus)
JOIN (SELECT chunk_id FROM chunks WHERE corpus = in_corpus AND document_id = in_document)
    USING (chunk_id)
GROUP BY entity_id, name
ORDER BY degree DESC, name
"""

_HUBS = f"""
WITH RECURSIVE ends AS MATERIALIZED (
    SELECT source_id, target_id, weight FROM graphrag.relationships WHERE corpus = in_corpus
    UNION ALL
    SELECT target_id, source_id, weight FROM graphrag.relationships WHERE corpus = in_corpus
), shares AS MATERIALIZED (
    SELECT source_id, target_id, weight / sum(weight) OVER (PARTITION BY source_id) AS share
    FROM ends
), size AS MATERIALIZED (
    SELECT count(DISTINCT source_id) AS n FROM ends
), ranks AS (
    SELECT DISTINCT source_id AS entity_id, 1.0::DOUBLE / n AS pagerank, 0 AS step FROM ends, size
    UNION ALL
    SELECT target_id, any_value({1 - _DAMPING:.2f} / n) + {_DAMPING} * sum(pagerank * share),
           step + 1
    FROM ranks JOIN shares ON source_id = entity_id, size
    WHERE step < {_STEPS} GROUP BY target_id, step
)
SELECT name, type, pagerank, degree, n_mentions AS passages, len(document_ids) AS documents,
       description, entity_id
FROM ranks JOIN graphrag.entities USING (entity_id)
WHERE step = {_STEPS} AND corpus = in_corpus
ORDER BY pagerank DESC, name
"""

_NEIGHBOURS = """
WITH named AS (
    SELECT entity_id FROM graphrag.entities WHERE corpus = in_corpus AND name ILIKE of_name
), ends AS (
    SELECT source_id, target_id, weight, description, chunk_ids
    FROM graphrag.relationships WHERE corpus = in_corpus
    UNION ALL
    SELECT target_id, source_id, weight, description, chunk_ids
    FROM graphrag.relationships WHERE corpus = in_corpus
)
SELECT name, type, weight, ends.description, ends.chunk_ids, target_id AS entity_id
FROM ends JOIN named ON source_id = named.entity_id
JOIN graphrag.entities AS e ON e.corpus = in_corpus AND e.entity_id = target_id
ORDER BY weight DESC, name
"""

_PATH_BETWEEN = """
WITH RECURSIVE named AS MATERIALIZED (
    SELECT entity_id, name ILIKE from_name AS is_first FROM graphrag.entities
    WHERE corpus = in_corpus AND (name ILIKE from_name OR name ILIKE to_name)
), ends AS MATERIALIZED (
    SELECT source_id, target_id, description, weight FROM graphrag.relationships
    WHERE corpus = in_corpus
    UNION ALL
    SELECT target_id, source_id, description, weight FROM graphrag.relationships
    WHERE corpus = in_corpus
), reached AS (
    SELECT entity_id, 0 AS hops FROM named WHERE is_first
    UNION
    SELECT target_id, hops + 1 FROM reached JOIN ends ON source_id = entity_id WHERE hops < most
), nearest AS MATERIALIZED (
    SELECT entity_id, min(hops) AS hops FROM reached GROUP BY entity_id
), steps AS MATERIALIZED (
    SELECT b.entity_id, b.hops, arg_max(a.entity_id, (weight, a.entity_id)) AS before,
           arg_max(description, (weight, a.entity_id)) AS description
    FROM nearest AS b JOIN ends ON target_id = b.entity_id
    JOIN nearest AS a ON a.entity_id = source_id AND a.hops = b.hops - 1
    GROUP BY b.entity_id, b.hops
), way AS (
    (SELECT entity_id, hops FROM nearest JOIN named USING (entity_id)
     WHERE NOT is_first ORDER BY hops, entity_id LIMIT 1)
    UNION ALL
    SELECT before, way.hops - 1 FROM way JOIN steps USING (entity_id)
)
SELECT way.hops, e.name, e.type, steps.description AS relationship, e.entity_id
FROM way JOIN graphrag.entities AS e ON e.corpus = in_corpus AND e.entity_id = way.entity_id
LEFT JOIN steps ON steps.entity_id = way.entity_id
ORDER BY way.hops
"""

MACROS = (
    Macro(
        "entities_of",
        ("in_corpus", "in_document"),
        "entity of a document, by degree",
        _ENTITIES_OF,
    ),
    Macro("hubs", ("in_corpus",), "entity with relationships, by PageRank", _HUBS),
    Macro(
        "path_between",
        ("in_corpus", "from_name", "to_name", "most := 6"),
        "entity on a shortest path between two names of at most so many relationships, each with "
        "the strongest relationship to the one before",
        _PATH_BETWEEN,
    ),
    Macro(
        "neighbours", ("in_corpus", "of_name"), "entity that is related to one name", _NEIGHBOURS
    ),
)
