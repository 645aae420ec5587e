"""Trace of an answer: keywords, visited nodes, the best path, texts read again."""

from itertools import pairwise

import pyarrow as pa

from gsum_assets.jerr.reread import FULL

_MOST_NODES = 20  # shown


def explained(
    keywords: pa.Table, searches: pa.Table, look_ups: pa.Table, contexts: pa.Table, edges: pa.Table
) -> str:
    """Return the trace of one question as text."""
    lines = [
        "keywords: " + (", ".join(words) or "none: it asks for everything")
        for words in keywords["keywords"].to_pylist()
    ]
    if visited := searches.sort_by("place").to_pylist():
        lines += _nodes(visited)
    if path := sorted((row for row in visited if row["step"]), key=lambda row: row["step"]):
        lines.append(_path(path, edges))
    again = [row for row in contexts.to_pylist() if row["node_kind"] in FULL.values()]
    for look_up in look_ups.to_pylist():
        lines.append(f"\nread again ({len(again)} of {look_up['n_shown']}):")
        order = {chunk_id: i for i, chunk_id in enumerate(look_up["chunk_ids"])}
        for row in sorted(again, key=lambda row: order.get(row["node_id"], -1)):
            cut = ", cut" if row["fate"] == "cut" else ""
            location = f"{row['document_id']}, {row['node_kind']} {row['position']}"
            lines.append(f"      {location} ({row['node_id']}{cut})")
    return "\n".join(lines).lstrip("\n")  # a method has keywords, or begins with its nodes


def _nodes(visited: list[dict]) -> list[str]:
    by_tree = visited[0]["visits"] is not None
    lines = [
        f"\nnodes visited ({len(visited)}; * is read):",
        "      " + ("visits  mean reward  node" if by_tree else "PageRank  node"),
    ]
    for row in visited[:_MOST_NODES]:
        mark = "*" if row["is_chosen"] else " "
        value = f"{row['score']:8.4f}"
        if by_tree:
            value = f"{row['visits']:6d}  {row['mean_reward']:11.3f}"
        matches = f"  ({', '.join(row['keywords'])})" if row["keywords"] else ""
        lines.append(f"    {mark} {value}  {row['name']}{matches}")
    if len(visited) > _MOST_NODES:
        lines.append(f"      … and {len(visited) - _MOST_NODES} more")
    return lines


def _path(path: list[dict], edges: pa.Table) -> str:
    ends = zip(edges["source_id"].to_pylist(), edges["target_id"].to_pylist(), strict=True)
    relation = dict(zip(ends, edges["relation"].to_pylist(), strict=True))
    line = path[0]["name"]
    for first, second in pairwise(path):
        edge = first["node_id"], second["node_id"]  # the walk between them may be unvisited
        line += f" -[{relation[edge]}]-> " if edge in relation else " -> … -> "
        line += second["name"]
    return f"\nbest path: {line}"
