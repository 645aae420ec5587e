"""Properties of all tables of a home that gsum's own code must keep, whatever it is given.

Each invariant is a condition in SQL that no row of a table may fulfil. Tables that are out of date
are left out: their rows agree with inputs that are no longer there.
"""

from collections.abc import Callable, Collection, Iterator, Mapping
from functools import cached_property
from itertools import groupby
from typing import NamedTuple

import duckdb
import pyarrow as pa

from gsum_assets.graphrag.entity_names import SENSES
from gsum_assets.pipeline.columns import RESULT
from gsum_assets.pipeline.tables import TABLES
from gsum_assets.registry.declared import STEPS
from gsum_assets.registry.families import METHODS
from gsum_resources.store.content_hash import numbers_of
from gsum_resources.store.lineage import Lineage, feeds
from gsum_resources.store.parquet_store import ParquetStore, Partition
from gsum_resources.store.table import Table

Read = Callable[[str], pa.Table]
SHOWN = 3  # wrong rows that a message names
UNIT = 1e-3  # by which the length of a unit vector may differ from 1
ROUNDING = 1e-9  # by which a value may exceed a bound


class Invariant(NamedTuple):
    """Rows that a table must not have.

    Attributes
    ----------
    problem : completes "<n> rows …".
    wrong : SQL condition of a wrong row; names of tables stand in double quotes.
    rows : SQL query of the rows; by default those of the table.
    """

    table: str
    problem: str
    wrong: str
    rows: str = ""


def lacks(columns: str, table: str, others: str = "") -> str:
    """Return the condition that another table, or query, has no row with these values."""
    source = f"({table})" if " " in table else f'"{table}"'
    return f"({columns}) NOT IN (SELECT ({others or columns}) FROM {source})"


def has_rows(table: str, key: str, of: str, of_key: str) -> Invariant:
    """A table has rows if one that it is made from has."""
    counts = f'SELECT count({of_key}) AS given, (SELECT count({key}) FROM "{table}") AS n FROM'
    return Invariant(
        table, f"are missing, though {of} has some", "given > 0 AND n = 0", f'{counts} "{of}"'
    )


def counts_up(table: str, column: str, per: str) -> Invariant:
    """A column's values, except nulls, are 1, 2, 3, … in each group of rows."""
    return Invariant(
        table,
        f"do not count their {column}s up from 1",
        "first <> 1 OR last <> n OR n <> n_distinct",
        f"SELECT {per}, min({column}) AS first, max({column}) AS last, count({column}) AS n, "
        f'count(DISTINCT {column}) AS n_distinct FROM "{table}" GROUP BY {per}',
    )


def in_interval(table: str, mean: str = "mean") -> Invariant:
    """A mean lies in its confidence interval."""
    wrong = f"NOT (low <= {mean} + {ROUNDING} AND {mean} <= high + {ROUNDING})"
    return Invariant(table, f"have a {mean} outside of its interval", wrong)


def unit_vectors(table: str, key: str, owners: str) -> tuple[Invariant, ...]:
    """Each row of another table, or query, has one vector of length 1, all of one dimension."""
    length = "sqrt(list_inner_product(embedding, embedding))"
    source = f"({owners})" if " " in owners else f'"{owners}"'
    return (
        Invariant(table, "are not finite and of unit length", f"NOT abs({length} - 1) <= {UNIT}"),
        Invariant(table, "have no vector", lacks(key, table), f"SELECT {key} FROM {source}"),
        Invariant(table, "are vectors of nothing", lacks(key, owners)),
        Invariant(
            table,
            "have vectors of several dimensions",
            "n > 1",
            f'SELECT count(DISTINCT len(embedding)) AS n FROM "{table}"',
        ),
    )


CORPUS = (
    Invariant(
        "documents",
        "are missing, though not all were rejected",
        "given > rejected AND n = 0",
        """SELECT count(document_id) AS given,
            (SELECT count(document_id) FROM "documents") AS n,
            (SELECT count(document_id) FROM "rejected_documents") AS rejected
        FROM "source_documents" """,
    ),
    has_rows("chunks", "chunk_id", "documents", "document_id"),
    *unit_vectors("chunk_embeddings", "chunk_id", "chunks"),
    *unit_vectors("query_embeddings", "query_id", "queries"),
    in_interval("leaderboard"),
    in_interval("comparisons", "difference"),
)

