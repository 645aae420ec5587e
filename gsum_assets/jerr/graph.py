"""The acyclic graph (3.3): merged elements are nodes, relations between them edges."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from itertools import pairwise

import pyarrow as pa

from gsum_assets.corpus.names import holds, name_key
from gsum_assets.pipeline.result import Result, result_of
from gsum_resources.store.arrow import mapping

Pair = tuple[str, str]  # node_id of source and target


def graph_of(
    elements: pa.Table,
    facts: pa.Table,
    relations: pa.Table,
    merges: pa.Table,
    line_chunks: pa.Table,
) -> Result:
    """Return the rows of `jerr.nodes`, `jerr.edges` and `jerr.left_out_edges`.

    Edges from more synopses are accepted first, so that the weakest edge of a cycle is left out. A
    fact belongs to a node if its synopsis has the node as an element and the fact names one of the
    node's forms. A node leads to all line chunks of the documents that mention it whose text has
    one of these forms, so that edges lead from one line chunk to others (ours).
    """
    node_of = mapping(merges, "element_key", "node_id")
    names = mapping(merges, "node_id", "merged_into")
    mentions, related = defaultdict(list), defaultdict(list)  # rows by node, and by pair
    keys_of: dict[str, set[str]] = defaultdict(set)
    keys_within: dict[str, set[str]] = defaultdict(set)
    for row in elements.to_pylist():
        node_id = node_of[row["element_key"]]
        mentions[node_id].append(row)
        keys_of[node_id].add(row["element_key"])
        keys_within[row["document_id"]].add(row["element_key"])
    for row in relations.to_pylist():
        related[node_of[row["source_key"]], node_of[row["target_key"]]].append(row)
    texts_of: dict[str, list[Pair]] = defaultdict(list)  # facts and their keys, by line chunk
    for row in facts.select(["chunk_id", "statement"]).to_pylist():
        texts_of[row["chunk_id"]].append((row["statement"], name_key(row["statement"])))
    naming: dict[str, set[str]] = defaultdict(set)  # line chunks by node
    for row in line_chunks.select(["chunk_id", "document_id", "text"]).to_pylist():
        text_key = name_key(row["text"])
        for key in keys_within[row["document_id"]]:
            if holds(text_key, key):
                naming[node_of[key]].add(row["chunk_id"])

    chunks_of = {item: _ids(rows, "chunk_id") for item, rows in (mentions | related).items()}
    relation_of = {pair: _most_frequent(rows) for pair, rows in related.items()}
    pairs = sorted(related, key=lambda pair: (-len(chunks_of[pair]), pair))
    cycles, order = without_cycles(sorted(mentions), pairs)
    positions = {node_id: position for position, node_id in enumerate(order)}
    nodes = [
        {
            "node_id": node_id,
            "name": names[node_id],
            "place": positions[node_id],
            "n_mentions": len(chunks_of[node_id]),
            "facts": sorted(
                {
                    fact
                    for chunk_id in chunks_of[node_id]
                    for fact, text_key in texts_of[chunk_id]
                    if any(holds(text_key, key) for key in keys_of[node_id])
                }
            ),
            "chunk_ids": sorted(naming[node_id].union(chunks_of[node_id])),
            "document_ids": _ids(rows, "document_id"),
        }
        for node_id, rows in sorted(mentions.items())
    ]
    edges, left_out = [], []
    for pair, rows in sorted(related.items()):
        edge = {
            "source_id": pair[0],
            "target_id": pair[1],
            "relation": relation_of[pair],
            "weight": len(chunks_of[pair]),
            "chunk_ids": chunks_of[pair],
            "document_ids": _ids(rows, "document_id"),
        }
        if pair in cycles:
            cycle = cycles[pair]
            line = names[cycle[0]]  # "Korvin -[imprisoned by]-> Tr'en -[fear]-> Korvin"
            for step in pairwise([*cycle, cycle[0]]):
                line += f" -[{relation_of[step]}]-> {names[step[1]]}"
            left_out.append({**edge, "cycle_ids": cycle, "cycle": line})
        else:
            edges.append({**edge, "relations": _ids(rows, "relation")})
    return result_of("jerr", {"nodes": nodes, "edges": edges, "left_out_edges": left_out})


def _ids(rows: Iterable[dict], column: str) -> list[str]:
    return sorted({row[column] for row in rows})


def _most_frequent(relations: Iterable[dict]) -> str:
    """Return the name of a relation that most synopses have, ties by alphabet."""
    counts = Counter(name for _, name in {(r["chunk_id"], r["relation"]) for r in relations})
    return min(counts, key=lambda name: (-counts[name], name))


def without_cycles(
    nodes: Sequence[str], edges: Sequence[Pair]
) -> tuple[dict[Pair, list[str]], list[str]]:
    """Accept each edge in turn unless it would close a cycle with those accepted before.

    Returns every edge that is left out, with the nodes of a shortest cycle, from its source, and
    all nodes in the lexicographically smallest topological order.
    """
    import networkx as nx

    graph = nx.DiGraph()
    graph.add_nodes_from(nodes)
    cycles: dict[Pair, list[str]] = {}
    for source, target in edges:
        try:
            path = nx.bidirectional_shortest_path(graph, target, source)
        except nx.NetworkXNoPath:
            graph.add_edge(source, target)
        else:
            cycles[source, target] = [source, *path[:-1]]
    return cycles, list(nx.lexicographical_topological_sort(graph))
