"""Tables of any name: one document per row, and an error that says what is unclear."""

import gzip
import json
from pathlib import Path

import pytest

from gsum_assets.answering.answer import Sources
from gsum_assets.corpus.conversion.converter import Converter
from gsum_assets.corpus.folder import read_records
from gsum_assets.corpus.load import Document, load, load_folder, scan
from gsum_assets.corpus.records import Record
from gsum_assets.forgetting.folder import take_out
from gsum_assets.pipeline.corpus_settings import CorpusSettings, checked_settings

SETTINGS = CorpusSettings()
LONG = "The pump of the old ferry broke twice, and nobody had a spare part on the quay."
ROWS = [{"id": 7, "title": "Pump", "body": "It broke."}, {"id": 8, "title": "", "body": "It sank."}]


def written(folder: Path, **files: str | bytes) -> Path:
    """Write files, named with "__" for a dot."""
    for name, content in files.items():
        raw = content.encode() if isinstance(content, str) else content
        name = name.replace("__", ".")
        (folder / name).write_bytes(gzip.compress(raw) if name.endswith(".gz") else raw)
    return folder


def named(**documents: str | list[str]) -> CorpusSettings:
    return checked_settings({"documents": documents}, "corpus.toml")


def lines(rows: list) -> str:
    return "\n".join(json.dumps(row) for row in rows)


FORMS = {
    "faq__csv": 'id,title,body\n7,Pump,"It broke."\n8,,It sank.\n',
    "faq__tsv": "id\ttitle\tbody\n7\tPump\tIt broke.\n8\t\tIt sank.\n",
    "faq__csv__gz": "\ufeffid;title;body\r\n7;Pump;It broke.\r\n8;;It sank.\r\n",
    "faq16__tsv": "id\ttitle\tbody\n7\tPump\tIt broke.\n8\t\tIt sank.\n".encode("utf-16"),
    "faq__jsonl": lines(ROWS),
    "faq__jsonl__gz": lines(ROWS),
    "faq__json": json.dumps(ROWS),
    "FAQ__JSON": json.dumps({"version": 2, "items": ROWS}),
}


@pytest.mark.parametrize("name", FORMS)
def test_each_row_is_a_document(tmp_path: Path, name: str) -> None:
    documents, rejected = load(written(tmp_path, **{name: FORMS[name]}), SETTINGS)
    file = name.replace("__", ".")
    first = 2 if "sv" in file else 1  # as in a spreadsheet, below the header
    assert rejected == []
    assert documents == [
        Document(f"{file}:7", "Pump", "It broke."),
        Document(f"{file}:8", f"{file}, row {first + 1}", "It sank."),
    ]


def test_location_of_a_row_is_its_file_and_number(tmp_path: Path) -> None:
    written(tmp_path, faq__csv='title,text\n\n,"Two\nlines."\nHull,Rust.\n')
    taken = load_folder(tmp_path, SETTINGS, lambda record: pytest.fail(str(record)))
    labels = [(s.kind, s.label, s.start) for s in taken.sections]
    assert labels == [("row", "faq.csv, row 3", 0), ("row", "faq.csv, row 4", 0)]
    assert [d.title for d in taken.documents] == ["faq.csv, row 3", "Hull"]