_WITH_TEXTS = """
    SELECT c.*, k.text AS known FROM "contexts" c LEFT JOIN "chunks" k ON chunk_id = node_id
    WHERE node_kind = 'chunk'
"""
_WITH_ENDS = """
    SELECT a.*, CASE WHEN a.document_id IS NULL THEN 0 ELSE d.last_char END AS last_char
    FROM "answer_sources" a LEFT JOIN (
        SELECT document_id, max("end") AS last_char FROM "chunks" GROUP BY document_id
    ) d USING (document_id)
"""
RESULTS = (
    counts_up("rankings", "rank", "query_id, level"),
    Invariant("contexts", "are chunks that do not exist", "known IS NULL", _WITH_TEXTS),
    Invariant("contexts", "have another text than their chunk", "known <> text", _WITH_TEXTS),
    Invariant(
        "answer_sources",
        "are quoted from no document",
        "kind = 'quoted' AND (document_id IS NULL OR chunk_id IS NULL)",
    ),
    Invariant("answer_sources", "have no characters", "start_char >= end_char OR start_char < 0"),
    Invariant(
        "answer_sources",
        "are beyond the chunks of their document",
        "last_char IS NULL OR end_char > last_char",
        _WITH_ENDS,
    ),
    Invariant(
        "scores",
        "are not between 0 and 1",
        f"NOT isfinite(value) OR value < -{ROUNDING} OR "
        f"(metric <> 'context_tokens' AND value > 1 + {ROUNDING})",
    ),
)

_NODES_OF_RECORDS = """
    SELECT chunk_id AS node_id, document_id FROM "chunks"
    UNION ALL SELECT response_id, document_id FROM "gor.historical_responses"
"""
GOR = (
    Invariant(
        "gor.record_nodes",
        "are neither a chunk nor a response",
        lacks("node_id", _NODES_OF_RECORDS),
    ),
    Invariant(
        "gor.record_nodes", "have no node", lacks("node_id", "gor.record_nodes"), _NODES_OF_RECORDS
    ),
    Invariant(
        "gor.record_edges",
        "do not lead from a node to a later response of its document",
        "is_right IS NOT true",
        """SELECT e.*, s.document_id = e.document_id AND t.document_id = e.document_id
                AND t.kind = 'response' AND (s.kind = 'chunk' OR s.position < t.position)
                AS is_right
            FROM "gor.record_edges" e
            LEFT JOIN "gor.record_nodes" s ON s.node_id = source_id
            LEFT JOIN "gor.record_nodes" t ON t.node_id = target_id""",
    ),
    Invariant(
        "gor.node_rankings",
        "do not rank their own source first",
        "f1 IS NULL OR f1 < f1_max",
        """SELECT query_id, max(f1) FILTER (node_id = chunk_id) AS f1, max(f1) AS f1_max
            FROM "gor.node_rankings" LEFT JOIN "gor.simulated_queries" USING (query_id)
            GROUP BY query_id""",
    ),
)

