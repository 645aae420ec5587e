"""A small graph, written by hand into the tables that graphrag fills.

Two documents of three chunks; Lin (also "Dr Lin"), the Boat and the Lamp are related, Ann stands
alone. Community 0 of three parts into 2 (Lin, Boat) and 3 (Lamp); 1 is Ann. Claims of chunk c1.
"""

from dataclasses import fields, replace
from typing import Any

import numpy as np
import pyarrow as pa

from gsum_assets.graphrag.rank import Index
from gsum_assets.pipeline.tables import TABLES
from gsum_assets.retrieval.collection import Collection
from gsum_resources.store.parquet_store import ParquetStore, Partition, Provenance
from gsum_resources.store.table import Table

Rows = list[dict[str, Any]]
CORPUS = "harbour"

LIN, BOAT, LAMP, ANN = "e-lin", "e-boat", "e-lamp", "e-ann"

ENTITIES: Rows = [
    {"entity_id": key, "name": name, "name_key": name.lower(), "type": kind}
    | {"description": f"About {name}.", "n_mentions": len(chunks), "degree": degree}
    | {"chunk_ids": chunks, "document_ids": documents}
    for key, name, kind, degree, chunks, documents in (
        (LIN, "Lin", "person", 1, ["c0", "c1"], ["d0"]),
        (BOAT, "Boat", "thing", 2, ["c0", "c2"], ["d0", "d1"]),
        (LAMP, "Lamp", "thing", 1, ["c2"], ["d1"]),
        (ANN, "Ann", "", 0, ["c2"], ["d1"]),
    )
]
RELATIONSHIPS: Rows = [
    {"relationship_id": key, "source_id": source, "target_id": target}
    | {"description": "One has the other.", "weight": weight, "strength": 5.0}
    | {"combined_degree": 3, "chunk_ids": chunks, "document_ids": documents}
    for key, source, target, weight, chunks, documents in (
        ("r-0", LIN, BOAT, 2.0, ["c0"], ["d0"]),
        ("r-1", BOAT, LAMP, 1.0, ["c2"], ["d1"]),
    )
]
COMMUNITIES: Rows = [
    {"community_id": f"k{number}", "level": level, "number": number, "parent_id": parent}
    | {"child_ids": children, "title": title, "size": len(entities), "entity_ids": entities}
    | {"relationship_ids": relationships, "chunk_ids": chunks}
    for number, level, parent, children, title, entities, relationships, chunks in (
        (0, 0, None, ["k2", "k3"], "Boat, Lin", [BOAT, LIN, LAMP], ["r-0", "r-1"], ["c0", "c2"]),
        (1, 0, None, [], "Ann", [ANN], [], ["c2"]),
        (2, 1, "k0", [], "Boat, Lin", [BOAT, LIN], ["r-0"], ["c0", "c1", "c2"]),
        (3, 1, "k0", [], "Lamp", [LAMP], [], ["c2"]),
    )
]
REPORTS: Rows = [
    {"community_id": f"k{number}", "level": level, "title": f"Report {number}"}
    | {"summary": "In short.", "rating": rating, "rating_explanation": "It matters so much."}
    | {"text": f"# Report {number}", "n_findings": findings}
    for number, level, rating, findings in ((0, 0, 8.0, 2), (1, 0, 2.5, 0), (2, 1, 7.0, 0))
]
FINDINGS: Rows = [
    {"community_id": "k0", "position": position, "summary": f"s{position}"}
    | {"explanation": f"x{position}"}
    for position in (0, 1)
]
ALIASES: Rows = [
    {"name_key": key, "name": key.title(), "entity_id": entity}
    for key, entity in (("lin", LIN), ("dr lin", LIN), ("boat", BOAT))
]
CLAIMS: Rows = [
    {"chunk_id": "c1", "document_id": "d0", "position": 0, "subject_key": "dr lin"}
    | {"object_key": "boat", "type": "ownership", "status": "true"}
    | {"description": "Lin owns the boat.", "start_date": "1999", "quote": "my boat"},
    {"chunk_id": "c1", "document_id": "d0", "position": 1, "subject_key": "a stranger"},
]
CHUNKS: Rows = [
    {"chunk_id": c, "document_id": d, "position": p, "n_tokens": 7, "text": f"Text of {c}."}
    for c, d, p in (("c0", "d0", 0), ("c1", "d0", 1), ("c2", "d1", 0))
]
DOCUMENTS: Rows = [
    {"document_id": d, "title": d.upper(), "text": f"Text of {d}."} for d in ("d0", "d1")
]
TABLE_ROWS: dict[str, Rows] = {
    **{"documents": DOCUMENTS, "chunks": CHUNKS},
    **{"graphrag.claims": CLAIMS, "graphrag.aliases": ALIASES, "graphrag.entities": ENTITIES},
    **{"graphrag.relationships": RELATIONSHIPS, "graphrag.communities": COMMUNITIES},
    **{"graphrag.community_reports": REPORTS, "graphrag.findings": FINDINGS},
}


