"""Indexes of other packages: their documents, and their graph located in these texts.

Rows of text units, entities and relationships have the columns of Microsoft's `graphrag`.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, count
from typing import Any

import pyarrow as pa

from gsum_assets.corpus.conversion.formats import tidied
from gsum_assets.corpus.importers.benchmark import Contents, slug
from gsum_assets.corpus.load import Document

_STRING, _INT = pa.string(), pa.int64()
_PASSAGE = pa.struct({"document_id": _STRING, "start": _INT, "end": _INT})
_DESCRIBED = {"description": _STRING, "passages": pa.list_(_PASSAGE)}
_SCHEMAS = {
    "entities": pa.schema({"title": _STRING, "type": _STRING, **_DESCRIBED}),
    "relationships": pa.schema(
        {"source": _STRING, "target": _STRING, "weight": pa.float64(), **_DESCRIBED}
    ),
    "communities": pa.schema(
        {"community": _INT, "parent": _INT, "entities": pa.list_(_STRING), "report": _STRING}
    ),
}

Row = Mapping[str, Any]
Passages = Mapping[str, Sequence[Row]]
"""Document, first character and end of the passages of each text unit."""


def located(
    documents: Sequence[Row],
    units: Sequence[Row],
    entities: Sequence[dict[str, Any]],
    relationships: Sequence[dict[str, Any]],
) -> tuple[Contents, Passages, Mapping[str, str]]:
    """Return the documents, the passages of text units, and the spelling of each entity's title.

    The rows of entities and relationships get `passages`, and names as the documents have them.
    """
    documents_of = _documents(documents)
    contents = Contents(documents=[d for of_id in documents_of.values() for d, _ in of_id])
    copies = len(documents) - len(contents.documents)
    contents.counts["documents have id and text of an earlier one and are imported once"] = copies
    text_of = {document.document_id: document.text for document in contents.documents}
    passages_of = _passages(units, documents_of)
    n_units = len({unit["id"] for unit in units})
    contents.counts[
        f"of {n_units:,} text units are not in their documents' texts; what they alone mention is "
        "searched by name"
    ] = n_units - len(passages_of)
    for row in (*entities, *relationships):
        units_of_row = dict.fromkeys(row["text_unit_ids"])
        row["passages"] = [p for unit in units_of_row for p in passages_of.get(unit, ())]
    spelling = {e["title"]: _spelling(e["title"], e["passages"], text_of) for e in entities}
    for row in (*entities, *relationships):
        row |= {k: spelling.get(row[k], row[k]) for k in ("title", "source", "target") if k in row}
    return contents, passages_of, spelling


def graph_files(rows: Mapping[str, Sequence[Row]]) -> dict[str, pa.Table]:
    """Return the tables of a graph by their files in a corpus folder."""
    return {
        f"graph/{name}.parquet": pa.Table.from_pylist(list(of_table), _SCHEMAS[name])
        for name, of_table in rows.items()
    }


def _documents(rows: Iterable[Row]) -> dict[Any, list[tuple[Document, Row]]]:
    """Return the documents of each `id` with their rows of `title` and `text`, without copies.

    A title is no key, and an id is one only of its source: that of a CSV row may recur in another.
    """
    documents_of: dict[Any, list[tuple[Document, Row]]] = defaultdict(list)
    names: set[str] = set()
    for row in rows:
        text, title = tidied(row["text"] or "").removeprefix("\ufeff"), row["title"] or ""
        if any(document.text == text for document, _ in documents_of[row["id"]]):
            continue
        short_id = str(row["id"]).removeprefix("doc-")[:8]
        name = slug(re.sub(r"\.(txt|csv|json|md)$", "", title)) or short_id
        numbered = (f"{name}-{short_id}-{n}" for n in count(2))
        name = next(n for n in chain([name, f"{name}-{short_id}"], numbered) if n not in names)
        names.add(name)
        documents_of[row["id"]].append((Document(name, title, text), row))
    return documents_of


def _passages(
    units: Iterable[Row], documents_of: Mapping[Any, Sequence[tuple[Document, Row]]]
) -> dict[str, list[Row]]:
    """Return the passages of each text unit that its document holds.

    Units of equal text may share an id, also in different documents.
    """
    passages: dict[str, dict[tuple[str, int], Row]] = defaultdict(dict)
    after: dict[str, int] = defaultdict(int)  # position up to which units of a document are found
    for unit in sorted(units, key=lambda unit: unit["human_readable_id"]):
        for document, row in documents_of.get(unit["document_id"], ()):
            own, text = document.document_id, document.text
            for words in _wordings(tidied(unit["text"]).removeprefix("\ufeff"), row):
                start = text.find(words, after[own])
                start = text.find(words) if start < 0 else start
                if words and start >= 0:
                    after[own], end = start + 1, start + len(words)
                    passage = {"document_id": own, "start": start, "end": end}
                    passages[unit["id"]].setdefault((own, start), passage)
                    break
    return {unit: list(of_unit.values()) for unit, of_unit in passages.items()}


def _wordings(text: str, document: Row) -> Iterator[str]:
    """Yield a text unit as it is, without prepended metadata, and without cut characters."""
    yield text
    metadata = {**(document.get("raw_data") or {}), **document}
    lines = [tidied(f"{field}: {value}.\n") for field, value in metadata.items()]
    while line := next((line for line in lines if text.startswith(line)), None):
        text = text.removeprefix(line)
    yield text
    yield text.strip("\ufffd")


def _spelling(title: str, passages: Iterable[Row], text_of: Mapping[str, str]) -> str:
    """Return a name as the first passage has it that contains it, preferably not in capitals."""
    pattern = re.compile(rf"(?<!\w){re.escape(title)}(?!\w)", re.IGNORECASE)
    for passage in passages:
        text = text_of[passage["document_id"]][passage["start"] : passage["end"]]
        if spellings := pattern.findall(text):
            return next((s for s in spellings if not s.isupper()), spellings[0])
    return title