_PASSAGES = """
    SELECT DISTINCT 'document' AS level, document_id AS passage_id FROM "chunks"
    UNION ALL SELECT 'node', chunk_id FROM "chunks"
"""
_CANDIDATES = """
    SELECT level, passage_id, passage_number, unnest(candidates) AS candidate
    FROM "lightpal.candidates"
"""
_TARGETS = """
    SELECT graph, level, scope, source_id AS passage_id, unnest(targets) AS candidate
    FROM "lightpal.passage_edges"
"""
_IN_DOCUMENT = """
    SELECT a.chunk_id AS passage_id, passage_number AS candidate
    FROM "chunks" a JOIN "chunks" b USING (document_id)
    JOIN "lightpal.candidates" ON passage_id = b.chunk_id AND level = 'node'
"""
LIGHTPAL = (
    Invariant(
        "lightpal.candidates", "are not in the corpus", lacks("level, passage_id", _PASSAGES)
    ),
    Invariant(
        "lightpal.candidates",
        "are their own candidates, or have some that are not in the corpus",
        "candidate = passage_number OR "
        + lacks("level, candidate", "lightpal.candidates", "level, passage_number"),
        _CANDIDATES,
    ),
    Invariant(
        "lightpal.candidates",
        "have fewer candidates than the others",
        "n < most OR n < 1 AND n_passages > 1",
        f"""SELECT level, passage_id, coalesce(len(candidates), 0) AS n,
                max(n) OVER (PARTITION BY level) AS most,
                count(*) OVER (PARTITION BY level) AS n_passages
            FROM ({_PASSAGES}) LEFT JOIN "lightpal.candidates" USING (level, passage_id)""",
    ),
    Invariant(
        "lightpal.context_scores",
        "have not one score or null for each candidate",
        "len(scores) IS DISTINCT FROM len(candidates)",
        'FROM "lightpal.context_scores" LEFT JOIN "lightpal.candidates" USING (level, passage_id)',
    ),
    Invariant(
        "lightpal.context_scores",
        "are not finite",
        "isinf(score)",
        'SELECT passage_id, unnest(scores) AS score FROM "lightpal.context_scores"',
    ),
    Invariant(
        "lightpal.passage_edges",
        "do not lead from a passage to its candidates",
        lacks("level, passage_id, candidate", _CANDIDATES),
        _TARGETS,
    ),
    Invariant(
        "lightpal.passage_edges",
        "leave the document of their scope",
        "level = 'node' AND scope = 'document' AND " + lacks("passage_id, candidate", _IN_DOCUMENT),
        _TARGETS,
    ),
    Invariant(
        "lightpal.passage_edges",
        "have not one weight for each edge",
        "len(weights) <> len(targets)",
    ),
)

_ADJACENT = """
    SELECT e.*, s.document_id IS NOT NULL AND t.document_id IS NOT NULL AS are_known,
        s.document_id = t.document_id AND abs(s.position - t.position) = 1 AS are_adjacent
    FROM "gae.graph_edges" e
    LEFT JOIN "chunks" s ON s.chunk_id = source_id
    LEFT JOIN "chunks" t ON t.chunk_id = target_id
"""
GAE = (
    Invariant("gae.graph_edges", "join an id that is no passage", "NOT are_known", _ADJACENT),
    Invariant("gae.graph_edges", "join a passage to itself", "source_id = target_id"),
    Invariant(
        "gae.graph_edges",
        "join as neighbours passages that are not adjacent",
        "kind = 'neighbour' AND are_adjacent IS NOT true",
        _ADJACENT,
    ),
    *(
        invariant
        for table in ("gae.embeddings", "gae.clusters")  # all passages, or none
        for invariant in (
            Invariant(
                table,
                "are missing for a passage",
                lacks("chunk_id", table),
                f'SELECT chunk_id FROM "chunks" WHERE EXISTS (FROM "{table}")',
            ),
            Invariant(table, "belong to no passage", lacks("chunk_id", "chunks")),
        )
    ),
    Invariant(
        "gae.refined_contexts",
        "are not among their question's contexts",
        lacks("query_id, node_id", "contexts"),
    ),
    Invariant(
        "gae.refined_contexts",
        "are longer though they were not edited",
        "tokens_after > tokens_before AND fate <> 'edited'",
    ),
)

EVIDENCE = (
    Invariant("evidence.sentences", "belong to no passage", lacks("chunk_id", "chunks")),
    Invariant(
        "evidence.probabilities",
        "are outside of 0 to 1 or above a better rank",
        "probability NOT BETWEEN 0 AND 1 OR probability > before",
        """SELECT *, lag(probability) OVER (PARTITION BY query_id ORDER BY rank) AS before
            FROM "evidence.probabilities" """,
    ),
)


