"""Checks of line chunks and pages, of the graph of elements, and of searches over it."""

import pyarrow as pa

from gsum_assets.corpus.document_checks import cover_documents
from gsum_assets.pipeline.check import Check
from gsum_assets.pipeline.columns import ROUNDING, check
from gsum_assets.pipeline.finding import Finding
from gsum_resources.store.table import Rule, counts_up


def pages_cover(pages: pa.Table, documents: pa.Table) -> Finding:
    """Check that pages are slices of their documents that cover all text."""
    paged = documents if pages.num_rows else documents.slice(0, 0)  # only ReadAgent has pages
    return cover_documents(pages, paged, "page", "jerr/pages")


CLOSE_NO_CYCLE = check(
    "close_no_cycle",
    "Edges join two nodes, follow the topological order, and close no cycle.",
    "edge",
    Rule("s_place IS NULL OR t_place IS NULL", "have an end that is not a node"),
    Rule("source_id = target_id", "join a node to itself"),
    Rule(
        "source_id <> target_id AND s_place >= t_place",
        "do not follow the topological order of nodes, so there may be a cycle",
    ),
    shown="max_tokens, source_id, target_id",
    examined="""
    SELECT e.*, s.place AS s_place, t.place AS t_place
    FROM "jerr.edges" e
    LEFT JOIN "jerr.nodes" s ON s.max_tokens = e.max_tokens AND s.node_id = source_id
    LEFT JOIN "jerr.nodes" t ON t.max_tokens = e.max_tokens AND t.node_id = target_id
    """,
    remedy="materialize jerr/nodes and jerr/edges again",
)

_STEPS_BACK = """
    SELECT *, cycle_ids[step % len(cycle_ids) + 1] AS next_id
    FROM (SELECT *, unnest(range(2, len(cycle_ids) + 1)) AS step FROM "jerr.left_out_edges")
"""
WOULD_CLOSE_CYCLES = check(
    "would_close_cycles",
    "The reported cycle of each consists of itself and edges of the graph.",
    "left-out edge",
    Rule(
        f"""cycle_ids[1] IS DISTINCT FROM source_id
            OR coalesce(cycle_ids[2], cycle_ids[1]) IS DISTINCT FROM target_id
            OR (max_tokens, source_id, target_id) IN (
                SELECT (max_tokens, source_id, target_id) FROM ({_STEPS_BACK})
                WHERE (max_tokens, cycle_ids[step], next_id) NOT IN (
                    SELECT (max_tokens, source_id, target_id) FROM "jerr.edges"
                )
            )""",
        "do not close the reported cycle with the edges of the graph",
    ),
    shown="max_tokens, source_id, target_id, cycle_ids",
    remedy="materialize jerr/edges and jerr/left_out_edges again",
)

_BEST_PATHS = """
    SELECT
        query_id, node_id AS source_id,
        lead(node_id) OVER (PARTITION BY query_id ORDER BY step) AS target_id
    FROM "jerr.searches" WHERE step IS NOT NULL QUALIFY target_id IS NOT NULL
"""
# The size of line chunks that a method searches depends on its settings, and ids of nodes do not
# depend on sizes: the graph is the one that has most of what the searches name.
_OF_GRAPH = f"""max_tokens = (
    SELECT max_tokens FROM (
        SELECT max_tokens FROM "jerr.searches" JOIN "jerr.nodes" USING (node_id)
        UNION ALL
        SELECT max_tokens FROM ({_BEST_PATHS}) JOIN "jerr.edges" USING (source_id, target_id)
    ) GROUP BY max_tokens ORDER BY count(*) DESC, max_tokens LIMIT 1
)"""
VISIT_NODES = check(
    "visit_nodes",
    "Visited nodes are in the graph, their places count up from 1, mean rewards are 0 "
    "to 1, and the best path follows edges.",
    "visited node",
    Rule(
        f'node_id NOT IN (SELECT node_id FROM "jerr.nodes" WHERE {_OF_GRAPH})',
        "are not in the graph",
    ),
    Rule(
        f"""(source_id, target_id) NOT IN (
                SELECT (source_id, target_id) FROM "jerr.edges" WHERE {_OF_GRAPH}
            )""",
        "follow no edge",
        "step of a best path|steps of best paths",
        _BEST_PATHS,
    ),
    Rule(
        f"mean_reward NOT BETWEEN -{ROUNDING} AND 1 + {ROUNDING}",  # null: PageRank
        "have a mean reward that is not 0 to 1",
    ),
    counts_up("jerr.searches", "place", "query_id", "question"),
    counts_up("jerr.searches", "step", "query_id", "question"),
    shown="query_id, node_id, name, mean_reward",
)

_SLICE = ["document_id", "start", "end", "text"]

LINE_CHUNKS_COVER = Check(
    "cover_documents",
    "Line chunks of each size are exact slices of their documents, and contain every character "
    "that is not blank.",
    lambda partition: cover_documents(
        partition.rows(columns=["max_tokens", *_SLICE]),
        partition.rows("documents", ["document_id", "text"]),
        "line chunk",
        "jerr/line_chunks",
    ),
)
PAGES_COVER = Check(
    "cover_documents",
    "Pages are exact slices of their documents, and contain every character that is not blank.",
    lambda partition: pages_cover(
        partition.rows(columns=_SLICE), partition.rows("documents", ["document_id", "text"])
    ),
)
