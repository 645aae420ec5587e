"""Checks of the graph of elements, and of searches over it."""

from itertools import pairwise

import numpy as np
import pyarrow as pa

from gsum_assets.pipeline.columns import ROUNDING
from gsum_assets.pipeline.finding import Finding, count, found, together
from gsum_assets.pipeline.references import are_among, lacking
from gsum_resources.store.arrow import pc

SIZE = "max_tokens"
_ENDS = ["source_id", "target_id"]


def sized(rows: pa.Table) -> pa.Table:
    """Return rows with the size of line chunks as text, for the functions of `references`."""
    return rows.set_column(rows.schema.get_field_index(SIZE), SIZE, pc.cast(rows[SIZE], "string"))


def of_each_size(rows: pa.Table, *others: pa.Table) -> list[tuple[pa.Table, ...]]:
    """Return the rows of each size of line chunks, ascending, with other tables' rows of that size.

    Without rows there is one size with empty tables.
    """
    sizes = sorted(pc.unique(rows[SIZE]).to_pylist()) or [0]
    return [
        tuple(table.filter(pc.equal(table[SIZE], size)) for table in (rows, *others))
        for size in sizes
    ]


def close_no_cycle(edges: pa.Table, nodes: pa.Table) -> Finding:
    """Check that edges join two nodes, follow the order of `place`, and close no cycle.

    Parameters
    ----------
    edges : `max_tokens`, `source_id` and `target_id`.
    nodes : `max_tokens`, `node_id` and `place`.
    """
    shown, known = sized(edges), sized(nodes)
    is_known = pc.and_(*(are_among(shown, [SIZE, end], known, [SIZE, "node_id"]) for end in _ENDS))
    is_loop = pc.equal(*(shown[end] for end in _ENDS))
    joined = shown.filter(pc.and_(is_known, pc.invert(is_loop)))
    source, target = (_rows_of(joined, end, known) for end in _ENDS)
    place = nodes["place"].to_numpy()
    groups = _tied(source, target, known.num_rows)
    examined = count(shown.num_rows, "edge")
    remedy = "materialize jerr/nodes and jerr/edges again"
    return together(
        [
            found(
                examined,
                shown.filter(pc.invert(is_known)),
                f"have an end that is not a node; {remedy}",
            ),
            found(examined, shown.filter(is_loop), f"join a node to itself; {remedy}"),
            found(
                examined,
                joined.filter(pa.array(groups[source] == groups[target])),
                f"lie on a cycle; {remedy}",
            ),
            found(
                examined,
                joined.filter(pa.array(place[source] >= place[target])),
                f"do not follow the topological order of nodes; {remedy}",
            ),
        ]
    )


def _rows_of(edges: pa.Table, end: str, nodes: pa.Table) -> np.ndarray:
    """Return the row of `nodes` that each edge has at one end, int64 `(n_edges,)`."""
    wanted, known = (
        pc.binary_join_element_wise(table[SIZE], table[name], "\n")
        for table, name in ((edges, end), (nodes, "node_id"))
    )
    return pc.index_in(wanted, value_set=known.combine_chunks()).to_numpy().astype(np.int64)


