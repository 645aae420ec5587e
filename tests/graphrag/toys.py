"""Small tables of a graph, and how long a prompt really is."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa

from gsum_assets.corpus.chunk import n_word_pieces
from gsum_assets.pipeline.result import Result
from gsum_assets.pipeline.tables import TABLES
from gsum_resources.llm.directions import schema_in_full
from gsum_resources.protocols.models import Request
from tests.graphrag.harbour import Rows, table_of_rows


def prompt_length(request: Request) -> int:
    """Word pieces of all that a model is shown for a request."""
    schema = schema_in_full(request.schema) if request.schema else ""
    return n_word_pieces([f"{request.instructions}\n\n{schema}\n\n{request.render()}"])[0]


def tables_of(extracted: Result) -> Mapping[str, pa.Table]:
    """The four tables of an extraction by name."""
    return {"extractions": extracted.rows, **extracted.beside}


@dataclass(frozen=True)
class Graph:
    """Rows of entities and relationships, and the chunks that mention them."""

    entities: pa.Table
    relationships: pa.Table
    chunks: pa.Table


def graph(
    edges: Iterable[tuple[str, str]],
    alone: Sequence[str] = (),
    descriptions: Mapping[str, str] | None = None,
    documents: Mapping[str, str] | None = None,
) -> Graph:
    """Entities named by their ids; each has a chunk of its own, and so has each relationship.

    Parameters
    ----------
    alone : entities without a relationship.
    descriptions, documents : of an entity; "About …." and "d0" by default.
    """
    descriptions, documents = descriptions or {}, documents or {}
    edges = sorted({(min(edge), max(edge)) for edge in edges})
    names = sorted({end for edge in edges for end in edge} | set(alone))
    degree = Counter(end for edge in edges for end in edge)
    chunks_of = {name: [f"c-{name}"] for name in names}
    for a, b in edges:
        chunks_of[a].append(f"c-{a}-{b}")
        chunks_of[b].append(f"c-{a}-{b}")

    def document_of(chunk_id: str) -> str:
        return documents.get(chunk_id.split("-")[1], "d0")

    def where(chunk_ids: list[str]) -> dict:
        ids = {document_of(c) for c in chunk_ids}
        return {"chunk_ids": sorted(chunk_ids), "document_ids": sorted(ids)}

    entities: Rows = [
        {"entity_id": name, "name": name, "name_key": name.casefold(), "type": "thing"}
        | {"description": descriptions.get(name, f"About {name}."), "degree": degree[name]}
        | where(chunks_of[name])
        for name in names
    ]
    relationships: Rows = [
        {"relationship_id": f"r-{a}-{b}", "source_id": a, "target_id": b, "weight": 1.0}
        | {"description": f"{a} knows {b}."}
        | where([f"c-{a}-{b}"])
        for a, b in edges
    ]
    chunk_ids = sorted({c for chunks in chunks_of.values() for c in chunks})
    chunks: Rows = [
        {"chunk_id": c, "document_id": document_of(c), "position": i, "text": f"Text of {c}."}
        for i, c in enumerate(chunk_ids)
    ]
    return Graph(
        table_of_rows(TABLES["graphrag.entities"], entities),
        table_of_rows(TABLES["graphrag.relationships"], relationships),
        table_of_rows(TABLES["chunks"], chunks),
    )


def mapped(rows: pa.Table, key: str, value: str) -> dict:
    """One column by another."""
    return dict(zip(rows[key].to_pylist(), rows[value].to_pylist(), strict=True))


def clique(prefix: str, size: int) -> list[tuple[str, str]]:
    """All pairs of entities prefix0, prefix1, …"""
    return [(f"{prefix}{i}", f"{prefix}{j}") for i in range(size) for j in range(i)]
