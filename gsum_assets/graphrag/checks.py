"""Checks of extraction, and of the graph merged from mentions, in SQL."""

from textwrap import shorten

import pyarrow as pa

from gsum_assets.corpus.document_checks import UNIT_TOLERANCE
from gsum_assets.graphrag.name_groups import SENSES
from gsum_assets.pipeline.check import Check
from gsum_assets.pipeline.columns import check
from gsum_assets.pipeline.finding import Finding, count, found
from gsum_resources.store.arrow import pc
from gsum_resources.store.table import Rule, lacks

_INVENTED = 0.5  # share of names absent from the text beyond which a model invents names
_REASON = 200  # characters


def no_malformed_replies(extractions: pa.Table, corpus: str) -> Finding:
    """Check that no chunk got a malformed reply."""
    is_malformed = pc.greater(pc.list_value_length(extractions["problems"]), 0)
    wrong = extractions.filter(is_malformed).select(["chunk_id", "document_id", "problems"])
    first = wrong["problems"][0][0].as_py() if wrong.num_rows else ""
    return found(
        count(extractions.num_rows, "chunk"),
        wrong,
        f"got malformed replies, of which only the valid items are kept (first: "
        f"{shorten(first, _REASON, placeholder=' …')}); `gsum run {corpus}` requests these once "
        "more; if that fails, choose another model or structured_output in gsum.toml, [llm]",
    )


def names_in_text(mentions: pa.Table) -> Finding:
    """Check that most names found by a model occur in their chunks; files may have other names."""
    by_model = mentions.filter(pc.not_equal(mentions["model"], ""))
    absent = by_model.filter(pc.invert(by_model["is_verbatim"]))
    examined = count(by_model.num_rows, "mention")
    if absent.num_rows <= _INVENTED * by_model.num_rows:
        return Finding(examined)
    return found(
        examined,
        absent.select(["chunk_id", "document_id", "name", "model"]),
        "have a name that the text of their chunk does not contain: the model invents or "
        "translates names; choose another one in gsum.toml, [llm]",
    )


def _alias(end: str = "") -> str:
    """Return SQL of the name_key in `graphrag.aliases` of a mention, with the sense of a homonym.

    Parameters
    ----------
    end : prefix of the mention's columns, "source_" or "target_".
    """
    key = f"{end}key" if end else "name_key"
    senses = " ".join(f"WHEN '{kind}' THEN ' [{sense}]'" for kind, sense in SENSES.items())
    homonym = f"{key} || CASE {end}type {senses} END"
    known = 'SELECT name_key FROM "graphrag.aliases"'
    return f"CASE WHEN {homonym} IN ({known}) THEN {homonym} ELSE {key} END"


_NAMES = f'SELECT DISTINCT {_alias()} AS name_key FROM "graphrag.entity_mentions"'
_MERGED = """
    SELECT name_key, entity_id, rule, evidence_chunk_ids FROM "graphrag.aliases"
    WHERE rule NOT IN ('own', 'pruned')
"""
NAMES_RESOLVE = check(
    "names_resolve",
    "Every mentioned name has an entity or is pruned; each entity has one own name, and others "
    "with evidence in existing chunks.",
    "name",
    Rule(lacks("name_key", _NAMES), "have no mention"),
    Rule(lacks("name_key", "graphrag.aliases"), "have no entity", "mentioned name", _NAMES),
    Rule(
        "n_own <> 1",
        "have no own name, or several",
        "entity|entities",
        """
            SELECT entity_id, count(*) FILTER (rule = 'own') AS n_own FROM "graphrag.aliases"
            WHERE rule <> 'pruned' GROUP BY entity_id
            """,
    ),
    Rule(
        "(rule = 'pruned') <> (entity_id IS NULL)",
        "are pruned and have an entity, or are kept and have none",
        examined='SELECT name_key, rule, entity_id FROM "graphrag.aliases"',
    ),
    Rule("len(evidence_chunk_ids) = 0", "have no evidence", "merged name", _MERGED),
    Rule(
        lacks("chunk_id", "chunks"),
        "are not existing chunks",
        "piece of evidence|pieces of evidence",
        f"SELECT name_key, rule, unnest(evidence_chunk_ids) AS chunk_id FROM ({_MERGED})",
    ),
    shown="name_key, entity_id",
    blocking=True,
)

