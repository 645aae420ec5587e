"""An index of two small documents, written by hand: who broke the lamp of the tower.

Document a, in two line chunks: the keeper lights the lamp, the storm breaks the lamp. Document b,
in one: the storm sinks the ferry.
"""

from collections.abc import Mapping

import pyarrow as pa

from gsum_assets.pipeline.tables import TABLES
from gsum_assets.retrieval.words import Words

WORDS = Words()
TEXTS = {
    "a1": "Ada, the keeper, lights the lamp of the tower.",
    "a2": "At night the storm breaks the glass of the lamp.",
    "b1": "The storm, the same storm, sinks the ferry off the pier.",
}
TOLD = {  # document, position, synopsis, facts
    "a1": ("a", 0, "Ada the keeper lights the lamp of the tower.", ["Ada lights the lamp."]),
    "a2": ("a", 1, "At night a storm breaks the glass.", ["The storm breaks the lamp's glass."]),
    "b1": ("b", 0, "The same storm sinks the ferry off the pier.", ["The storm sinks the ferry."]),
}
NODES = {  # name, line chunks, facts
    "n-ada": ("Ada", ["a1"], ["Ada lights the lamp."]),
    "n-ferry": ("ferry", ["b1"], ["The storm sinks the ferry."]),
    "n-lamp": (
        "lamp",
        ["a1", "a2"],
        ["Ada lights the lamp.", "The storm breaks the lamp's glass."],
    ),
    "n-storm": (
        "storm",
        ["a2", "b1"],
        ["The storm breaks the lamp's glass.", "The storm sinks the ferry."],
    ),
}
RELATED = [  # source, relation, target, line chunks
    ("n-ada", "lights", "n-lamp", ["a1"]),
    ("n-storm", "breaks", "n-lamp", ["a2"]),
    ("n-storm", "sinks", "n-ferry", ["b1"]),
]


def rows_of(table: str, rows: list[Mapping]) -> pa.Table:
    """Rows of a table of the index."""
    said = [{"model": "scripted", **row} for row in rows]
    return pa.Table.from_pylist(said, TABLES[f"jerr.{table}"].schema)


def documents_of(chunk_ids: list[str]) -> list[str]:
    return sorted({TOLD[chunk_id][0] for chunk_id in chunk_ids})


LINE_CHUNKS = rows_of(
    "line_chunks",
    [
        {"chunk_id": chunk_id, "document_id": document_id, "position": position, "start": 0}
        | {"end": len(TEXTS[chunk_id]), "n_tokens": 12, "text": TEXTS[chunk_id]}
        for chunk_id, (document_id, position, *_) in TOLD.items()
    ],
)
SYNOPSES = rows_of(
    "synopses",
    [
        {"chunk_id": chunk_id, "document_id": document_id, "position": position}
        | {"synopsis": synopsis}
        for chunk_id, (document_id, position, synopsis, _) in TOLD.items()
    ],
)
FACTS = rows_of(
    "atomic_facts",
    [
        {"chunk_id": chunk_id, "document_id": document_id, "position": i, "statement": fact}
        for chunk_id, (document_id, _, _, facts) in TOLD.items()
        for i, fact in enumerate(facts)
    ],
)
NODE_ROWS = rows_of(
    "nodes",
    [
        {"node_id": node_id, "name": name, "place": index, "n_mentions": len(chunk_ids)}
        | {"facts": facts, "chunk_ids": chunk_ids, "document_ids": documents_of(chunk_ids)}
        for index, (node_id, (name, chunk_ids, facts)) in enumerate(NODES.items())
    ],
)
EDGES = rows_of(
    "edges",
    [
        {"source_id": source, "target_id": target, "relation": relation}
        | {"relations": [relation], "weight": len(chunk_ids), "chunk_ids": chunk_ids}
        | {"document_ids": documents_of(chunk_ids)}
        for source, relation, target, chunk_ids in RELATED
    ],
)
