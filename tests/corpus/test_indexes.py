"""Indexes of other packages: what is a key, where records are, and what reports cite."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import networkx as nx
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from gsum_assets.corpus.importers import import_benchmark
from gsum_assets.corpus.importers.benchmark import ImportReport

Rows = Sequence[Mapping[str, Any]]
COUNTED = "citations in reports name nothing that their community has"


def write_index(folder: Path, units: Rows, documents: Rows, **tables: Rows) -> None:
    """Write the tables of an index; numbers are positions unless a row has one."""
    entities = [
        {"id": f"e-{row['title']}", "type": "PERSON", "description": "d", **row}
        for row in tables.get("entities", ())
    ]
    relationships = [
        {"id": f"r{n}", "description": "tie", "weight": 2.0, "text_unit_ids": [], **row}
        for n, row in enumerate(tables.get("relationships", ()))
    ]
    communities = [
        {"id": f"c{n}", "community": n, "parent": -1, **row}
        for n, row in enumerate(tables.get("communities", ()))
    ]
    reports = [
        {"community": row["community"], "title": "T", "summary": "S", "rank": 5.0}
        | {"rating_explanation": "", "findings": row["findings"]}
        for row in communities
    ]
    folder.mkdir(parents=True)
    for name, rows in {
        "documents": [{"raw_data": None, **row} for row in documents],
        "text_units": [{"entity_ids": [], **row} for row in units],
        "entities": entities,
        "relationships": relationships,
        "communities": [{k: v for k, v in row.items() if k != "findings"} for row in communities],
        "community_reports": reports,
    }.items():
        numbered = [{"human_readable_id": n, **row} for n, row in enumerate(rows)]
        pq.write_table(pa.Table.from_pylist(numbered), folder / f"{name}.parquet")


def cites(text: str, *records: str) -> dict[str, str]:
    return {"summary": text, "explanation": f"{text} [Data: {', '.join(records)}]."}


def imported(tmp_path: Path, source: Path, kind: str = "graphrag") -> "Imported":
    return Imported(import_benchmark(kind, source, tmp_path / "corpora", "mine"), tmp_path)


class Imported:
    """What an import wrote."""

    def __init__(self, report: ImportReport, tmp_path: Path) -> None:
        self.notes = report.notes
        self._folder = tmp_path / "corpora" / "mine"
        lines = (self._folder / "documents.jsonl").read_text().splitlines()
        self.texts = {row["document_id"]: row["text"] for row in map(json.loads, lines)}

    def rows(self, name: str) -> list[dict[str, Any]]:
        return pq.read_table(self._folder / "graph" / f"{name}.parquet").to_pylist()

    def places(self, title: str) -> list[tuple[str, str]]:
        (row,) = (row for row in self.rows("entities") if row["title"] == title)
        return [
            (p["document_id"], self.texts[p["document_id"]][p["start"] : p["end"]])
            for p in row["passages"]
        ]

    def findings(self) -> list[tuple[str, list[str]]]:
        reports = [json.loads(row["report"]) for row in self.rows("communities")]
        return [(f["summary"], f["entities"]) for r in reports for f in r["findings"]]


def entity(title: str, *units: str, **more: Any) -> dict[str, Any]:
    return {"title": title, "text_unit_ids": list(units), **more}


@pytest.mark.parametrize(
    ("documents", "units", "expected"),
    [
        pytest.param(  # of files in different folders
            [("h1", "notes.txt", "Ida one."), ("h2", "notes.txt", "Ida two.")],
            [("u1", "h1", "Ida one."), ("u2", "h2", "Ida two.")],
            [("notes", "Ida one."), ("notes-h2", "Ida two.")],
            id="equal titles",
        ),
        pytest.param(
            [(1, "Note", "Ida one."), (2, "Note", "Ida two.")],
            [("u1", 1, "Ida one."), ("u2", 2, "Ida two.")],
            [("Note", "Ida one."), ("Note-2", "Ida two.")],
            id="numbers as ids",
        ),
        pytest.param(  # an id is a hash of the text
            [("h1", "a.txt", "Ida one."), ("h1", "b.txt", "Ida one.")],
            [("u1", "h1", "Ida one."), ("u1", "h1", "Ida one.")],
            [("a", "Ida one.")],
            id="copies",
        ),
        pytest.param(
            [(1, "Note", "Ida one."), (1, "Note", "Ida two."), (1, "Note-1", "Bo.")],
            [("u1", 1, "Ida one."), ("u2", 1, "Ida two.")],
            [("Note", "Ida one."), ("Note-1", "Ida two.")],
            id="ids of rows of two files",
        ),
        pytest.param(  # and equal units have one id
            [(1, "a", "Ida one."), (2, "b", "Ida one.")],
            [("u1", 1, "Ida one."), ("u1", 2, "Ida one.")],
            [("a", "Ida one."), ("b", "Ida one.")],
            id="equal texts",
        ),
        pytest.param(
            [("h1", "a", "🧿 Ida one. 🧿 Ida two. 🧿")],
            [("u1", "h1", "🧿 Ida one. \ufffd"), ("u2", "h1", "\ufffd\ufffd Ida two. 🧿")],
            [("a", "🧿 Ida one. "), ("a", " Ida two. 🧿")],
            id="cut in a character",
        ),
        pytest.param(
            [("h1", "a", "\ufeffIda\r\none.")], [("u1", "h1", "\ufeffIda\r\none.")],
            [("a", "Ida\none.")], id="line ends and byte order mark",
        ),
    ],
)  # fmt: skip
def test_text_units_are_found_in_their_documents(
    tmp_path: Path, documents: Sequence[tuple], units: Sequence[tuple], expected: Sequence[tuple]
) -> None:
    write_index(
        tmp_path / "output",
        [{"id": i, "document_id": d, "text": t} for i, d, t in units],
        [{"id": i, "title": title, "text": t} for i, title, t in documents],
        entities=[entity("IDA", *dict.fromkeys(i for i, *_ in units))],
    )
    index = imported(tmp_path, tmp_path)
    assert index.places("Ida") == expected
    assert not any("text units" in note for note in index.notes)


def test_prepended_metadata_are_in_no_document(tmp_path: Path) -> None:
    row = {"id": 7, "title": "rows.csv (0)", "creation_date": "2026-01-02"}
    raw = {"title": "Harbour", "author": "Bo: the elder. Jr.", "size": 3}
    lines = "author: Bo: the elder. Jr..\ntitle: rows.csv (0).\nsize: 3.\n"
    write_index(
        tmp_path / "output",
        [
            {"id": "u1", "document_id": 7, "text": f"{lines}Ida runs. \ufffd"},
            {"id": "u2", "document_id": 7, "text": "author: Nobody.\nIda runs."},
        ],
        [{**row, "text": "Ida runs. 🧿", "raw_data": raw}],
        entities=[entity("IDA", "u1", "u2")],
    )
    index = imported(tmp_path, tmp_path)
    assert index.places("Ida") == [("rows.csv-0", "Ida runs. ")]
    assert next(note for note in index.notes if "text units" in note).startswith(
        "1 of 2 text units"
    )


BASE = {
    "entities": [entity("NILS", "u1"), entity("IDA", "u1"), entity("VARN", "u1")],
    "relationships": [
        {"source": "NILS", "target": "IDA"},
        {"source": "IDA", "target": "VARN"},
    ],
    "communities": [
        {
            "entity_ids": ["e-NILS", "e-IDA"],
            "findings": [
                cites("Nils", "Entities (0)"),
                cites("A neighbour", "Entities (2)"),
                cites("Both", "Entity(0); Relationships (0, +more)", "Reports (1)"),
            ],
        },
    ],
}
"""Entity 2 is in no community, and related to one that is."""
DELTA = {
    "entities": [entity("IDA", "u2", id="delta-IDA"), entity("ERIK", "u2"), entity("BO", "u2")],
    "relationships": [{"source": "IDA", "target": "ERIK"}],
    "communities": [
        {
            "id": "delta",
            "entity_ids": ["delta-IDA", "e-ERIK", "lost"],
            "findings": [cites("Ida", "Entities (0)"), cites("Bo", "Entities (2, 9)")],
        }
    ],
}
UNITS = [
    {"id": "u1", "document_id": "1", "text": "Nils and Ida in Varn."},
    {"id": "u2", "document_id": "2", "text": "Ida, Erik, Bo."},
]
TEXTS = [{"id": u["document_id"], "title": "", "text": u["text"]} for u in UNITS]


def write_updated(folder: Path) -> None:
    """Write an index as `graphrag update` leaves it: tables by name, communities as they were."""
    merged = [
        *(entity(e["title"], *e["text_unit_ids"], human_readable_id=n)
          for n, e in enumerate([*BASE["entities"], *DELTA["entities"][1:]], start=0)
          if e["title"] != "IDA"),
        entity("IDA", "u1", "u2", human_readable_id=1),
    ]  # fmt: skip
    second = DELTA["communities"][0] | {"community": 1}
    write_index(
        folder / "output",
        UNITS,
        TEXTS,
        entities=sorted(merged, key=lambda row: row["title"]),
        relationships=[*BASE["relationships"], *DELTA["relationships"]],
        communities=[*BASE["communities"], second],
    )
    update = folder / "update_output" / "20260101-000000"
    write_index(update / "previous", UNITS[:1], TEXTS[:1], **BASE)
    write_index(update / "delta", UNITS[1:], TEXTS[1:], **DELTA)
    (folder / "update_output" / "20260102-000000" / "delta").mkdir(parents=True)  # of no change


OF_BASE = [("Nils", ["Nils"]), ("A neighbour", ["Varn"]), ("Both", ["Nils", "Ida"])]


@pytest.mark.parametrize("is_whole", [True, False])
def test_reports_of_an_updated_index_cite_by_the_numbers_of_their_update(
    tmp_path: Path, is_whole: bool
) -> None:
    write_updated(tmp_path)
    if not is_whole:
        (tmp_path / "update_output").rename(tmp_path / "elsewhere")
    index = imported(tmp_path, tmp_path)
    members = [row["entities"] for row in index.rows("communities")]
    assert members == [["Ida", "Nils"], ["Erik", "Ida"] if is_whole else ["Erik"]]
    unresolved = [(text, []) for text, _ in [*OF_BASE, ("Ida", []), ("Bo", [])]]
    # Bo is an entity of the update, but neither in the community nor related to one in it
    resolved = [*OF_BASE, ("Ida", ["Ida"]), ("Bo", [])]
    assert index.findings() == (resolved if is_whole else unresolved)
    counted = f"{2 if is_whole else 7} {COUNTED}"
    assert any(note.startswith(counted) for note in index.notes), index.notes
    assert f"{1 if is_whole else 2} members of communities are in no table" in index.notes[0]


def test_an_index_of_its_first_run_has_the_numbers_of_its_tables(tmp_path: Path) -> None:
    write_index(tmp_path / "output", UNITS[:1], TEXTS[:1], **BASE)
    index = imported(tmp_path, tmp_path / "output")
    assert index.findings() == OF_BASE
    assert index.notes == []


def test_method_fast_cites_text_units_and_weighs_by_shares(tmp_path: Path) -> None:
    words = ["ida", "nils", "bell"]
    write_index(
        tmp_path / "output",
        [
            {**UNITS[0], "entity_ids": ["e-IDA", "e-NILS"]},
            {**UNITS[1], "entity_ids": ["e-IDA", "e-BELL"]},
        ],
        TEXTS,
        entities=[entity(word.upper(), "u1", "u2", type="NOUN PHRASE") for word in words],
        relationships=[
            {"source": "IDA", "target": "NILS", "weight": 0.1},
            {"source": "BELL", "target": "IDA", "weight": 0.025},
            {"source": "BELL", "target": "NILS", "weight": -0.02},
        ],
        communities=[
            {
                "entity_ids": ["e-IDA", "e-NILS"],
                "findings": [
                    cites("One", "Sources (0)", "Date_Range ((2001, 05, 12), (2001, 05, 14))"),
                    cites("Two", "Source (1, 7)"),
                ],
            }
        ],
    )
    index = imported(tmp_path, tmp_path)
    assert [round(row["weight"], 9) for row in index.rows("relationships")] == [10.0, 2.5, -2.0]
    assert index.findings() == [("One", ["Ida", "Nils"]), ("Two", ["Ida"])]
    report = json.loads(index.rows("communities")[0]["report"])
    assert [[p["document_id"] for p in f["passages"]] for f in report["findings"]] == [["1"], ["2"]]
    assert index.notes[0].startswith(f"1 {COUNTED}")


def write_lightrag(folder: Path) -> None:
    """Write a working directory in the form of lightrag-hku 1.5.7."""
    folder.mkdir(parents=True)
    text = "Ida runs the pier. 🧿 Nils rings."
    stores = {
        "full_docs": {
            "doc-1": {"content": text, "file_path": "a.txt"},
            "doc-2": {"content": "{{LRdoc}}Kim in short", "file_path": "unknown_source"},
        },
        "text_chunks": {
            f"{document}-chunk-00{n}": {"content": words, "full_doc_id": document}
            | {"chunk_order_index": n, "file_path": "given"}
            for document, n, words in [
                ("doc-1", 1, "\ufffd Nils rings."),
                ("doc-1", 0, "Ida runs the pier."),
                ("doc-2", 0, "Kim met Ida."),
                ("custom", 0, "Bo met Ida."),
            ]
        },
        "entity_chunks": {"Ida": {"chunk_ids": ["doc-1-chunk-000", "doc-2-chunk-000"]}},
        "relation_chunks": {"Ida<SEP>Nils": {"chunk_ids": ["doc-1-chunk-001"]}},
        "doc_status": {"doc-1": {"status": "processed"}, "dup-1": {"status": "failed"}},
    }
    for name, rows in stores.items():
        (folder / f"kv_store_{name}.json").write_text(json.dumps(rows))
    graph = nx.Graph()
    for name, source in (("Ida", "doc-1-chunk-000"), ("Nils", "doc-1-chunk-001")):
        row = {"entity_type": "person", "description": "One.<SEP>Two.", "source_id": source}
        graph.add_node(name, **row)
    graph.add_edge("Nils", "Ida", weight=3.0, description="Both.", source_id="doc-1-chunk-000")
    nx.write_graphml(graph, folder / "graph_chunk_entity_relation.graphml")


@pytest.mark.parametrize("workspace", ["", "team"])
def test_lightrag(tmp_path: Path, workspace: str) -> None:
    write_lightrag(tmp_path / "work" / workspace)
    index = imported(tmp_path, tmp_path / "work", "lightrag")
    assert index.texts == {
        "a": "Ida runs the pier. 🧿 Nils rings.",
        "2": "Kim met Ida.",  # only its chunks are stored
        "given": "Bo met Ida.",
    }
    assert index.places("Ida") == [("a", "Ida runs the pier."), ("2", "Kim met Ida.")]
    assert index.places("Nils") == [("a", " Nils rings.")]
    assert index.rows("entities")[0]["description"] == "One.\nTwo."
    (relationship,) = index.rows("relationships")
    assert relationship["weight"] == 3.0
    assert [p["start"] for p in relationship["passages"]] == [20]
    assert index.notes == [
        "1 files were not read by LightRAG, which had one of that name; add them to this corpus"
    ]


def test_of_several_workspaces_of_lightrag_one_is_named(tmp_path: Path) -> None:
    for workspace in ("one", "two"):
        write_lightrag(tmp_path / workspace)
    with pytest.raises(Exception, match=r"name one workspace; found one, two"):
        imported(tmp_path, tmp_path, "lightrag")