_SAID = f"""
    SELECT entity_id, chunk_id, description
    FROM (SELECT *, {_alias()} AS alias FROM "graphrag.entity_mentions") m
    JOIN "graphrag.aliases" a ON a.name_key = alias AND rule <> 'pruned'
"""
_LISTED = 'SELECT entity_id, name, unnest(chunk_ids) AS chunk_id FROM "graphrag.entities"'
STAND_FOR_MENTIONS = check(
    "stand_for_mentions",
    "An entity lists the chunks that mention it, and has a description if one of them describes "
    "it.",
    "entity|entities",
    Rule(
        f"description = '' AND entity_id IN "
        f"(SELECT entity_id FROM ({_SAID}) WHERE description <> '')",
        "have no description though a chunk describes them",
    ),
    Rule(
        lacks("entity_id, chunk_id", _SAID),
        "do not mention it",
        "chunk of an entity|chunks of entities",
        _LISTED,
    ),
    Rule(
        lacks("entity_id, chunk_id", _LISTED),
        "have an entity that does not list their chunk",
        "mention",
        f"SELECT entity_id, chunk_id FROM ({_SAID})",
    ),
    shown="entity_id, name",
)

_ENDS = "least(source_id, target_id) AS one_id, greatest(source_id, target_id) AS other_id"
_JOINED = f'SELECT {_ENDS} FROM "graphrag.relationships"'
_MENTIONED = f"""
    SELECT {_ENDS} FROM (
        SELECT s.entity_id AS source_id, t.entity_id AS target_id
        FROM (
            SELECT {_alias("source_")} AS source, {_alias("target_")} AS target
            FROM "graphrag.relationship_mentions"
        )
        JOIN "graphrag.aliases" s ON s.name_key = source
        JOIN "graphrag.aliases" t ON t.name_key = target
    ) WHERE source_id <> target_id
"""  # two names of one entity are not related
JOIN_ENTITIES = check(
    "join_entities",
    "Each joins two entities, and its weight is its number of mentions; an entity's degree is the "
    "number of its relationships.",
    "relationship",
    Rule(
        " OR ".join(
            lacks(end, "graphrag.entities", "entity_id") for end in ("source_id", "target_id")
        ),
        "have an end that is not an entity",
    ),
    Rule("source_id = target_id", "join an entity to itself"),
    Rule(
        f"""weight <> (
                SELECT count(*) FROM ({_MENTIONED}) WHERE one_id = least(source_id, target_id)
                AND other_id = greatest(source_id, target_id)
            )""",
        "have a weight that is not the number of their mentions",
    ),
    Rule(
        lacks("one_id, other_id", _JOINED),
        "have entities that no relationship joins",
        "mention",
        _MENTIONED,
    ),
    Rule(
        f"""degree <> (
                SELECT count(*) FROM (
                    SELECT one_id AS end_id FROM ({_JOINED})
                    UNION ALL SELECT other_id FROM ({_JOINED})
                ) WHERE end_id = entity_id
            )""",
        "have a degree that is not the number of their relationships",
        "entity|entities",
        'SELECT entity_id, name, degree FROM "graphrag.entities"',
        "materialize graphrag/entities and graphrag/relationships again",
    ),
    shown="relationship_id, source_id, target_id, weight",
)

