"""Metadata of documents: front matter, file dates, further columns of tables."""

import json
import os
from collections.abc import Iterator
from datetime import UTC, date, datetime
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from gsum_assets.corpus.load import load, with_file_dates
from gsum_assets.corpus.metadata import as_json, metadata_of, split_front_matter
from gsum_assets.pipeline.corpus_settings import CorpusSettings
from tests.conftest import House
from tests.pipeline.homes import WITHOUT_BERTSCORE, house_at

SETTINGS = CorpusSettings()


@pytest.mark.parametrize(
    ("text", "values", "rest"),
    [
        ("---\nkind: minutes\n---\nText.", {"kind": "minutes"}, "Text."),
        ("---  \ndate: 2024-05-01\n---\n", {"date": date(2024, 5, 1)}, ""),
        ("---\n---\nText.", {}, "Text."),
        (
            '+++\nkind = "minutes"\n[of]\nn = 1\n+++\nText.',
            {"kind": "minutes", "of": {"n": 1}},
            "T",
        ),
        ("---\na: 1\n---", {"a": 1}, ""),
        ("---\ntext: |\n  a\n  ---\n---\nText.", {"text": "a\n---\n"}, "Text."),
    ],
)
def test_front_matter_is_no_part_of_the_text(text: str, values: dict, rest: str) -> None:
    found, after = split_front_matter(text)
    assert found == values
    assert after.startswith(rest)
    assert after in text


@pytest.mark.parametrize(
    "text",
    [
        "Text.\n---\nkind: minutes\n---\n",
        "---\nOnce upon a time.\n---\nThe end.",
        "---\n- a\n- list\n---\nText.",
        "---\nkind: [unclosed\n---\nText.",
        "+++\nkind = minutes\n+++\nText.",
        "---\nnever: closed\n",
        "----\na: 1\n----\n",
        "---\na: &x [1]\nb: *x\n---\nText.",
        "---\nday: 2024-13-45\n---\nText.",
        "---\na: " + "[" * 5000 + "\n---\nText.",
        "---\n" + "a: 1\n" * 20_000 + "---\nText.",
        "",
    ],
)
def test_other_heads_are_text(text: str) -> None:
    assert split_front_matter(text) == ({}, text)


def test_values_that_are_kept() -> None:
    values = {
        **{"date": date(2024, 5, 1), "at": datetime(2024, 5, 1, 9, 30), "n": 3, "share": 0.5},
        **{"draft": False, "tags": ["a", 1], "of": {"ward": "east", "none": None}, "b": b"caf\xe9"},
        **{"empty": " ", "none": None, "nan": float("nan"), "long": "x" * 1001},
        **{"half": "\ud800", "nul": "\0", 7: "seven", "": "unnamed", "many": ["x" * 90] * 20},
    }
    assert metadata_of(values) == {
        **{"date": "2024-05-01", "at": "2024-05-01T09:30:00", "n": 3, "share": 0.5},
        **{"draft": False, "tags": ["a", 1], "of": {"ward": "east"}, "7": "seven"},
        **{"b": "café", "half": "\ufffd"},
    }
    assert len(metadata_of({str(i): i for i in range(1000)})) == 200


def test_json_does_not_depend_on_the_order_of_keys() -> None:
    assert as_json({"b": 1, "a": "é"}) == as_json({"a": "é", "b": 1}) == '{"a": "é", "b": 1}'
    assert as_json({}) is None


def loaded(folder: Path) -> dict[str, tuple[str, str, dict]]:
    """Title, text and metadata by id."""
    documents, rejected = load(folder, SETTINGS)
    assert not rejected
    return {d.document_id: (d.title, d.text, json.loads(d.metadata or "{}")) for d in documents}