def _alias(end: str = "") -> str:
    """Return SQL of the name_key in `graphrag.aliases` of a mention, with a homonym's sense."""
    key = f"{end}key" if end else "name_key"
    senses = " ".join(f"WHEN '{kind}' THEN ' [{sense}]'" for kind, sense in SENSES.items())
    homonym = f"{key} || CASE {end}type {senses} END"
    known = 'SELECT name_key FROM "graphrag.aliases"'
    return f"CASE WHEN {homonym} IN ({known}) THEN {homonym} ELSE {key} END"


_MENTIONS = ("graphrag.entity_mentions", "chunk_id, name_key")
_NAMES = f'SELECT DISTINCT {_alias()} AS name_key FROM "graphrag.entity_mentions"'
_MERGED = """
    SELECT name_key, entity_id, rule, evidence_chunk_ids FROM "graphrag.aliases"
    WHERE rule NOT IN ('own', 'pruned')
"""
_SAID = f"""
    SELECT entity_id, chunk_id, description
    FROM (SELECT *, {_alias()} AS alias FROM "graphrag.entity_mentions") m
    JOIN "graphrag.aliases" a ON a.name_key = alias AND rule <> 'pruned'
"""
_LISTED = 'SELECT entity_id, unnest(chunk_ids) AS chunk_id FROM "graphrag.entities"'
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
_MEMBERS = 'SELECT community_id, unnest(entity_ids) AS entity_id FROM "graphrag.communities"'
_CITED = 'SELECT community_id, position, unnest(chunk_ids) AS chunk_id FROM "graphrag.findings"'
_ABOUT = 'SELECT community_id, position, unnest(entity_ids) AS entity_id FROM "graphrag.findings"'
_SUPPORTED = f"""
    FROM ({_CITED}) JOIN ({_ABOUT}) USING (community_id, position)
    SEMI JOIN ({_LISTED}) USING (entity_id, chunk_id)
"""
GRAPHRAG = (
    Invariant("graphrag.entity_mentions", "belong to no chunk", lacks("chunk_id", "chunks")),
    Invariant(
        "graphrag.relationship_mentions",
        "have an end that their chunk does not mention",
        f"{lacks('chunk_id, source_key', *_MENTIONS)} OR "
        f"{lacks('chunk_id, target_key', *_MENTIONS)}",
    ),
    Invariant("graphrag.relationship_mentions", "join a name to itself", "source_key = target_key"),
    Invariant(
        "graphrag.relationship_mentions",
        "have a strength that is not 1 to 10",
        "strength NOT BETWEEN 1 AND 10",
    ),
    Invariant(
        "graphrag.claims",
        "have a subject that their chunk does not mention",
        lacks("chunk_id, subject_key", *_MENTIONS),
    ),
    Invariant(
        "graphrag.claims",
        "are neither true, false nor suspected",
        "status NOT IN ('true', 'false', 'suspected')",
    ),
    Invariant("graphrag.aliases", "have no mention", lacks("name_key", _NAMES)),
    Invariant(
        "graphrag.aliases",
        "are mentioned and have no alias",
        lacks("name_key", "graphrag.aliases"),
        _NAMES,
    ),
    Invariant(
        "graphrag.aliases",
        "are entities without an own name, or with several",
        "n_own <> 1",
        """SELECT entity_id, count(*) FILTER (rule = 'own') AS n_own
            FROM "graphrag.aliases" WHERE rule <> 'pruned' GROUP BY entity_id""",
    ),
    Invariant(
        "graphrag.aliases",
        "are pruned and have an entity, or kept and have none",
        "(rule = 'pruned') <> (entity_id IS NULL)",
    ),
    Invariant(
        "graphrag.aliases", "are merged without evidence", "len(evidence_chunk_ids) = 0", _MERGED
    ),
    Invariant(
        "graphrag.aliases",
        "stand apart in one group of documents",
        "len(apart_document_ids) = 1",
    ),
    Invariant(
        "graphrag.aliases",
        "have evidence in a chunk that does not exist",
        lacks("chunk_id", "chunks"),
        f"SELECT name_key, unnest(evidence_chunk_ids) AS chunk_id FROM ({_MERGED})",
    ),
    Invariant(
        "graphrag.entities",
        "have no description though a chunk describes them",
        f"description = '' AND entity_id IN "
        f"(SELECT entity_id FROM ({_SAID}) WHERE description <> '')",
    ),
    Invariant(
        "graphrag.entities",
        "list a chunk that does not mention them",
        lacks("entity_id, chunk_id", _SAID),
        _LISTED,
    ),
    Invariant(
        "graphrag.entities",
        "are mentions in a chunk that their entity does not list",
        lacks("entity_id, chunk_id", _LISTED),
        _SAID,
    ),
    Invariant(
        "graphrag.entities",
        "have a degree that is not the number of their relationships",
        # methods that walk over entities alone have no table of relationships
        f"""EXISTS (FROM "graphrag.relationships") AND degree <> (
            SELECT count(*) FROM (
                SELECT one_id AS end_id FROM ({_JOINED})
                UNION ALL SELECT other_id FROM ({_JOINED})
            ) WHERE end_id = entity_id
        )""",
    ),
    Invariant(
        "graphrag.relationships",
        "have an end that is not an entity",
        " OR ".join(
            lacks(end, "graphrag.entities", "entity_id") for end in ("source_id", "target_id")
        ),
    ),
    Invariant("graphrag.relationships", "join an entity to itself", "source_id = target_id"),
    Invariant(
        "graphrag.relationships",
        "have a weight that is not the number of their mentions",
        f"""weight <> (
            SELECT count(*) FROM ({_MENTIONED}) WHERE one_id = least(source_id, target_id)
            AND other_id = greatest(source_id, target_id)
        )""",
    ),
    Invariant(
        "graphrag.relationships",
        "are mentioned, but are not there",
        lacks("one_id, other_id", _JOINED),
        _MENTIONED,
    ),
    Invariant(
        "graphrag.communities",
        "have members that are not entities",
        lacks("entity_id", "graphrag.entities"),
        _MEMBERS,
    ),
    Invariant(
        "graphrag.communities",
        "are entities that are not in each level exactly once",
        "times <> 1",
        """SELECT level, entity_id, count(member) AS times
            FROM (SELECT level FROM "graphrag.communities" UNION SELECT 0)
            CROSS JOIN "graphrag.entities"
            LEFT JOIN (
                SELECT level AS depth, len(child_ids) = 0 AS is_leaf, unnest(entity_ids) AS member
                FROM "graphrag.communities"
            ) ON member = entity_id AND (depth = level OR depth < level AND is_leaf)
            GROUP BY level, entity_id""",
    ),
    Invariant(
        "graphrag.communities",
        "name a child that does not name them, or the reverse",
        "named IS NULL OR naming IS NULL",
        """FROM (
                SELECT community_id, unnest(child_ids) AS child_id, true AS named
                FROM "graphrag.communities"
            ) FULL JOIN (
                SELECT parent_id AS community_id, community_id AS child_id, true AS naming
                FROM "graphrag.communities" WHERE parent_id IS NOT NULL
            ) USING (community_id, child_id)""",
    ),
    Invariant(
        "graphrag.communities",
        "have other members than their children",
        "in_community IS NULL OR in_child IS NULL",
        """FROM (
                SELECT community_id, unnest(entity_ids) AS entity_id, true AS in_community
                FROM "graphrag.communities" WHERE len(child_ids) > 0
            ) FULL JOIN (
                SELECT parent_id AS community_id, unnest(entity_ids) AS entity_id, true AS in_child
                FROM "graphrag.communities" WHERE parent_id IS NOT NULL
            ) USING (community_id, entity_id)""",
    ),
    Invariant(
        "graphrag.communities",
        "name other relationships than those between their members",
        "named IS NULL OR inside IS NULL",
        f"""FROM (
                SELECT community_id, unnest(relationship_ids) AS relationship_id, true AS named
                FROM "graphrag.communities"
            ) FULL JOIN (
                SELECT s.community_id, relationship_id, true AS inside
                FROM "graphrag.relationships"
                JOIN ({_MEMBERS}) s ON s.entity_id = source_id
                JOIN ({_MEMBERS}) t ON t.entity_id = target_id AND t.community_id = s.community_id
            ) USING (community_id, relationship_id)""",
    ),
    Invariant("graphrag.findings", "cite no chunk", "len(chunk_ids) = 0"),
    Invariant(
        "graphrag.findings", "cite a chunk that does not exist", lacks("chunk_id", "chunks"), _CITED
    ),
    Invariant(
        "graphrag.findings",
        "cite a chunk that mentions none of their entities",
        lacks("community_id, position, chunk_id", _SUPPORTED),
        _CITED,
    ),
    Invariant(
        "graphrag.findings",
        "are about an entity that no cited chunk mentions",
        lacks("community_id, position, entity_id", _SUPPORTED),
        _ABOUT,
    ),
    *unit_vectors(
        "graphrag.embeddings",
        "kind, item_id",
        """SELECT 'entity' AS kind, entity_id AS item_id FROM "graphrag.entities"
            UNION ALL SELECT 'report', community_id FROM "graphrag.community_reports" """,
    ),
    Invariant(
        "graphrag.key_points", "have a score that is not 0 to 100", "score NOT BETWEEN 0 AND 100"
    ),
    counts_up("graphrag.reduced_contexts", "rank", "query_id, sample"),
)