@pytest.mark.parametrize(
    ("columns", "chosen"),
    [
        ({"Body": LONG, "note": LONG}, "Body"),
        ({"text": "Short.", "body": LONG}, "text"),
        ({"answer": LONG, "url": "https://example.org/" + "a" * 80, "n": "5"}, "answer"),
        ({"问题": "好的" * 40, "id": "5"}, "问题"),
        ({"a": LONG, "b": LONG}, None),
        ({"body": LONG, "content": LONG}, None),
        ({LONG: LONG}, None),  # no header
    ],
)
def test_text_column_is_found_or_requested(tmp_path: Path, columns: dict, chosen: str) -> None:
    row = ",".join(f'"{value}"' for value in columns.values())
    header = ",".join(f'"{name}"' for name in columns)
    written(tmp_path, a__csv=f"{header}\n{row}\n")
    documents, rejected = load(tmp_path, SETTINGS)
    assert [d.text for d in documents] == ([columns[chosen]] if chosen else [])
    if chosen is None:
        [failure] = rejected
        assert failure.file == "a.csv"
        assert not failure.is_other_type
        for name in columns:
            assert name[:60] in failure.reason
        assert 'as text_column = "' in failure.reason
        settings = named(text_column=["missing", list(columns)[-1]])
        assert [d.text for d in load(tmp_path, settings)[0]] == [list(columns.values())[-1]]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("sites.csv", "Site,Rent\nKay,512\n\nElm,733,new\n"),
        ("sites.tsv", "Site\tRent\nKay\t512\n\nElm\t733\tnew\n"),
        ("sites.csv.gz", "Site;Rent\nKay;512\n\nElm;733;new\n"),
    ],
)
def test_a_table_of_figures_is_one_document(tmp_path: Path, name: str, content: str) -> None:
    (tmp_path / name).write_bytes(
        gzip.compress(content.encode()) if name.endswith(".gz") else content.encode()
    )
    with Converter() as process:
        taken = load_folder(tmp_path, SETTINGS, lambda r: process.convert(r.converter, r.content))
    assert not taken.rejected
    [document] = taken.documents
    assert (document.document_id, document.title) == (name, "sites")
    assert document.text.split("\n") == [
        "| Site | Rent |  |",
        "| --- | --- | --- |",
        "| Kay | 512 |",
        "| Elm | 733 | new |",
    ]
    labels = [(s.kind, s.label, document.text[s.start :][:5]) for s in taken.sections]
    assert labels == [
        ("row", "row 1", "| Sit"),
        ("row", "row 2", "| Kay"),
        ("row", "row 4", "| Elm"),
    ]
    assert scan(tmp_path, SETTINGS) == taken.listing
    small = CorpusSettings.model_validate({"documents": {"max_bytes": 20}})
    assert "more than max_bytes = 20" in load(tmp_path, small)[1][0].reason


def test_columns_are_named_by_setting_also_in_tables_with_ids(tmp_path: Path) -> None:
    settings = named(text_column="b", title_column="c", id_column="key")
    rows = [{"key": "k1", "b": "B.", "c": "C", "title": "T", "text": "X."}]
    for name in ("documents.jsonl", "any.json"):
        content = json.dumps(rows) if name == "any.json" else lines(rows)
        (tmp_path / name).write_text(content)
        others = '{"text": "X.", "title": "T"}'
        assert load(tmp_path, settings) == ([Document("k1", "C", "B.", metadata=others)], [])
        (tmp_path / name).unlink()
    (tmp_path / "documents.csv").write_text("key,b\nk1,B.\n")
    assert load(tmp_path, settings) == ([Document("k1", "k1", "B.")], [])


def test_settings_of_columns_change_hashes_only_where_they_are_set(tmp_path: Path) -> None:
    before = scan(written(tmp_path, a__txt="A."), SETTINGS)
    assert SETTINGS.reading_fingerprint() == b'{"max_bytes": 50000000}'
    assert scan(tmp_path, named(text_column="b"))[0].content_hash != before[0].content_hash


def test_rows_without_id_keep_theirs_when_others_come_and_go(tmp_path: Path) -> None:
    rows = [{"text": "One."}, {"text": "Two."}, {"text": "Two."}]
    ids = [d.document_id for d in load(written(tmp_path, a__jsonl=lines(rows)), SETTINGS)[0]]
    assert len({*ids}) == 3
    written(tmp_path, a__jsonl=lines([{"text": "New."}, *rows]))
    documents, _ = load(tmp_path, SETTINGS)
    assert [d.document_id for d in documents[1:]] == ids
    assert documents[1].title == "a.jsonl, row 2"
    hashes = {d.document_id: d.content_hash for d in scan(tmp_path, SETTINGS)}
    written(tmp_path, a__jsonl=lines(rows))  # another location is another content
    assert all(hashes[d.document_id] != d.content_hash for d in scan(tmp_path, SETTINGS))


def test_two_tables_may_use_the_same_ids(tmp_path: Path) -> None:
    written(tmp_path, a__csv="id,text\n1,A.\n", b__csv="id,text\n1,B.\n")
    assert [d.document_id for d in load(tmp_path, SETTINGS)[0]] == ["a.csv:1", "b.csv:1"]


