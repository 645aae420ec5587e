"""Edges between phrases and passages (paper, 3.2)."""

from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from gsum_assets.graphs.nearest import nearest
from gsum_assets.multi_hop.graph import entity_mentions
from gsum_assets.pipeline.tables import TABLES
from gsum_resources.protocols.models import Embedder

SYNONYM = 0.8
"""Cosine of two phrases above which they are joined (3.2)."""

_MOST_SYNONYMS = 100  # nearest phrases that one is compared with (ours)
_Edge = tuple[str, str, str, float]


def edge_rows(
    chunks: pa.Table,
    aliases: pa.Table,
    entities: pa.Table,
    relationships: pa.Table,
    embedder: Embedder,
) -> pa.Table:
    """Return the rows of `hippo_rag.edges`, by kind and ends."""
    mentions = entity_mentions(chunks, aliases)
    contexts = zip(mentions["chunk_id"].to_pylist(), mentions["entity_id"].to_pylist(), strict=True)
    columns = (relationships[name].to_pylist() for name in ("source_id", "target_id", "weight"))
    edges: list[_Edge] = [("context", *pair, 1.0) for pair in set(contexts)]
    edges += [("relation", *row) for row in zip(*columns, strict=True)]
    edges += synonyms(entities.sort_by("entity_id"), embedder)
    schema = TABLES["hippo_rag.edges"].schema
    rows = [dict(zip(schema.names, edge, strict=True)) for edge in sorted(edges)]
    return pa.Table.from_pylist(rows, schema)


def synonyms(entities: pa.Table, embedder: Embedder) -> Iterator[_Edge]:
    """Yield an edge for each pair of entities whose names are alike, the smaller id first."""
    ids = entities["entity_id"].to_pylist()
    if len(ids) < 2:
        return
    vectors = embedder.embed(entities["name"].to_pylist())
    found, _ = nearest(vectors, np.arange(len(ids) + 1), _MOST_SYNONYMS)
    pairs = {
        tuple(sorted((ids[row], ids[index]))): float(cosine)
        for row, (indices, cosines) in enumerate(
            zip(found.indices.tolist(), found.similarities.tolist(), strict=True)
        )
        for index, cosine in zip(indices, cosines, strict=True)
        if cosine > SYNONYM
    }
    for (first, second), cosine in pairs.items():
        yield "synonym", first, second, cosine