_ELEMENTS = ("jerr.elements", "chunk_id, element_key")
_WITH_PLACES = """
    SELECT e.*, s.place AS s_place, t.place AS t_place
    FROM "jerr.edges" e
    LEFT JOIN "jerr.nodes" s ON s.node_id = source_id
    LEFT JOIN "jerr.nodes" t ON t.node_id = target_id
"""
_STEPS_BACK = """
    SELECT *, cycle_ids[step % len(cycle_ids) + 1] AS next_id
    FROM (SELECT *, unnest(range(2, len(cycle_ids) + 1)) AS step FROM "jerr.left_out_edges")
"""
_BEST_PATHS = """
    SELECT * FROM (
        SELECT query_id, node_id AS source_id, step,
            lead(node_id) OVER of_question AS target_id, lead(step) OVER of_question AS next_step
        FROM "jerr.searches" WHERE step IS NOT NULL
        WINDOW of_question AS (PARTITION BY query_id ORDER BY step)
    ) WHERE next_step = step + 1
"""  # the end of a path may be a random walk, which leaves out nodes that were not visited
JERR = (
    Invariant(
        "jerr.elements",
        "belong to no line chunk",
        lacks("chunk_id", "jerr.line_chunks"),
    ),
    Invariant(
        "jerr.relations",
        "have an end that is not an element of their line chunk",
        f"{lacks('chunk_id, source_key', *_ELEMENTS)} OR "
        f"{lacks('chunk_id, target_key', *_ELEMENTS)}",
    ),
    Invariant(
        "jerr.relations",
        "are not named in one to three words",
        r"len(regexp_extract_all(relation, '\S+')) NOT BETWEEN 1 AND 3",
    ),
    Invariant(
        "jerr.merges",
        "are merged into a node that does not exist",
        lacks("node_id", "jerr.nodes"),
    ),
    Invariant(
        "jerr.merges",
        "are merged into no node",
        lacks("element", "jerr.merges"),
        'SELECT DISTINCT element FROM "jerr.elements"',
    ),
    Invariant(
        "jerr.merges",
        "differ from their node's name by more bits than their rule allows",
        "n_bits NOT BETWEEN 0 AND CASE rule WHEN 'near' THEN 3 ELSE 0 END",
    ),
    Invariant(
        "jerr.edges",
        "have an end that is not a node",
        "s_place IS NULL OR t_place IS NULL",
        _WITH_PLACES,
    ),
    Invariant("jerr.edges", "join a node to itself", "source_id = target_id"),
    Invariant(
        "jerr.edges",
        "do not follow the topological order",
        "source_id <> target_id AND s_place >= t_place",
        _WITH_PLACES,
    ),
    Invariant(
        "jerr.left_out_edges",
        "do not close the reported cycle with the edges of the graph",
        f"""cycle_ids[1] IS DISTINCT FROM source_id
            OR coalesce(cycle_ids[2], cycle_ids[1]) IS DISTINCT FROM target_id
            OR (source_id, target_id) IN (
                SELECT (source_id, target_id) FROM ({_STEPS_BACK})
                WHERE (cycle_ids[step], next_id) NOT IN (
                    SELECT (source_id, target_id) FROM "jerr.edges"
                )
            )""",
    ),
    Invariant(
        "jerr.searches",
        "are not in the graph",
        'node_id NOT IN (SELECT node_id FROM "jerr.nodes")',
    ),
    Invariant(
        "jerr.searches",
        "are steps of a best path along no edge",
        """(source_id, target_id) NOT IN (
            SELECT (source_id, target_id) FROM "jerr.edges"
        )""",
        _BEST_PATHS,
    ),
    Invariant(
        "jerr.searches",
        "have a mean reward that is not 0 to 1",
        f"mean_reward NOT BETWEEN -{ROUNDING} AND 1 + {ROUNDING}",
    ),  # null: PageRank
    counts_up("jerr.searches", "place", "query_id"),
    Invariant(
        "jerr.searches",
        "do not number their best path from 1",
        "first <> 1 OR n <> n_distinct",
        """SELECT query_id, min(step) AS first, count(step) AS n, count(DISTINCT step) AS n_distinct
            FROM "jerr.searches" GROUP BY query_id""",
    ),
    Invariant(
        "jerr.look_ups",
        "name passages that were not shown with their question",
        lacks("query_id, chunk_id", "contexts", "query_id, node_id"),
        'SELECT query_id, unnest(chunk_ids) AS chunk_id FROM "jerr.look_ups"',
    ),
)

