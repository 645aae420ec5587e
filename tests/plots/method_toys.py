"""What the plots of methods draw: small graphs, clusters and logs, with names to choose."""

from collections import Counter
from itertools import pairwise

import numpy as np
import pyarrow as pa

from gsum_assets.pipeline.tables import TABLES
from tests.lightpal.toys import edge_table
from tests.plots.toys import with_names

Ends = list[tuple[str, str]]


def columns_of(name: str, /, **columns) -> pa.Table:
    """Return some columns of a table, in the types that it declares."""
    schema = TABLES[name].schema
    arrays = [pa.array(list(values), schema.field(n).type) for n, values in columns.items()]
    return pa.table(arrays, list(columns))


def shuffled(rows: pa.Table) -> pa.Table:
    return rows.take(np.random.default_rng(0).permutation(rows.num_rows))


def clusters(*sizes: int, dim: int = 8) -> tuple[np.ndarray, np.ndarray]:
    """Embeddings of clusters of these sizes, each around an axis of its own, and their numbers."""
    numbers = np.repeat(np.arange(len(sizes)), sizes)
    noise = np.random.default_rng(0).normal(scale=0.1, size=(len(numbers), dim))
    return (np.eye(dim)[numbers % dim] + noise).astype(np.float32), numbers


def records(n_chunks: int, n_responses: int, names: list[str]) -> tuple[pa.Table, pa.Table]:
    """Nodes and edges of a document in which each response used six random earlier nodes."""
    random = np.random.default_rng(7)
    ids = [f"c{i}" for i in range(n_chunks)] + [f"r{i}" for i in range(1, n_responses + 1)]
    ends = [
        (ids[source], f"r{i}")
        for i in range(1, n_responses + 1)
        for source in random.choice(n_chunks + i - 1, min(6, n_chunks + i - 1), replace=False)
    ]
    degrees = Counter(node_id for pair in ends for node_id in pair)
    nodes = columns_of(
        "gor.record_nodes",
        node_id=ids,
        document_id=names[:1] * len(ids),
        kind=["chunk"] * n_chunks + ["response"] * n_responses,
        position=[*range(n_chunks), *range(1, n_responses + 1)],
        degree=[degrees[node_id] for node_id in ids],
    )
    return nodes, edges_of("gor.record_edges", ends)


def edges_of(name: str, ends: Ends, **columns) -> pa.Table:
    sources, targets = [source for source, _ in ends], [target for _, target in ends]
    return columns_of(name, source_id=sources, target_id=targets, **columns)


def training_log(n: int, **columns) -> pa.Table:
    """Losses of `n` epochs that fall."""
    epochs = np.arange(1, n + 1)
    names = ("loss", "loss_cl", "loss_rank", "entropy", "learning_rate", "seconds")
    return pa.table({"epoch": epochs, **dict.fromkeys(names, 5 / epochs), **columns})


def communities(sizes: list[int], names: list[str]) -> tuple[pa.Table, pa.Table, pa.Table]:
    """Communities of level 0, each a wheel, their entities, and their relationships.

    The last relationships lead from each community to the next.
    """
    members = [[f"e{c:05d}-{i:05d}" for i in range(size)] for c, size in enumerate(sizes)]
    ids = [entity_id for some in members for entity_id in some]
    pairs = [(some[0], other) for some in members for other in some[1:]]
    pairs += [(a, b) for some in members for a, b in pairwise(some[1:])]
    pairs += [(a[0], b[-1]) for a, b in pairwise(members)]
    degrees = Counter(end for pair in pairs for end in pair)
    name_of = dict(zip(ids, with_names(names, len(ids)), strict=True))
    weights = 1 + np.random.default_rng(0).integers(9, size=len(pairs))
    return (
        columns_of(
            "graphrag.communities",
            level=[0] * len(members),
            number=range(len(members)),
            title=[", ".join(name_of[i] for i in some[:3]) for some in members],
            size=sizes,
            entity_ids=members,
        ),
        columns_of(
            "graphrag.entities",
            entity_id=ids,
            name=name_of.values(),
            degree=[degrees[i] for i in ids],
        ),
        edges_of("graphrag.relationships", pairs, weight=weights),
    )


def concepts(n: int, names: list[str]) -> pa.Table:
    """Nodes of a graph of `jerr`; the first are mentioned most."""
    ids, n_mentions = [f"n{i:05d}" for i in range(n)], range(2 * n, n, -1)
    return columns_of("jerr.nodes", node_id=ids, name=with_names(names, n), n_mentions=n_mentions)


def relations(n: int, n_edges: int, names: list[str]) -> pa.Table:
    """Edges between any of `n` concepts, from one to a later one."""
    ends = np.sort(np.random.default_rng(0).integers(n, size=(4 * n_edges, 2)), axis=1)
    ends = np.unique(ends[ends[:, 0] < ends[:, 1]], axis=0)[:n_edges]
    return _related(ends.tolist(), names)


def chain(n: int) -> pa.Table:
    """Each of `n` concepts leads to the next."""
    return _related(list(pairwise(range(n))), ["leads to"])


def _related(ends: list, names: list[str]) -> pa.Table:
    weights = 1 + np.arange(len(ends)) % 5
    pairs = [(f"n{source:05d}", f"n{target:05d}") for source, target in ends]
    return edges_of("jerr.edges", pairs, relation=with_names(names, len(pairs)), weight=weights)


def passages(documents: list[str], n_each: int = 1) -> pa.Table:
    """Chunks of documents."""
    rows = [(f"c{i:05d}-{n}", d, n) for i, d in enumerate(documents) for n in range(n_each)]
    ids, of, positions = zip(*rows, strict=True) if rows else ((), (), ())
    return columns_of("chunks", chunk_id=ids, document_id=of, position=positions)


def passage_edges(pairs: Ends, level: str, graph: str = "walk") -> pa.Table:
    weights = np.random.default_rng(len(pairs)).random(len(pairs))
    return edge_table(
        {"graph": graph, "level": level, "scope": "corpus", "weight": weight}
        | {"source_id": source, "target_id": target}
        for (source, target), weight in zip(pairs, weights, strict=True)
    )


def groups(ids: list[str], n_groups: int) -> Ends:
    """Each joined to the next three of its group, and one edge from group to group."""
    pairs = []
    for g in range(n_groups):
        mine = ids[g::n_groups]
        pairs += [(a, b) for i, a in enumerate(mine) for b in mine[i + 1 : i + 4]]
        pairs += [(ids[g], ids[(g + 1) % n_groups])] if n_groups > 1 else []
    return pairs
