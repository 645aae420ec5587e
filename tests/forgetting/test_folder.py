"""What is taken out when a document is forgotten: of files, and of replies."""

import gzip
import json
import os
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from gsum_assets.corpus.folder import read_records
from gsum_assets.corpus.load import load
from gsum_assets.corpus.records import Record
from gsum_assets.forgetting.folder import take_out
from gsum_assets.forgetting.replies import FORGOTTEN, Present, replies_to_forget
from gsum_assets.pipeline.corpus_settings import CorpusSettings
from gsum_assets.pipeline.tables import TABLES
from gsum_assets.runner.forget import require_document
from tests.conftest import CORPUS, House

# A document is taken out of any kind of file, and the others read as before.

ROWS = [("a", "One."), ("b", "Two,\nin two lines."), ("c", "Three."), ("b", "Two again.")]
SETTINGS = CorpusSettings()


def as_json() -> bytes:
    lines = [json.dumps({"document_id": i, "text": text}) for i, text in ROWS]
    return "\n\n".join(lines).encode()  # a blank line between two is allowed


def as_csv() -> bytes:
    return ("id,text\r\n" + "".join(f'{i},"{text}"\r\n' for i, text in ROWS)).encode()


def as_parquet() -> bytes:
    buffer = pa.BufferOutputStream()
    ids, texts = zip(*ROWS, strict=True)
    pq.write_table(pa.table({"document_id": ids, "text": texts, "more": [1, 2, 3, 4]}), buffer)
    return buffer.getvalue().to_pybytes()


FILES = {
    "documents.jsonl": as_json,
    "documents.csv": as_csv,
    "documents.parquet": as_parquet,
    "documents.jsonl.gz": lambda: gzip.compress(as_json()),
    "documents.csv.gz": lambda: gzip.compress(as_csv()),
}


def records_of(folder: Path, document_id: str) -> list[Record]:
    records = read_records(folder, SETTINGS.documents.max_bytes)
    return [record for record in records if record.document_id == document_id]


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("deleted", ["a", "b", "c"])
def test_lines_and_rows_of_a_document_are_deleted(tmp_path: Path, name: str, deleted: str) -> None:
    (tmp_path / name).write_bytes(FILES[name]())
    before, _ = load(tmp_path, SETTINGS)
    found = records_of(tmp_path, deleted)
    assert len(found) == (2 if deleted == "b" else 1)  # its id was used twice
    take_out(tmp_path, SETTINGS, found)
    after, rejected = load(tmp_path, SETTINGS)
    assert after == [document for document in before if document.document_id != deleted]
    assert [r.document_id for r in rejected] == ([] if deleted == "b" else ["b"])
    assert [path.name for path in tmp_path.iterdir()] == [name]
    if name.endswith(".parquet"):
        assert pq.read_table(tmp_path / name)["more"].to_pylist()[-1] == (
            3 if deleted == "b" else 4
        )


def test_separate_file_is_deleted(tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    for path in ("one.txt", "deep/two.md"):
        (tmp_path / path).write_text("A text.")
    take_out(tmp_path, SETTINGS, records_of(tmp_path, "deep--two"))
    assert [d.document_id for d in load(tmp_path, SETTINGS)[0]] == ["one"]


@pytest.mark.parametrize("name", [b"caf\xe9.txt", b"line\nbreak.txt", b"a,b [c].txt"])
def test_a_file_of_any_name_is_deleted(tmp_path: Path, name: bytes) -> None:
    (tmp_path / "zebra.txt").write_text("A text.")
    (tmp_path / os.fsdecode(name)).write_text("Another text.")
    deleted, kept = (record.document_id for record in read_records(tmp_path, 100))
    take_out(tmp_path, SETTINGS, records_of(tmp_path, deleted))
    assert [path.name for path in tmp_path.iterdir()] == ["zebra.txt"]
    assert kept == "zebra"


def test_non_utf8_file_is_unchanged(tmp_path: Path) -> None:
    bad = b'id,text\na,"One."\nb,"\xff\xfe"\nc,"Three."\n'
    (tmp_path / "documents.csv").write_bytes(bad)
    take_out(tmp_path, SETTINGS, records_of(tmp_path, "a"))
    assert (tmp_path / "documents.csv").read_bytes() == bad.replace(b'a,"One."\n', b"")


# Which replies are forgotten: by hand, for every reason to keep one.

CALLS = TABLES["llm_calls"]


def calls(*rows: tuple[str, str, str, str | None]) -> pa.Table:
    """Rows of prompt hash, step, document and run."""
    blank = {"model": "m", "tokens_in": 5, "tokens_out": 1, "latency_s": 0.0, "retries": 0}
    blank |= {"cached": False, "cost_usd": 0.5, "error": "no JSON", "time": 0}
    names = ("prompt_hash", "asset", "document_id", "run_id")
    filled = [blank | dict(zip(names, row, strict=True)) for row in rows]
    return pa.Table.from_pylist(filled, CALLS.schema)


LEFT = Present(frozenset({"kept"}), {"reports": {"new"}})


@pytest.mark.parametrize(
    ("row", "is_forgotten"),
    [
        (("a1", "facts", "kept", "old"), False),
        (("a1", "facts", "gone", "old"), True),
        (("a1", "reports", "", "new"), False),
        (("a1", "reports", "", "old"), True),
        (("a1", "ask", "", ""), True),
        (("a1", "facts", FORGOTTEN, "old"), True),
    ],
)
def test_reply_is_kept_while_something_depends_on_it(row: tuple, is_forgotten: bool) -> None:
    assert replies_to_forget({"tales": calls(row)}, {"tales": LEFT}) == (
        {"a1"} if is_forgotten else set()
    )


def test_other_use_of_the_same_request_keeps_the_reply() -> None:
    ledgers = {
        "tales": calls(
            ("renamed", "facts", "gone", "old"),
            ("renamed", "facts", "kept", "new"),
            ("moved", "facts", "gone", "old"),
            ("lost", "facts", "gone", "old"),
        ),
        "others": calls(("moved", "facts", "elsewhere", "any")),
    }
    assert replies_to_forget(ledgers, {"tales": LEFT}) == {"lost"}


def test_a_document_is_forgotten_with_its_copies(house: House) -> None:
    for name in ("boat.txt", "boat (1).txt", "old/boat.txt"):
        (house.folder / name).parent.mkdir(exist_ok=True)
        (house.folder / name).write_text("A boat that is the same.")
    (house.folder / "lamp.txt").write_text("A lamp.")
    records = require_document(house.pipeline(), CORPUS, "boat")
    take_out(house.folder, SETTINGS, records)
    left = {path.name for path in house.folder.rglob("*.txt")}
    assert {name for name in left if not name.startswith("tale")} == {"lamp.txt"}
    assert {record.file for record in records} == {"boat.txt", "boat (1).txt", "old/boat.txt"}
