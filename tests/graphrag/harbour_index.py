"""The harbour's graph as answers read it: findings with support, and vectors on the axes."""

from dataclasses import fields, replace

import numpy as np
import pyarrow as pa

from gsum_assets.graphrag.index_tables import Index
from gsum_assets.pipeline.tables import TABLES
from gsum_assets.retrieval.collection import Collection
from tests.graphrag.harbour import (
    ANN,
    BOAT,
    CHUNKS,
    COMMUNITIES,
    DOCUMENTS,
    ENTITIES,
    LAMP,
    LIN,
    RELATIONSHIPS,
    REPORTS,
    Rows,
    table_of_rows,
)

# community, position, chunks and documents
SUPPORT = (
    ("k0", 0, ["c0"], ["d0"]),
    ("k0", 1, ["c2"], ["d1"]),
    ("k1", 0, ["c2"], ["d1"]),
    ("k2", 0, ["c0", "c1"], ["d0"]),
)
FINDINGS: Rows = [
    {"community_id": community, "position": position}
    | {"summary": f"Finding {position} of {community}."}
    | {"explanation": f"Why, in {', '.join(documents)}.", "chunk_ids": chunks}
    | {"document_ids": documents}
    for community, position, chunks, documents in SUPPORT
]
VECTORS = {
    ("entity", LIN): [1, 0, 0],
    ("entity", BOAT): [0.6, 0.8, 0],
    ("entity", LAMP): [0, 1, 0],
    ("entity", ANN): [0, 0, 1],
    ("report", "k0"): [0.6, 0.8, 0],
    ("report", "k1"): [0, 0, 1],
    ("report", "k2"): [1, 0, 0],
}
INDEX = Index(
    *(
        table_of_rows(TABLES[f"graphrag.{name}"], rows)
        for name, rows in {
            "entities": ENTITIES,
            "relationships": RELATIONSHIPS,
            "communities": COMMUNITIES,
            "community_reports": REPORTS,
            "findings": FINDINGS,
            "embeddings": [
                {"kind": kind, "item_id": item, "embedding": vector}
                for (kind, item), vector in VECTORS.items()
            ],
        }.items()
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
