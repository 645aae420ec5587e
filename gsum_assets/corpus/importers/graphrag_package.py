"""An index of Microsoft's `graphrag` package (3.x) as a corpus with its graph and reports.

Names of entities are written as the documents have them, since the package stores capitals. Rows
are located by the places of their text units in the documents, and findings by the records that
their reports cite, as "[Data: Entities (5, 7); Relationships (23)]".
"""

import json
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from gsum_assets.corpus.importers.benchmark import Benchmark, Contents, slug
from gsum_assets.corpus.importers.source import missing
from gsum_assets.corpus.load import Document

_TABLES = (
    *("documents", "text_units", "entities", "relationships"),
    *("communities", "community_reports"),
)
_CITED = re.compile(r"\s*\[Data:([^\]]*)\]")
_DATASET = re.compile(r"(\w+)\s*\(([^)]*)\)")

_PASSAGE = pa.struct([("document_id", pa.string()), ("start", pa.int64()), ("end", pa.int64())])


def read_graphrag(source: Path) -> Contents:
    """Read the Parquet files of an index, from its folder `output` or the one with that folder.

    Raises
    ------
    CorpusError
        If a file is missing.
    """
    folder = source / "output" if (source / "output").is_dir() else source
    rows: dict[str, list[dict[str, Any]]] = {}
    for name in _TABLES:
        if not (folder / f"{name}.parquet").is_file():
            raise missing(folder, f"{name}.parquet")
        rows[name] = pq.read_table(folder / f"{name}.parquet").to_pylist()
    contents = Contents(documents=_documents(rows["documents"]))
    text_of = {document.document_id: document.text for document in contents.documents}
    id_of = dict(zip((row["id"] for row in rows["documents"]), text_of, strict=True))
    place_of = _places(rows["text_units"], id_of, text_of)
    spelling = {
        row["id"]: _spelling(row["title"], row["text_unit_ids"], place_of, text_of)
        for row in rows["entities"]
    }
    spelling_of_title = {row["title"]: spelling[row["id"]] for row in rows["entities"]}
    entities = [
        {
            "title": spelling[row["id"]],
            "type": row["type"],
            "description": row["description"],
            "passages": [place_of[i] for i in row["text_unit_ids"] if i in place_of],
        }
        for row in rows["entities"]
    ]
    relationships = [
        {
            **{end: spelling_of_title.get(row[end], row[end]) for end in ("source", "target")},
            "description": row["description"],
            "weight": row["weight"],
            "passages": [place_of[i] for i in row["text_unit_ids"] if i in place_of],
        }
        for row in rows["relationships"]
    ]
    texts = ("title", "type", "description")
    contents.tables = {
        "graph/entities.parquet": _table(entities, texts),
        "graph/relationships.parquet": _table(
            relationships, ("source", "target", "description"), weight=pa.float64()
        ),
        "graph/communities.parquet": _communities(rows, spelling, spelling_of_title),
    }
    unplaced = len(rows["text_units"]) - len(place_of)
    if unplaced:
        contents.notes.append(
            f"{unplaced:,} of {len(rows['text_units']):,} text units are not in their documents' "
            "texts; what they alone mention is searched by name"
        )
    return contents


def _documents(rows: Iterable[Mapping[str, Any]]) -> list[Document]:
    """Return the documents, whose ids are the names of their files."""
    documents: dict[str, Document] = {}
    for row in rows:
        name = slug(re.sub(r"\.(txt|csv|json|md)$", "", row["title"] or "")) or row["id"][:16]
        document_id = f"{name}-{row['id'][:8]}" if name in documents else name
        documents[document_id] = Document(document_id, row["title"] or "", row["text"])
    return list(documents.values())


