"""Every file name gives a document; ids are stable, and titles keep the name."""

import unicodedata
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gsum_assets.corpus.document_ids import ids_of_files
from gsum_assets.corpus.load import load
from gsum_assets.corpus.records import id_problem
from gsum_assets.pipeline.corpus_settings import CorpusSettings


def titles(folder: Path) -> dict[str, str]:
    documents, rejected = load(folder, CorpusSettings())
    assert rejected == []
    return {document.document_id: document.title for document in documents}


@pytest.mark.parametrize(
    ("file", "document_id"),
    [
        ("a.txt", "a"),
        ("notes/2024/a.md", "notes--2024--a"),
        ("report.pdf", "report.pdf"),
        ("a,b [c].pdf", "a_b _c_.pdf"),
        ("x/a..b.docx", "x--a_b.docx"),
        ("Minutes, March.txt", "Minutes, March"),
        ("Report [final] v2.txt", "Report [final] v2"),
        ("yes|no.md", "yes|no"),
        ("a. .txt", "a. "),
    ],
)
def test_ids_say_the_name(file: str, document_id: str) -> None:
    assert ids_of_files([file]) == {file: document_id}


def test_names_that_are_no_ids_have_a_hash(tmp_path: Path) -> None:
    for name in (
        "back\\slash.txt",
        "two..dots.txt",
        "line\nbreak.txt",
        "   .txt",
        "n" * 230 + ".txt",
    ):
        (tmp_path / name).write_text("text")
    assert titles(tmp_path) == {
        "back_slash-48521fa9": "back\\slash",
        "two_dots-e85a2ba1": "two..dots",
        "line_nbreak-b7de4be8": "line\\nbreak",
        "file-14feb139": "file-14feb139",
        "n" * 191 + "-66f80136": "n" * 230,
    }


def test_notes_beside_notes_both_stay(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("first")
    before = titles(tmp_path)
    (tmp_path / "notes.md").write_text("second")
    (tmp_path / "notes.TXT").write_text("third")
    after = titles(tmp_path)
    assert before.items() <= {**after, "notes": "notes"}.items()
    assert set(ids_of_files(["notes.md", "notes.txt"]).values()) > {"notes"}
    assert ids_of_files(["notes.md", "notes.txt"])["notes.txt"] == "notes"
    assert len(after) == 3
    assert set(after.values()) == {"notes"}


def test_spellings_of_one_letter_are_two_files(tmp_path: Path) -> None:
    for form in ("NFC", "NFD"):
        (tmp_path / unicodedata.normalize(form, "é.txt")).write_text(form)
    (tmp_path / "É.txt").write_text("capital")
    assert len(titles(tmp_path)) == 3


_names = st.lists(
    st.text(st.sampled_from("aA.,[]|\\_- \néß\udce9"), min_size=1, max_size=8).map(
        lambda stem: stem + ".txt"
    )
    | st.sampled_from(["a.md", "a.txt", "a/b.txt", "a--b.txt"]),
    unique=True,
)


@given(_names)
def test_all_ids_differ_and_are_valid(files: list[str]) -> None:
    ids = ids_of_files(files)
    assert sorted(ids) == sorted(files)
    assert len(set(ids.values())) == len(files)
    assert [id_problem(document_id) for document_id in ids.values()] == [None] * len(files)
    assert ids_of_files(files[::-1]) == ids