@pytest.mark.parametrize(
    ("name", "content", "n_valid", "where"),
    [
        ("a.csv", 'text,n\nOne.,1\n"Two" x,2\nThree.,3\nFour.\nFive.,5\n', 3, [3, 5]),
        ("a.csv", b"text,n\nOne.,1\n\xff\xfe,2\nThree.,3\n", 2, [3]),
        (
            "a.jsonl",
            '{"text": "One."}\n{"text": \n[1]\n{"text": 3}\n{"text": "Two."}',
            2,
            [2, 3, 4],
        ),
        ("a.json", '[{"text": "One."}, 3, {"text": null}, {"text": "Two."}]', 2, [2, 3]),
        ("a.csv", b"te\0xt\nOne.\n", 1, []),
        ("a.csv", b"\xff\xe4,b\n1,2\n", 1, []),
        ("a.json", '[{"a\\ud800": "x"}, {"b": "y"}]', 0, [0]),
        ("a.json", f'[{{"a\\ud800": "{LONG}"}}]', 0, [0]),
        ("a.json", '{"text": ', 0, [0]),
        ("a.json", "[" * 100_000, 0, [0]),
        ("a.csv.gz", b"\x1f\x8b torn", 0, [1]),
    ],
)
def test_a_malformed_row_costs_itself_alone(
    tmp_path: Path, name: str, content: str | bytes, n_valid: int, where: list[int]
) -> None:
    (tmp_path / name).write_bytes(content.encode() if isinstance(content, str) else content)
    documents, rejected = load(tmp_path, SETTINGS)
    assert len(documents) == n_valid
    assert [(failure.file, failure.line) for failure in rejected] == [(name, n) for n in where]
    assert all(len(failure.reason.encode()) > 10 for failure in rejected)


def test_valid_rows_before_damage_are_kept(tmp_path: Path) -> None:
    packed = gzip.compress(lines([{"text": f"{i} " + LONG} for i in range(500)]).encode(), 0)
    (tmp_path / "a.jsonl.gz").write_bytes(packed[:-4000])
    documents, rejected = load(tmp_path, SETTINGS)
    assert 300 < len(documents) < 500
    assert [failure.line for failure in rejected] == [len(documents) + 1]


def test_files_of_questions_graphs_and_programs_are_no_documents(tmp_path: Path) -> None:
    (tmp_path / "graph").mkdir()
    (tmp_path / "deep").mkdir()
    for name, content in {
        "queries.jsonl": '{"text": "Why?"}',
        "deep/queries.jsonl": '{"text": "Why?"}',
        "questions.csv": "text\nWhy?\n",
        "Questions.json": '[{"text": "Why?"}]',
        "graph/entities.csv": f"title,text\nA,{LONG}\n",
        "package.json": '{"name": "a", "version": 3}',
        "list.json": "[1, 2]",
        "empty.json": "{}",
        "a.txt": "A.",
    }.items():
        (tmp_path / name).write_text(content)
    documents, rejected = load(tmp_path, SETTINGS)
    assert [d.document_id for d in documents] == ["a"]
    assert all(failure.is_other_type for failure in rejected)
    assert sorted(failure.file for failure in rejected) == [
        *("Questions.json", "deep/queries.jsonl", "empty.json", "graph/entities.csv"),
        *("list.json", "package.json", "questions.csv"),
    ]


def test_an_object_with_a_text_is_a_document(tmp_path: Path) -> None:
    written(tmp_path, a__json='{"title": "T", "text": "One.", "tags": ["x"]}')
    [record] = read_records(tmp_path, 10**6)
    document = Document(record.document_id, "T", "One.", metadata='{"tags": ["x"]}')
    assert load(tmp_path, SETTINGS)[0] == [document]


def test_a_large_json_file_is_refused(tmp_path: Path) -> None:
    written(tmp_path, a__json=json.dumps([{"text": "x" * 300}]))
    small = checked_settings({"documents": {"max_bytes": 200}}, "corpus.toml")
    assert "more than max_bytes = 200" in load(tmp_path, small)[1][0].reason


@pytest.mark.parametrize("name", [name for name in FORMS if "FAQ" not in name])
def test_a_forgotten_row_leaves_the_others(tmp_path: Path, name: str) -> None:
    written(tmp_path, **{name: FORMS[name]})
    before, _ = load(tmp_path, SETTINGS)
    records: list[Record] = list(read_records(tmp_path, 10**6))
    take_out(tmp_path, SETTINGS, records[:1])
    after, rejected = load(tmp_path, SETTINGS)
    assert [(d.document_id, d.text) for d in after] == [(before[1].document_id, "It sank.")]
    assert rejected == []
    take_out(tmp_path, SETTINGS, list(read_records(tmp_path, 10**6)))
    assert [r for r in read_records(tmp_path, 10**6) if not r.is_other_type] == []


def test_source_of_a_row_names_file_and_row() -> None:
    passage = {"node_id": "c", "node_kind": "chunk", "document_id": "d", "position": 0}
    passages = [{**passage, "rank": 1, "text": "T"}]
    chunks = [{"chunk_id": "c", "document_id": "d", "position": 0, "start": 0, "end": 1}]
    row = "faq.csv, row 3"

    def shown(title: str) -> str:
        return str(Sources(passages, {"d": title}, chunks, lambda *where: row).listed()[0])

    assert shown("Pump") == "Pump, faq.csv, row 3"
    assert shown(row) == "faq.csv, row 3, passage 1 of 1"
