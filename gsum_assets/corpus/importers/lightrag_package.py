"""A working directory of the package `lightrag-hku` (1.5.x) as a corpus with its graph.

It keys documents by the hash of the file's name without folders, so that of two files of a name
only the first was read. The graph lists up to 200 chunks of a row, `*_chunks.json` all of them.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from gsum_assets.corpus.importers.benchmark import Benchmark, Contents
from gsum_assets.corpus.importers.index_graph import Row, graph_files, located
from gsum_assets.corpus.importers.source import missing, read_json

_GRAPH = "graph_chunk_entity_relation.graphml"
_SEPARATOR = "<SEP>"
_ELSEWHERE = "{{LRdoc}}"  # begins the summary of a document whose text is in another file
_UNNAMED = "unknown_source"


def _read_lightrag(source: Path) -> Contents:
    """Read the JSON and GraphML files of a working directory, or of its only workspace."""
    import networkx as nx

    folders = [source, *sorted(file.parent for file in source.glob(f"*/{_GRAPH}"))]
    folders = [folder for folder in folders if (folder / _GRAPH).is_file()]
    if len(folders) != 1:
        found = "; name one workspace" if folders else ""
        raise missing(source, f"{_GRAPH} and kv_store_*.json{found}")
    (folder,) = folders
    stored, chunks = _store(folder, "full_docs"), _store(folder, "text_chunks")
    units = [
        {"id": i, "text": chunk["content"], "document_id": chunk["full_doc_id"]}
        | {"human_readable_id": chunk["chunk_order_index"], "title": chunk.get("file_path")}
        for i, chunk in chunks.items()
    ]
    units.sort(key=lambda unit: unit["human_readable_id"])
    graph = nx.read_graphml(folder / _GRAPH)
    chunks_of = _store(folder, "entity_chunks") | _store(folder, "relation_chunks")
    entities = [
        {"title": name, "type": row.get("entity_type", ""), **_described(row, chunks_of.get(name))}
        for name, row in graph.nodes(data=True)
    ]
    relationships = [
        {"source": source, "target": target, "weight": float(row.get("weight", 1.0))}
        | _described(row, chunks_of.get(_SEPARATOR.join(sorted((source, target)))))
        for source, target, row in graph.edges(data=True)
    ]
    contents, *_ = located(_documents(stored, units), units, entities, relationships)
    contents.tables = graph_files({"entities": entities, "relationships": relationships})
    contents.counts[
        "files were not read by LightRAG, which had one of that name; add them to this corpus"
    ] = sum(i.startswith("dup-") for i in _store(folder, "doc_status"))
    return contents


def _documents(stored: Mapping[str, Row], units: Sequence[Row]) -> list[Row]:
    """Return the documents; a text that LightRAG holds elsewhere is that of its chunks."""
    texts = {i: row["content"] for i, row in stored.items()}
    titles = {i: row.get("file_path") for i, row in stored.items()}
    parts: dict[str, list[str]] = {}
    for unit in units:
        parts.setdefault(unit["document_id"], []).append(unit["text"])
        titles.setdefault(unit["document_id"], unit["title"])
    for i, of_document in parts.items():
        if texts.get(i, _ELSEWHERE).startswith(_ELSEWHERE):
            texts[i] = "\n\n".join(of_document)
    return [
        {"id": i, "text": text, "title": "" if titles[i] == _UNNAMED else titles[i]}
        for i, text in texts.items()
    ]


def _described(row: Row, chunks: Row | None) -> dict[str, Any]:
    ids = chunks["chunk_ids"] if chunks else row.get("source_id", "").split(_SEPARATOR)
    description = row.get("description", "").replace(_SEPARATOR, "\n")
    return {"description": description, "text_unit_ids": ids}


def _store(folder: Path, name: str) -> dict[str, Any]:
    """Return a key-value store, which is empty before its first row is written."""
    file = folder / f"kv_store_{name}.json"
    return read_json(file) if file.is_file() else {}


BENCHMARKS = {
    "lightrag": Benchmark(
        "Index of LightRAG",
        "other",
        "the working directory of lightrag-hku 1.5.x with its files of JSON and GraphML",
        _read_lightrag,
        "\n[graphrag.merging]\naliases = false  # entities stay those of the index\n",
    )
}