def table_of_rows(table: Table, rows: Rows) -> pa.Table:
    """The rows, with nothing (null, "", 0, []) in the columns that they leave out."""

    def blank(kind: pa.DataType) -> Any:
        empty = False if pa.types.is_boolean(kind) else 0
        return [] if pa.types.is_list(kind) else "" if kind == pa.string() else empty

    blanks = {c.name: None if c.nullable else blank(c.type) for c in table.columns}
    return pa.Table.from_pylist([blanks | row for row in rows], schema=table.schema)


def write_rows(store: ParquetStore, name: str, rows: Rows, corpus: str = CORPUS) -> None:
    """Replace what a table has of a corpus."""
    table = TABLES[name]
    here = Partition(corpus, "00" if "bucket" in table.dimensions else None)
    store.write(table, here, table_of_rows(table, rows), Provenance("", "1"))


def write_graph(store: ParquetStore, corpus: str = CORPUS, reverse: bool = False) -> None:
    """Write all of the graph, the rows of each table in either order."""
    for name, rows in TABLE_ROWS.items():
        write_rows(store, name, rows[::-1] if reverse else rows, corpus)


# The graph as answers read it: findings with support, and vectors on the axes.

# community, position, chunks and documents
SUPPORT = (
    ("k0", 0, ["c0"], ["d0"]),
    ("k0", 1, ["c2"], ["d1"]),
    ("k1", 0, ["c2"], ["d1"]),
    ("k2", 0, ["c0", "c1"], ["d0"]),
)
SUPPORTED: Rows = [
    {"community_id": community, "position": position}
    | {"summary": f"Finding {position} of {community}."}
    | {"explanation": f"Why, in {', '.join(documents)}.", "chunk_ids": chunks}
    | {"document_ids": documents}
    for community, position, chunks, documents in SUPPORT
]
AXES = {"x": [1, 0, 0], "y": [0, 1, 0], "z": [0, 0, 1], "xy": [0.6, 0.8, 0]}
VECTORS: Rows = [
    {"kind": kind, "item_id": item, "embedding": AXES[axis]}
    for kind, items in (
        ("entity", {LIN: "x", BOAT: "xy", LAMP: "y", ANN: "z"}),
        ("report", {"k0": "xy", "k1": "z", "k2": "x"}),
    )
    for item, axis in items.items()
]
INDEX_ROWS = (ENTITIES, RELATIONSHIPS, COMMUNITIES, REPORTS, SUPPORTED, VECTORS)
INDEX = Index(
    *(
        table_of_rows(TABLES[f"graphrag.{field.name}"], rows)
        for field, rows in zip(fields(Index), INDEX_ROWS, strict=True)
    )
)
EMPTY = Index(*(TABLES[f"graphrag.{field.name}"].empty() for field in fields(Index)))
CHUNK_TABLE = table_of_rows(TABLES["chunks"], CHUNKS)


def collection() -> Collection:
    """The three chunks, their vectors on the axes."""
    bare = Collection.from_tables(table_of_rows(TABLES["documents"], DOCUMENTS), CHUNK_TABLE)
    return replace(bare, embeddings=np.eye(3, dtype=np.float32))


def rankings(best: dict[str, list[str]]) -> pa.Table:
    """Rows of `rankings`: chunks of each question, best first, and a document."""
    rows = [
        {"query_id": q, "level": level, "rank": rank, "item_id": item, "score": 1 / rank}
        for q, chunks in best.items()
        for level, items in (("document", ["d0"]), ("node", chunks))
        for rank, item in enumerate(items, start=1)
    ]
    return table_of_rows(TABLES["rankings"], rows)