INVARIANTS = (*CORPUS, *RESULTS, *GOR, *LIGHTPAL, *GAE, *EVIDENCE, *GRAPHRAG, *JERR)


def _slices(rows: pa.Table, documents: pa.Table) -> Iterator[str]:
    """Yield where rows are not slices of their documents, or leave out more than blanks."""
    texts = dict(
        zip(documents["document_id"].to_pylist(), documents["text"].to_pylist(), strict=True)
    )
    covered = dict.fromkeys(texts, 0)
    for row in sorted(rows.to_pylist(), key=lambda row: (row["document_id"], row["start"])):
        document_id, start, end = row["document_id"], row["start"], row["end"]
        text = texts.get(document_id, "")
        names, end_of_names, passage = row["text"].rpartition(text[start:end])
        is_named = not names or (names[-1] == "\n" and names.strip() in text[:start].split("\n"))
        if passage or not end_of_names or not is_named:
            yield f"is no slice of '{document_id}' at {start}"
        elif texts[document_id][covered[document_id] : start].strip():
            yield f"leaves out text of '{document_id}' before {start}"
        covered[document_id] = max(covered.get(document_id, 0), end)
    for document_id, text in texts.items():
        if text[covered[document_id] :].strip():
            yield f"leaves out text of '{document_id}' from {covered[document_id]}"