_MEMBERS = 'SELECT community_id, unnest(entity_ids) AS entity_id FROM "graphrag.communities"'
COVER_ENTITIES = check(
    "cover_entities",
    "Each level has every entity once; the children of a community have its entities; a "
    "community lists the relationships with both ends in it.",
    "member",
    Rule(
        "times <> 1",
        "are not in each level exactly once",
        "entity of a level|entities of levels",
        """
            SELECT level, entity_id, count(member) AS times
            FROM (SELECT level FROM "graphrag.communities" UNION SELECT 0)
            CROSS JOIN "graphrag.entities"
            LEFT JOIN (
                SELECT level AS depth, len(child_ids) = 0 AS is_leaf, unnest(entity_ids) AS member
                FROM "graphrag.communities"
            ) ON member = entity_id AND (depth = level OR depth < level AND is_leaf)
            GROUP BY level, entity_id
            """,
    ),
    Rule(lacks("entity_id", "graphrag.entities"), "are not entities"),
    Rule(
        "named IS NULL OR naming IS NULL",
        "are named by their community or name it, but not both",
        "part of a community|parts of communities",
        """
            FROM (
                SELECT community_id, unnest(child_ids) AS child_id, true AS named
                FROM "graphrag.communities"
            ) FULL JOIN (
                SELECT parent_id AS community_id, community_id AS child_id, true AS naming
                FROM "graphrag.communities" WHERE parent_id IS NOT NULL
            ) USING (community_id, child_id)
            """,
    ),
    Rule(
        "in_community IS NULL OR in_part IS NULL",
        "lie in the community or in a part of it, but not in both",
        "member of a split community|members of split communities",
        """
            FROM (
                SELECT community_id, unnest(entity_ids) AS entity_id, true AS in_community
                FROM "graphrag.communities" WHERE len(child_ids) > 0
            ) FULL JOIN (
                SELECT parent_id AS community_id, unnest(entity_ids) AS entity_id, true AS in_part
                FROM "graphrag.communities" WHERE parent_id IS NOT NULL
            ) USING (community_id, entity_id)
            """,
    ),
    Rule(
        "named IS NULL OR inside IS NULL",
        "are named though an end lies outside, or are not named though both lie inside",
        "relationship of a community|relationships of communities",
        f"""
            FROM (
                SELECT community_id, unnest(relationship_ids) AS relationship_id, true AS named
                FROM "graphrag.communities"
            ) FULL JOIN (
                SELECT s.community_id, relationship_id, true AS inside
                FROM "graphrag.relationships"
                JOIN ({_MEMBERS}) s ON s.entity_id = source_id
                JOIN ({_MEMBERS}) t ON t.entity_id = target_id AND t.community_id = s.community_id
            ) USING (community_id, relationship_id)
            """,
    ),
    examined=_MEMBERS,
)

_CITED = """
    SELECT community_id, position, unnest(chunk_ids) AS chunk_id FROM "graphrag.findings"
"""
_ABOUT = """
    SELECT community_id, position, unnest(entity_ids) AS entity_id FROM "graphrag.findings"
"""
_SUPPORTED = f"""
    FROM ({_CITED}) JOIN ({_ABOUT}) USING (community_id, position)
    SEMI JOIN ({_LISTED}) USING (entity_id, chunk_id)
"""
CITE_WHAT_SUPPORTS = check(
    "cite_what_supports",
    "Each finding cites existing chunks, each of which mentions one of its entities, and each of "
    "its entities is mentioned by one of them.",
    "finding",
    Rule("len(chunk_ids) = 0", "cite no chunk"),
    Rule(lacks("chunk_id", "chunks"), "do not exist", "cited chunk", _CITED),
    Rule(
        lacks("community_id, position, chunk_id", _SUPPORTED),
        "mention no entity that their finding is about",
        "cited chunk",
        _CITED,
    ),
    Rule(
        lacks("community_id, position, entity_id", _SUPPORTED),
        "are mentioned by no chunk that the finding cites",
        "entity of a finding|entities of findings",
        _ABOUT,
    ),
    shown="community_id, position, summary",
    remedy="materialize graphrag/community_reports and graphrag/findings again",
)

_EMBEDDED = """
    SELECT 'entity' AS kind, entity_id AS item_id FROM "graphrag.entities"
    UNION ALL SELECT 'report', community_id FROM "graphrag.community_reports"
"""
FINITE = check(
    "finite",
    "Each entity and each report has one vector, finite and of unit length.",
    "vector",
    Rule(
        f"NOT abs(sqrt(list_inner_product(embedding, embedding)) - 1) <= {UNIT_TOLERANCE}",
        "are not finite and of unit length",
    ),
    Rule(
        lacks("kind, item_id", "graphrag.embeddings"),
        "have no vector",
        "entity or report|entities and reports",
        _EMBEDDED,
    ),
    Rule(lacks("kind, item_id", _EMBEDDED), "belong to no entity or report"),
    shown="kind, item_id",
)

NO_MALFORMED_REPLIES = Check(
    "no_malformed_replies",
    "No chunk got a malformed reply.",
    lambda partition: no_malformed_replies(partition.rows(), partition.corpus),
    warns=True,
)
NAMES_IN_TEXT = Check(
    "names_in_text",
    "At least half of the names found by a model occur in their chunks.",
    lambda partition: names_in_text(
        partition.rows(columns=["chunk_id", "document_id", "name", "is_verbatim", "model"])
    ),
    warns=True,
)
