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


def _read_graphrag(source: Path) -> Contents:
    """Read the Parquet files of an index, from its folder `output` or the one with that folder."""
    folder = source / "output" if (source / "output").is_dir() else source
    rows: dict[str, list[dict[str, Any]]] = {}
    for name in _TABLES:
        if not (folder / f"{name}.parquet").is_file():
            raise missing(folder, f"{name}.parquet")
        rows[name] = pq.read_table(folder / f"{name}.parquet").to_pylist()
    contents = Contents(documents=_documents(rows["documents"]))
    text_of = {document.document_id: document.text for document in contents.documents}
    id_of = dict(zip((row["id"] for row in rows["documents"]), text_of, strict=True))
    passage_of = _passages(rows["text_units"], id_of, text_of)
    if unplaced := len(rows["text_units"]) - len(passage_of):
        contents.notes.append(
            f"{unplaced:,} of {len(rows['text_units']):,} text units are not in their documents' "
            "texts; what they alone mention is searched by name"
        )
    title_of = {row["id"]: row["title"] for row in rows["entities"]}
    passages_of = {
        row["id"]: [passage_of[i] for i in row["text_unit_ids"] if i in passage_of]
        for row in (*rows["entities"], *rows["relationships"])
    }
    spelling = {title: _spelling(title, passages_of[i], text_of) for i, title in title_of.items()}
    for row in (*rows["entities"], *rows["relationships"]):
        row["passages"] = passages_of[row["id"]]
        row |= {k: spelling.get(row[k], row[k]) for k in ("title", "source", "target") if k in row}
    names_of = {
        (kind, row["human_readable_id"]): [row[key] for key in keys]
        for kind, keys in (("entities", ["title"]), ("relationships", ["source", "target"]))
        for row in rows[kind]
    }
    reports = {row["community"]: _report(row, names_of) for row in rows["community_reports"]}
    for row in rows["communities"]:
        row["entities"] = [spelling[title_of[i]] for i in row["entity_ids"]]
        row["report"] = reports.get(row["community"])
    contents.tables = {
        f"graph/{name}.parquet": pa.Table.from_pylist(rows[name], schema)
        for name, schema in _SCHEMAS.items()
    }
    return contents


def _documents(rows: Iterable[Row]) -> list[Document]:
    """Return the documents, whose ids are the names of their files."""
    documents: dict[str, Document] = {}
    for row in rows:
        name = slug(re.sub(r"\.(txt|csv|json|md)$", "", row["title"] or "")) or row["id"][:16]
        document_id = f"{name}-{row['id'][:8]}" if name in documents else name
        documents[document_id] = Document(document_id, row["title"] or "", row["text"])
    return list(documents.values())


def _passages(
    units: Iterable[Row], id_of: Mapping[str, str], text_of: Mapping[str, str]
) -> dict[str, dict[str, Any]]:
    """Return document, first character and end of each text unit that its document contains."""
    passages = {}
    after: dict[str, int] = defaultdict(int)  # position up to which units of a document are found
    for unit in sorted(units, key=lambda unit: unit["human_readable_id"]):
        document_id, words = id_of[unit["document_id"]], unit["text"]
        start = text_of[document_id].find(words, after[document_id])
        start = text_of[document_id].find(words) if start < 0 else start
        if start >= 0:
            after[document_id], end = start + 1, start + len(words)
            passages[unit["id"]] = {"document_id": document_id, "start": start, "end": end}
    return passages


def _spelling(title: str, passages: Iterable[Row], text_of: Mapping[str, str]) -> str:
    """Return a name as the first passage has it that contains it, preferably not in capitals."""
    pattern = re.compile(rf"(?<!\w){re.escape(title)}(?!\w)", re.IGNORECASE)
    for passage in passages:
        text = text_of[passage["document_id"]][passage["start"] : passage["end"]]
        if spellings := pattern.findall(text):
            return next((s for s in spellings if not s.isupper()), spellings[0])
    return title


def _report(row: Row, names_of: Mapping[tuple[str, int], Sequence[str]]) -> str:
    """Return a report as JSON, whose findings name the entities of the records that they cite."""
    findings = []
    for finding in row["findings"] or ():
        names = [
            name
            for cited in _CITED.findall(f"{finding['summary']} {finding['explanation']}")
            for kind, numbers in _DATASET.findall(cited)
            for number in re.findall(r"\d+", numbers)
            for name in names_of.get((kind.lower(), int(number)), ())
        ]
        texts = {key: _CITED.sub("", finding[key]) for key in ("summary", "explanation")}
        findings.append(texts | {"entities": list(dict.fromkeys(names))})
    report = {
        "title": row["title"],
        "summary": _CITED.sub("", row["summary"]),
        "rating": row["rank"] or 0.0,
        "rating_explanation": row["rating_explanation"],
        "findings": findings,
    }
    return json.dumps(report, ensure_ascii=False)


BENCHMARKS = {
    "graphrag": Benchmark(
        "Index of the graphrag package",
        "other",
        "the folder of an index of the package graphrag 3.x, with output/*.parquet",
        _read_graphrag,
        "\n[graphrag.merging]\naliases = false  # entities stay those of the index\n",
    )
}