def _chunks(read: Read) -> Iterator[str]:
    yield from _slices(read("chunks"), read("documents"))


def _line_chunks(read: Read) -> Iterator[str]:
    yield from _slices(read("jerr.line_chunks"), read("documents"))


def _pages(read: Read) -> Iterator[str]:
    if read("jerr.pages").num_rows:  # only ReadAgent has some
        yield from _slices(read("jerr.pages"), read("documents"))


def _numbers(read: Read) -> Iterator[str]:
    rows = read("lightpal.candidates")
    if (
        rows["passage_number"].to_pylist()
        != numbers_of(rows["passage_id"].combine_chunks()).tolist()
    ):
        yield "has the number of another id"


BEYOND_SQL: Mapping[str, Callable[[Read], Iterator[str]]] = {
    "chunks": _chunks,
    "jerr.line_chunks": _line_chunks,
    "jerr.pages": _pages,
    "lightpal.candidates": _numbers,
}


class _Tables:
    """The tables that invariants of one corpus, or of one of its methods, read."""

    def __init__(self, read: Read) -> None:
        self._read, self._known = read, dict[str, pa.Table]()

    @cached_property
    def connection(self) -> duckdb.DuckDBPyConnection:
        return duckdb.connect()

    def read(self, name: str) -> pa.Table:
        if name not in self._known:
            self._known[name] = self._read(name)
            self.connection.register(name, self._known[name])
        return self._known[name]

    def problems(self, table: str) -> Iterator[str]:
        """Yield the violations of a table's invariants."""
        self.read(table)
        for of_table, problem, wrong, rows in INVARIANTS:
            if of_table == table:
                source = rows or f'FROM "{table}"'
                sql = f"SELECT * FROM ({source}) AS it WHERE {wrong}"
                for name in TABLES:
                    if f'"{name}"' in sql:
                        self.read(name)
                found = self.connection.sql(sql).to_arrow_table()
                if found.num_rows:
                    shown = found.slice(0, SHOWN).to_pylist()
                    yield f"{table}: {found.num_rows} rows {problem}: {shown}"
        if table in BEYOND_SQL:
            yield from (f"{table}: {problem}" for problem in BEYOND_SQL[table](self.read))