def _places(
    units: Iterable[Mapping[str, Any]], id_of: Mapping[str, str], text_of: Mapping[str, str]
) -> dict[str, dict[str, Any]]:
    """Return document, first character and end of each text unit that its document contains."""
    by_document: dict[str, list[Mapping[str, Any]]] = defaultdict(list)
    for unit in sorted(units, key=lambda unit: unit["human_readable_id"]):
        by_document[id_of[unit["document_id"]]].append(unit)
    places = {}
    for document_id, own in by_document.items():
        after = 0
        for unit in own:
            start = text_of[document_id].find(unit["text"], after)
            start = text_of[document_id].find(unit["text"]) if start < 0 else start
            if start >= 0:
                after, end = start + 1, start + len(unit["text"])
                places[unit["id"]] = {"document_id": document_id, "start": start, "end": end}
    return places


def _spelling(
    title: str,
    unit_ids: Sequence[str],
    place_of: Mapping[str, Mapping[str, Any]],
    text_of: Mapping[str, str],
) -> str:
    """Return a name as the first text unit has it that contains it, preferably not in capitals."""
    pattern = re.compile(rf"(?<!\w){re.escape(title)}(?!\w)", re.IGNORECASE)
    for place in (place_of[i] for i in unit_ids if i in place_of):
        text = text_of[place["document_id"]][place["start"] : place["end"]]
        if spellings := pattern.findall(text):
            return next((s for s in spellings if not s.isupper()), spellings[0])
    return title


def _communities(
    rows: Mapping[str, Sequence[Mapping[str, Any]]],
    spelling: Mapping[str, str],
    spelling_of_title: Mapping[str, str],
) -> pa.Table:
    """Return communities with names of their entities, and their reports as JSON."""
    entity_of = {row["human_readable_id"]: spelling[row["id"]] for row in rows["entities"]}
    ends_of = {
        row["human_readable_id"]: [
            spelling_of_title.get(row[end], row[end]) for end in ("source", "target")
        ]
        for row in rows["relationships"]
    }

    def cited(text: str) -> list[str]:
        names: dict[str, None] = {}
        for dataset, listed in _DATASET.findall(" ".join(_CITED.findall(text))):
            for number in map(int, re.findall(r"\d+", listed)):
                if dataset.lower() == "entities":
                    names |= dict.fromkeys([entity_of[number]] if number in entity_of else [])
                elif dataset.lower() == "relationships":
                    names |= dict.fromkeys(ends_of.get(number, ()))
        return list(names)

    report_of = {
        row["community"]: json.dumps(
            {
                "title": row["title"],
                "summary": _CITED.sub("", row["summary"]),
                "rating": row["rank"] or 0.0,
                "rating_explanation": row["rating_explanation"],
                "findings": [
                    {
                        "summary": _CITED.sub("", finding["summary"]),
                        "explanation": _CITED.sub("", finding["explanation"]),
                        "entities": cited(f"{finding['summary']} {finding['explanation']}"),
                    }
                    for finding in row["findings"] or ()
                ],
            },
            ensure_ascii=False,
        )
        for row in rows["community_reports"]
    }
    columns = {
        "community": pa.array([row["community"] for row in rows["communities"]], pa.int64()),
        "parent": pa.array([row["parent"] for row in rows["communities"]], pa.int64()),
        "entities": pa.array(
            [[spelling[i] for i in row["entity_ids"]] for row in rows["communities"]],
            pa.list_(pa.string()),
        ),
        "report": pa.array(
            [report_of.get(row["community"]) for row in rows["communities"]], pa.string()
        ),
    }
    return pa.table(columns)


def _table(rows: Sequence[dict], texts: Sequence[str], **others: pa.DataType) -> pa.Table:
    fields = [*((name, pa.string()) for name in texts), *others.items()]
    return pa.Table.from_pylist(list(rows), pa.schema([*fields, ("passages", pa.list_(_PASSAGE))]))


GRAPHRAG = Benchmark(
    "Index of the graphrag package",
    "other",
    "the folder of an index of the package graphrag 3.x, with output/*.parquet",
    read_graphrag,
    "\n[graphrag.merging]\naliases = false  # entities stay those of the index\n",
)
