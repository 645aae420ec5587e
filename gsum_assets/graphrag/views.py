"""Views and macros in SQL over the tables of GraphRAG.

Columns are those of Microsoft's package (graphrag 3.3.0, `data_model/schemas.py`) behind our
`corpus`. Its query code joins relationships and claims with entities by titles.
"""

from gsum_assets.graphrag.entity_names import SENSES
from gsum_resources.store.table import Macro, View

_ENTITIES = """
SELECT corpus, entity_id AS id,
       row_number() OVER (PARTITION BY corpus ORDER BY degree DESC, entity_id) - 1
           AS human_readable_id,
       name AS title, upper(type) AS type, description, chunk_ids AS text_unit_ids,
       n_mentions::BIGINT AS frequency, degree::BIGINT AS degree
FROM graphrag.entities
"""

# LEFT JOIN keeps the order of the joins; otherwise DuckDB pairs all entities of a corpus
_RELATIONSHIPS = """
SELECT r.corpus, relationship_id AS id,
       row_number() OVER (PARTITION BY r.corpus ORDER BY combined_degree DESC, relationship_id) - 1
           AS human_readable_id,
       source.name AS source, target.name AS target, r.description, weight,
       combined_degree::BIGINT AS combined_degree, r.chunk_ids AS text_unit_ids
FROM graphrag.relationships r
LEFT JOIN graphrag.entities source ON source.corpus = r.corpus AND source.entity_id = source_id
LEFT JOIN graphrag.entities target ON target.corpus = r.corpus AND target.entity_id = target_id
"""

_COMMUNITIES = """
WITH parts AS (
    SELECT corpus, parent_id, list(number::BIGINT ORDER BY number) AS children
    FROM graphrag.communities WHERE parent_id IS NOT NULL GROUP BY ALL
)
SELECT c.corpus, c.community_id AS id, c.number::BIGINT AS human_readable_id,
       c.number::BIGINT AS community, c.level::BIGINT AS level,
       coalesce(parent.number, -1)::BIGINT AS parent, coalesce(children, []) AS children,
       'Community ' || c.number AS title, c.entity_ids, c.relationship_ids,
       c.chunk_ids AS text_unit_ids, NULL::VARCHAR AS period, c.size::BIGINT AS size
FROM graphrag.communities c
LEFT JOIN graphrag.communities parent
    ON parent.corpus = c.corpus AND parent.community_id = c.parent_id
LEFT JOIN parts ON parts.corpus = c.corpus AND parts.parent_id = c.community_id
"""

_COMMUNITY_REPORTS = """
WITH found AS (
    SELECT corpus, community_id,
           list({'explanation': explanation, 'summary': summary} ORDER BY position) AS findings
    FROM graphrag.findings GROUP BY ALL
)
SELECT c.corpus, c.id, c.human_readable_id, c.community, c.level, c.parent, c.children,
       r.title, r.summary, r.text AS full_content, r.rating AS rank, r.rating_explanation,
       coalesce(found.findings, []) AS findings,
       to_json({'title': r.title, 'summary': r.summary, 'findings': coalesce(found.findings, []),
                'rating': r.rating, 'rating_explanation': r.rating_explanation})::VARCHAR
           AS full_content_json,
       c.period, c.size
FROM graphrag.community_reports r
JOIN graphrag_compat.communities c ON c.corpus = r.corpus AND c.id = r.community_id
LEFT JOIN found ON found.corpus = r.corpus AND found.community_id = r.community_id
"""

_CLAIM_ID = "chunk_id || '-' || position"  # the key of graphrag.claims as one text

_SENSES = " ".join(f"WHEN '{kind}' THEN '{sense}'" for kind, sense in SENSES.items())

_COVARIATES = f"""
WITH named AS (
    SELECT corpus, a.name_key, e.name
    FROM graphrag.aliases a JOIN graphrag.entities e USING (corpus, entity_id)
)
SELECT c.corpus, {_CLAIM_ID} AS id,
       row_number() OVER (PARTITION BY c.corpus ORDER BY document_id, chunk_id, position) - 1
           AS human_readable_id,
       'claim' AS covariate_type, upper(type) AS type, description,
       coalesce(homonym.name, subject.name, subject_key) AS subject_id,
       coalesce(object.name, object_key, 'NONE') AS object_id, upper(status) AS status,
       coalesce(start_date, 'NONE') AS start_date, coalesce(end_date, 'NONE') AS end_date,
       quote AS source_text, chunk_id AS text_unit_id
FROM graphrag.claims c
LEFT JOIN named subject ON subject.corpus = c.corpus AND subject.name_key = subject_key
LEFT JOIN named homonym ON homonym.corpus = c.corpus
    AND homonym.name_key = subject_key || ' [' || CASE subject_type {_SENSES} END || ']'
LEFT JOIN named object ON object.corpus = c.corpus AND object.name_key = object_key
"""

