"""Trace of an answer: keywords, visited nodes, the best path, texts read again."""

from collections.abc import Iterator, Sequence
from itertools import pairwise

import pyarrow as pa

from gsum_assets.jerr.reread import FULL

_MOST_NODES = 20  # shown


def explained(
    keywords: pa.Table, searches: pa.Table, look_ups: pa.Table, contexts: pa.Table, edges: pa.Table
) -> str:
    """Return the trace of one question as text."""
    visited = searches.sort_by("place").to_pylist()
    lines = [
        *(
            "keywords: " + (", ".join(words) or "none: it asks for everything")
            for words in keywords["keywords"].to_pylist()
        ),
        *(_nodes(visited) if visited else ()),
        *_path(visited, edges),
        *_read_again(look_ups.to_pylist(), contexts.to_pylist()),
    ]
    return "\n".join(lines).lstrip("\n")  # a method has keywords, or begins with its nodes


def _nodes(visited: Sequence[dict]) -> Iterator[str]:
    by_tree = visited[0]["visits"] is not None
    yield f"\nnodes visited ({len(visited)}; * is read):"
    yield "      " + ("visits  mean reward  node" if by_tree else "PageRank  node")
    for row in visited[:_MOST_NODES]:
        mark = "*" if row["is_chosen"] else " "
        value = f"{row['score']:8.4f}"
        if by_tree:
            value = f"{row['visits']:6d}  {row['mean_reward']:11.3f}"
        matches = f"  ({', '.join(row['keywords'])})" if row["keywords"] else ""
        yield f"    {mark} {value}  {row['name']}{matches}"
    if len(visited) > _MOST_NODES:
        yield f"      … and {len(visited) - _MOST_NODES} more"


def _path(visited: Sequence[dict], edges: pa.Table) -> Iterator[str]:
    steps = sorted((row for row in visited if row["step"]), key=lambda row: row["step"])
    if not steps:
        return
    relation = {
        (row["source_id"], row["target_id"]): row["relation"]
        for row in edges.select(["source_id", "target_id", "relation"]).to_pylist()
    }
    line = steps[0]["name"]
    for first, second in pairwise(steps):
        edge = first["node_id"], second["node_id"]  # the walk between them may be unvisited
        line += f" -[{relation[edge]}]-> " if edge in relation else " -> … -> "
        line += second["name"]
    yield f"\nbest path: {line}"


def _read_again(look_ups: Sequence[dict], contexts: Sequence[dict]) -> Iterator[str]:
    order = {c: i for row in look_ups for i, c in enumerate(row["chunk_ids"])}
    again = [row for row in contexts if row["node_kind"] in FULL.values()]
    if n_shown := sum(row["n_shown"] for row in look_ups):
        yield f"\nread again ({len(again)} of {n_shown}):"
        for row in sorted(again, key=lambda row: order.get(row["node_id"], -1)):
            cut = ", cut" if row["fate"] == "cut" else ""
            location = f"{row['document_id']}, {row['node_kind']} {row['position']}"
            yield f"      {location} ({row['node_id']}{cut})"
