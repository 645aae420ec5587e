"""Files become documents: their names, ids and encodings."""

import unicodedata
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gsum_assets.corpus.decoding import NotTextError, decode
from gsum_assets.corpus.load import load
from gsum_assets.corpus.records import id_problem, ids_of_files
from gsum_assets.pipeline.corpus_settings import CorpusSettings

# Every file name gives a document; ids are stable, and titles keep the name.


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
        (tmp_path / name).write_text(f"text of {name}")
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


# Encodings of text files are detected, and what is no text is refused.

GERMAN = "Grüße aus München. Der Ausschuss beschloß, die Straße zu sperren.\r\n"
ENGLISH = "The committee’s decision — “final” — was taken on Monday. It cost £5.\n"
FRENCH = "L’été dernier, la commission a décidé de fermer l’école à cause de la grève.\n"
RUSSIAN = "Комитет принял решение закрыть мельницу в понедельник.\n"
JAPANESE = "委員会は月曜日に工場を閉鎖することを決定しました。\n"
CHINESE = "委员会决定在星期一关闭工厂。主席说这是暂时的，大家都同意。\n"
KOREAN = "위원회는 월요일에 공장을 폐쇄하기로 결정했습니다.\n"


@pytest.mark.parametrize(
    ("text", "codec", "encoding"),
    [
        ("", "utf-8", "utf-8"),
        (GERMAN, "utf-8", "utf-8"),
        (GERMAN, "utf-8-sig", "utf-8"),
        (GERMAN, "utf-16", "utf-16-le"),
        (GERMAN, "utf-16-le", "utf-16-le"),
        (GERMAN, "utf-16-be", "utf-16-be"),
        (GERMAN, "utf-32", "utf-32-le"),
        (GERMAN, "cp1252", "cp1252"),
        (GERMAN, "latin-1", "cp1252"),
        (ENGLISH, "cp1252", "cp1252"),
        (ENGLISH, "mac_roman", "mac_roman"),
        (FRENCH, "cp1252", "cp1252"),
        (FRENCH, "mac_roman", "mac_roman"),
        ("café", "cp1252", "cp1252"),
        (RUSSIAN, "cp1251", "cp1251"),
        (RUSSIAN, "koi8_r", "koi8_r"),
        (RUSSIAN, "cp866", "cp866"),
        (JAPANESE, "shift_jis", "cp932"),
        (JAPANESE, "euc_jp", "euc_jp"),
        (JAPANESE, "iso2022_jp", "iso2022_jp"),
        (CHINESE, "gb18030", "gb18030"),
        (CHINESE, "utf-16", "utf-16-le"),
        (KOREAN, "euc_kr", "cp949"),
        *[
            (text, codec, codec)
            for text in (
                RUSSIAN,
                JAPANESE,
                CHINESE,
                KOREAN,
                "השיבה בבוקר.\n",
                "اجتمعت اللجنة في مايو.\n",
            )
            for codec in ("utf-16-le", "utf-16-be")
        ],
        ("委員會決定在星期一關閉工廠。", "big5", "big5"),
        (JAPANESE.strip() * 200, "cp932", "cp932"),  # one line without blanks
    ],
)
def test_the_text_is_exact_and_the_encoding_named(text: str, codec: str, encoding: str) -> None:
    content = text.encode(codec)
    assert decode(content) == (text, encoding)
    # bytes that are far from the beginning of a large file
    ascii_head = ("Nothing but ASCII here.\n" * 20_000).encode(codec)
    if codec not in ("utf-8-sig", "utf-16", "utf-32") and text:
        assert decode(ascii_head + content)[0] == ascii_head.decode(codec) + text


def test_a_few_invalid_bytes_of_utf8_are_replaced_and_counted() -> None:
    content = ENGLISH.encode() + b"one \xff byte\n" + GERMAN.encode()
    assert decode(content) == (f"{ENGLISH}one \ufffd byte\n{GERMAN}", "utf-8, 1 invalid")


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-32-be"])
def test_a_cut_file_loses_its_last_character_only(encoding: str) -> None:
    content = ("\ufeff" + GERMAN).encode(encoding)[:-1]
    assert decode(content) == (GERMAN[:-1] + "\ufffd", f"{encoding}, 1 invalid")


@pytest.mark.parametrize(
    "content",
    [
        b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\x01\xf4\0\0\x02X\x08\x02\0\0\0\xd4\x9e\xaf\xe0",
        b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(range(256)) * 4,  # an old Word document
        b"\xff\xfe" + bytes.fromhex("00d8") * 50,
    ],
)
def test_binary_content_is_refused(content: bytes) -> None:
    with pytest.raises(NotTextError, match="no text"):
        decode(content)


@given(st.binary(max_size=300))
def test_any_bytes_give_a_text_that_can_be_stored_or_a_reason(content: bytes) -> None:
    try:
        text, encoding = decode(content)
    except NotTextError:
        return
    assert encoding
    assert text.encode().decode() == text
    assert decode(content) == (text, encoding)


@given(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0\ufeff\x1b")))
def test_utf8_is_never_taken_for_another_encoding(text: str) -> None:
    assert decode(text.encode()) == (text, "utf-8")