def _tied(source: np.ndarray, target: np.ndarray, n_nodes: int) -> np.ndarray:
    """Return the strongly connected component of each node, `(n_nodes,)`; cycles lie within one."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    if not n_nodes:
        return np.empty(0, np.int64)
    weights = np.ones(len(source), np.int8)
    graph = csr_array((weights, (source, target)), shape=(n_nodes, n_nodes))
    return connected_components(graph, directed=True, connection="strong")[1]


def would_close_cycles(left_out: pa.Table, edges: pa.Table) -> Finding:
    """Check that the cycle of a left-out edge consists of itself, first, and edges of the graph.

    Parameters
    ----------
    left_out : `max_tokens`, `source_id`, `target_id` and `cycle_ids`.
    edges : `max_tokens`, `source_id` and `target_id`.
    """
    shown = left_out.select([SIZE, *_ENDS, "cycle_ids"])
    stored = set(zip(*(edges[name].to_pylist() for name in (SIZE, *_ENDS)), strict=True))

    def closes(row: dict) -> bool:
        cycle = row["cycle_ids"]
        steps = list(pairwise([*cycle, *cycle[:1]]))
        back = {(row[SIZE], *step) for step in steps[1:]}
        return steps[:1] == [(row["source_id"], row["target_id"])] and back <= stored

    is_closed = pa.array([closes(row) for row in shown.to_pylist()], pa.bool_())
    return found(
        count(shown.num_rows, "left-out edge"),
        shown.filter(pc.invert(is_closed)),
        "do not close the reported cycle with the edges of the graph; "
        "materialize jerr/edges and jerr/left_out_edges again",
    )


def visit_nodes(searches: pa.Table, nodes: pa.Table, edges: pa.Table) -> Finding:
    """Check that searches visit nodes of one graph, and their best paths follow its edges.

    The size of line chunks that a method searches depends on its settings, and ids of nodes do not
    depend on sizes, so one size must have them all.

    Parameters
    ----------
    searches : `query_id`, `node_id`, `name`, `place`, `step` and `mean_reward`.
    nodes : `max_tokens` and `node_id`.
    edges : `max_tokens`, `source_id` and `target_id`.
    """
    graphs = [_within(searches, *graph) for graph in of_each_size(nodes, edges)]
    reward = searches["mean_reward"]
    is_reward = pc.and_(
        pc.greater_equal(reward, -ROUNDING), pc.less_equal(reward, 1 + ROUNDING)
    )  # null: PageRank
    questions = count(len(pc.unique(searches["query_id"])), "question")
    remedy = "materialize jerr/searches again"
    return together(
        [
            min(graphs, key=lambda finding: finding.n_wrong),
            found(
                count(searches.num_rows, "visited node"),
                searches.select(["query_id", "node_id", "name", "mean_reward"]).filter(
                    pc.invert(is_reward)
                ),
                f"have a mean reward that is not 0 to 1; {remedy}",
            ),
            *(
                found(
                    questions,
                    _not_consecutive(searches, column),
                    f"do not count the {column}s of their nodes up from 1; {remedy}",
                )
                for column in ("place", "step")
            ),
        ]
    )


def _within(searches: pa.Table, nodes: pa.Table, edges: pa.Table) -> Finding:
    """Check that visited nodes and the steps of best paths are in one graph."""
    visited = searches.select(["query_id", "node_id", "name"])
    on_path = searches.filter(pc.is_valid(searches["step"])).sort_by(
        [("query_id", "ascending"), ("step", "ascending")]
    )
    before, after = on_path.slice(0, max(0, on_path.num_rows - 1)), on_path.slice(1)
    steps = pa.table(
        [before["query_id"], before["node_id"], after["node_id"]], ["query_id", *_ENDS]
    ).filter(pc.equal(before["query_id"], after["query_id"]))
    remedy = "materialize jerr/searches again"
    return together(
        [
            found(
                count(visited.num_rows, "visited node"),
                lacking(visited, ["node_id"], nodes),
                f"are not in the graph; {remedy}",
            ),
            found(
                count(steps.num_rows, "step of a best path", "steps of best paths"),
                lacking(steps, _ENDS, edges),
                f"follow no edge; {remedy}",
            ),
        ]
    )


def _not_consecutive(searches: pa.Table, column: str) -> pa.Table:
    """Return the questions whose values of a column, except nulls, are not 1, 2, 3, …"""
    counts = ["min", "max", "count", "count_distinct"]
    groups = searches.group_by("query_id", use_threads=False).aggregate(
        [(column, count) for count in counts]
    )
    first, last, n, n_distinct = (groups[f"{column}_{count}"] for count in counts)
    complete = pc.and_(
        pc.and_(pc.equal(first, 1), pc.equal(last, n)), pc.equal(n, n_distinct)
    )  # null where the question has none
    wrong = groups.filter(pc.invert(complete))
    return wrong.rename_columns(
        ["query_id", f"first_{column}", f"last_{column}", "n", "n_distinct"]
    )