CHECKED = tuple(dict.fromkeys([*(i.table for i in INVARIANTS), *BEYOND_SQL]))


def assert_invariants(store: ParquetStore, corpora: Collection[str] | None = None) -> None:
    """Assert all invariants of the tables of a home that are up to date.

    Parameters
    ----------
    corpora : those to check; None: all.
    """
    problems = [
        f"{corpus}{f'/{method}' if method else ''}: {problem}"
        for corpus, method, files in _files(store, corpora)
        for problem in _stored(store, files, Partition(corpus, method=method))
    ]
    problems += [
        f"{corpus}: rows of {table.name} share a key ({', '.join(table.key)})"
        for table in TABLES.values()
        if table.key
        for corpus in {file.corpus for file in store.partitions(table)}
        if (corpora is None or corpus in corpora) and not _keys_are_unique(store, table, corpus)
    ]
    assert not problems, "\n".join(problems)


def _keys_are_unique(store: ParquetStore, table: Table, corpus: str) -> bool:
    names = [*table.key, *(name for name in table.dimensions if name == "method")]
    rows = store.read(table, store.partitions(table, corpus), table.key)[0]
    return rows.group_by(names).aggregate([]).num_rows == rows.num_rows


def _files(
    store: ParquetStore, corpora: Collection[str] | None
) -> Iterator[tuple[str, str | None, set[str]]]:
    """Yield each corpus and method with the tables of it that exist and are up to date."""
    lineage = Lineage(store, TABLES, lambda _: None, METHODS.families)
    codes = {
        (declared.table(name).name, method): declared.step.code_version
        for declared in STEPS
        for name in declared.step.writes
        for method in (declared.methods if declared.level == RESULT else [None])
    }
    found = [
        (file, name)
        for name in CHECKED
        for file in store.partitions(TABLES[name])
        if corpora is None or file.corpus in corpora
    ]
    stale = {
        (file.corpus, file.method, name)
        for file, name in found
        if lineage.changes(name, file, codes.get((name, file.method)))
    }
    groups = sorted({(f.corpus, f.method or "", name) for f, name in found})
    for (corpus, method), of_group in groupby(groups, key=lambda group: group[:2]):
        names = {name for *_, name in of_group}
        yield (
            corpus,
            method or None,
            {name for name in names if (corpus, method or None, name) not in stale},
        )


def _stored(store: ParquetStore, names: Collection[str], target: Partition) -> Iterator[str]:
    def read(name: str) -> pa.Table:
        table = TABLES[name]
        files = [f for f in store.partitions(table, target.corpus) if feeds(f, target)]
        return store.read(table, files)[0]

    tables = _Tables(read)
    with tables.connection:
        for name in sorted(names):
            yield from tables.problems(name)