def test_markdown_has_front_matter(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("---\r\ntitle: The mill\r\nkind: letter\r\n---\r\n# Mill\n\nIt.")
    (tmp_path / "b.md").write_text("---\nkind: minutes\n---\n# Ferry\n\nIt.")
    (tmp_path / "c.txt").write_text("---\nkind: minutes\n---\nIt.")
    (tmp_path / "d.md").write_text("---\ntitle: [a]\n---\nIt.")
    assert loaded(tmp_path) == {
        "a": ("The mill", "# Mill\n\nIt.", {"kind": "letter"}),
        "b": ("Ferry", "# Ferry\n\nIt.", {"kind": "minutes"}),
        "c": ("c", "---\nkind: minutes\n---\nIt.", {}),
        "d": ("d", "It.", {"title": ["a"]}),
    }
    (tmp_path / "e.md").write_text("---\nkind: minutes\n---\n")
    assert [r.reason[:17] for r in load(tmp_path, SETTINGS)[1]] == ["the text is empty"]


def test_further_columns_of_tables_are_metadata(tmp_path: Path) -> None:
    (tmp_path / "documents.csv").write_text(
        "id,title,text,cites,date,kind\na,A,Text a,b,2024-05-01,minutes\nb,B,Text b,,,\n"
    )
    (tmp_path / "faq.jsonl").write_text('{"id": "q", "body": "Text q", "n": 2, "tags": ["x"]}\n')
    pq.write_table(
        pa.table(
            {"document_id": ["p"], "text": ["Text p"], "day": [date(2024, 5, 1)], "raw": [b"\xff"]}
        ),
        tmp_path / "documents.parquet",
    )
    by_id = loaded(tmp_path)
    assert by_id["a"] == ("A", "Text a", {"date": "2024-05-01", "kind": "minutes"})
    assert by_id["b"] == ("B", "Text b", {})
    assert by_id["faq.jsonl:q"][2] == {"n": 2, "tags": ["x"]}
    assert by_id["p"] == ("p", "Text p", {"day": "2024-05-01"})


def test_file_date_is_taken_where_the_file_states_none(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("---\nmodified: 2020-01-01\n---\nIt.")
    (tmp_path / "b.md").write_text("It.")
    documents, _ = load(tmp_path, SETTINGS)
    dates = dict.fromkeys("ab", datetime(2024, 5, 1, 23, tzinfo=UTC))
    assert [d.metadata for d in with_file_dates(documents, dates)] == [
        '{"modified": "2020-01-01"}',
        '{"modified": "2024-05-01"}',
    ]
    assert [d.metadata for d in with_file_dates(documents, {})] == [
        '{"modified": "2020-01-01"}',
        None,
    ]


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    with house_at(tmp_path) as house:
        (house.folder / "corpus.toml").write_text(WITHOUT_BERTSCORE)
        for name, kind in {"mill": "minutes", "ferry": "letter"}.items():
            write(house, name, kind, "2024-05-01")
        yield house


def write(house: House, name: str, kind: str, day: str) -> None:
    file = house.folder / f"{name}.md"
    file.write_text(f"---\nkind: {kind}\n---\nThe {name} was built in 1846 by the river.\n")
    seconds = datetime.fromisoformat(f"{day}T12:00:00+00:00").timestamp()
    os.utime(file, (seconds, seconds))


def metadata(house: House) -> dict[str, dict]:
    return {
        r["document_id"]: json.loads(r["metadata"]) for r in house.table("documents").to_pylist()
    }


@pytest.mark.usefixtures("only_tables")
def test_metadata_changes_a_row_of_documents_and_no_vector(house: House) -> None:
    assert house.run(["bm25"]).errors == []
    assert metadata(house) == {
        "mill": {"kind": "minutes", "modified": "2024-05-01"},
        "ferry": {"kind": "letter", "modified": "2024-05-01"},
    }
    n_embedded = house.embedder.n_embedded
    write(house, "mill", "minutes", "2025-06-07")  # touched
    assert house.run(["bm25"]).written == []
    write(house, "ferry", "report", "2025-06-07")
    report = house.run(["bm25"])
    assert report.errors == []
    assets = set(report.written)
    assert {"documents", "chunks"} <= assets  # they read the row; the chunks are as before
    assert not assets & {"chunk_embeddings", "retrieval/rankings", "retrieval/summaries"}
    assert house.embedder.n_embedded == n_embedded
    assert metadata(house) == {
        "mill": {"kind": "minutes", "modified": "2024-05-01"},
        "ferry": {"kind": "report", "modified": "2025-06-07"},
    }
    rows = house.table("documents").sort_by("document_id")
    assert rows["date"].to_pylist() == [date(2025, 6, 7), date(2024, 5, 1)]
    assert set(rows["date_source"].to_pylist()) == {"file time"}


@pytest.mark.parametrize(
    ("file", "content", "kept"),
    [
        ("a.csv", "text,Größe\nThe ferry leaves at nine.,süß\n".encode("cp1252"), {"Größe": "süß"}),
        ("a.csv", b"text,n\nThe ferry leaves at nine.,caf\xe9\n", {"n": "café"}),
        (
            "a.json",
            rb'[{"text": "The ferry leaves at nine.", "k\ud800": "v", "n": "\udfff"}]',
            {"k\ufffd": "v", "n": "\ufffd"},
        ),
        ("a.md", b'---\nk: "\\ud800"\n---\nThe ferry leaves at nine.', {"k": "\ufffd"}),
    ],
)
def test_metadata_in_other_encodings_end_no_corpus(
    tmp_path: Path, file: str, content: bytes, kept: dict[str, str]
) -> None:
    (tmp_path / file).write_bytes(content)
    (document,) = load(tmp_path, SETTINGS)[0]
    assert document.text == "The ferry leaves at nine."
    metadata = json.loads(document.metadata or "{}")
    assert {name: metadata.get(name) for name in kept} == kept


def test_text_column_may_have_an_umlaut_in_any_encoding(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes("Größe,n\nLong enough.,1\n".encode("cp1252"))
    settings = CorpusSettings.model_validate({"documents": {"text_column": "Größe"}})
    assert [document.text for document in load(tmp_path, settings)[0]] == ["Long enough."]