_BY_CHUNK = """
    SELECT corpus, chunk_id, list({id} ORDER BY {id}) AS ids
    FROM (SELECT corpus, {id}, unnest(chunk_ids) AS chunk_id FROM {table}) GROUP BY ALL
"""

_TEXT_UNITS = f"""
WITH entities AS ({_BY_CHUNK.format(id="entity_id", table="graphrag.entities")}),
relationships AS ({_BY_CHUNK.format(id="relationship_id", table="graphrag.relationships")}),
covariates AS (
    SELECT corpus, chunk_id, list({_CLAIM_ID} ORDER BY position) AS ids
    FROM graphrag.claims GROUP BY ALL
)
SELECT corpus, chunk_id AS id,
       row_number() OVER (PARTITION BY corpus ORDER BY document_id, position) - 1
           AS human_readable_id,
       text, n_tokens::BIGINT AS n_tokens, document_id,
       coalesce(entities.ids, []) AS entity_ids,
       coalesce(relationships.ids, []) AS relationship_ids,
       coalesce(covariates.ids, []) AS covariate_ids
FROM main.chunks
LEFT JOIN entities USING (corpus, chunk_id) LEFT JOIN relationships USING (corpus, chunk_id)
LEFT JOIN covariates USING (corpus, chunk_id)
"""

_DOCUMENTS = """
WITH cut AS (
    SELECT corpus, document_id, list(chunk_id ORDER BY position) AS text_unit_ids
    FROM main.chunks GROUP BY ALL
)
SELECT corpus, document_id AS id,
       row_number() OVER (PARTITION BY corpus ORDER BY document_id) - 1 AS human_readable_id,
       title, text, coalesce(text_unit_ids, []) AS text_unit_ids,
       NULL::VARCHAR AS creation_date, NULL::VARCHAR AS raw_data
FROM main.documents LEFT JOIN cut USING (corpus, document_id)
"""

_COMMENTS = {
    "id": "our id of the row",
    "human_readable_id": "number of the row within its corpus, from 0",
    "community": "number of the community",
    "parent": "number of its parent; -1: none",
    "children": "numbers of its children",
    "entity_ids": "ids of its entities",
    "relationship_ids": "ids of its relationships",
    "covariate_ids": "ids of its claims",
    "text_unit_ids": "ids of its chunks",
    "text_unit_id": "id of its chunk",
    "period": "always null: we store no date of indexing",
    "creation_date": "always null: we store no date of creation",
    "raw_data": "always null: we store no metadata",
    "full_content": "the whole report",
    "full_content_json": "the report as JSON, in the package's form",
    "findings": "findings, each with summary and explanation",
    "rank": "importance, 0 to 10",
    "size": "number of entities",
    "frequency": "number of chunks that mention it",
    "title": "name of an entity, or title of a community or document",
    "source": "title of the entity at one end",
    "target": "title of the entity at the other end",
    "covariate_type": "always 'claim'",
    "subject_id": "title of the entity that the claim is about",
    "object_id": "title of the other entity, or 'NONE'",
    "source_text": "quotation that supports it",
}
"""Comments on the package's columns."""

VIEWS = tuple(
    View(f"graphrag_compat.{name}", row, select, _COMMENTS)
    for name, row, select in (
        ("entities", "entity", _ENTITIES),
        ("relationships", "pair of entities that are related", _RELATIONSHIPS),
        ("communities", "community of entities", _COMMUNITIES),
        ("community_reports", "community with a report", _COMMUNITY_REPORTS),
        ("covariates", "claim that a chunk makes of an entity", _COVARIATES),
        ("text_units", "chunk of a document", _TEXT_UNITS),
        ("documents", "document", _DOCUMENTS),
    )
)

_ENTITIES_OF = """
SELECT name, any_value(type) AS type, count(*) AS passages, any_value(degree) AS degree,
       any_value(description) AS description, entity_id
FROM (SELECT *, unnest(chunk_ids) AS chunk_id FROM graphrag.entities WHERE corpus = in_corpus)
JOIN (SELECT chunk_id FROM chunks WHERE corpus = in_corpus AND document_id = in_document)
    USING (chunk_id)
GROUP BY entity_id, name
ORDER BY degree DESC, name
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

MACROS = (
    Macro(
        "entities_of", ("in_corpus", "in_document"), "entity of a document, by degree", _ENTITIES_OF
    ),
    Macro(
        "neighbours", ("in_corpus", "of_name"), "entity that is related to one name", _NEIGHBOURS
    ),
)
