"""Bad input costs only its row; runs that cannot start state the cause."""

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import dagster as dg
import pytest

from gsum_assets.pipeline.corpus_settings import CorpusError
from tests.conftest import CORPUS, House, text_of
from tests.models import FirstWords
from tests.pipeline.homes import WITHOUT_BERTSCORE, contents, copy_of, house_at, write_lines

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("only_tables")]
GOOD = {"ash", "birch", "cedar", "elm"}
REJECTED = {
    ("torn.txt", 0): ("torn", ["binary or damaged, no text", "convert it to text"]),
    ("empty.txt", 0): ("empty", ["the text is empty", "fill it or remove"]),
    ("blanks.txt", 0): ("blanks", ["only blanks", "fill it or remove"]),
    ("huge.txt", 0): ("huge", ["200000000 bytes", "max_bytes = 50000000", "split it, or raise"]),
    ("documents.jsonl", 2): ("documents.jsonl:2", ["'x/../y'", "contains '/'", "rename"]),
    ("documents.jsonl", 3): ("documents.jsonl:3", ["'x/y'", "contains '/'", "rename"]),
    ("documents.jsonl", 4): ("documents.jsonl:4", ["'up..'", "contains '..'", "rename"]),
    ("documents.jsonl", 5): ("documents.jsonl:5", ["300 characters, more than 200", "shorten"]),
    ("documents.jsonl", 6): ("ash", ["already used by ash.txt", "rename one"]),
    ("documents.jsonl", 7): ("documents.jsonl:7", ["line 7, column", "not JSON", "correct"]),
}
PROBLEMS = [
    ["queries.jsonl line 2, query 'lost'", "document 'oak' is not in the corpus", "add it or"],
    ["queries.jsonl line 3", "not JSON", "correct the line"],
    ["queries.jsonl line 4, query 'about-torn'", "'torn'", "was rejected"],
]


def record(document_id: str) -> dict:
    return {"document_id": document_id, "text": text_of(document_id)}


def question(query_id: str, document_id: str) -> dict:
    text = f"What happened to the boat of {document_id}?"
    references = ["The boat met the lamp."]
    return {"query_id": query_id, "text": text, "document_id": document_id} | {
        "references": references
    }


def write_hostile_corpus(house: House) -> None:
    """Four good documents and two good questions among all that is wrong."""
    house.write_document("ash")
    house.write_document("birch")
    (house.folder / "torn.txt").write_bytes(b"caf\xe9\0\1\2 by the river")
    (house.folder / "empty.txt").touch()
    (house.folder / "blanks.txt").write_text(" \n\t \n")
    (house.folder / "huge.txt").touch()
    os.truncate(house.folder / "huge.txt", 200_000_000)  # sparse: takes no disk
    ids = ["cedar", "x/../y", "x/y", "up..", "i" * 300, "ash"]
    malformed = '{"document_id": "seven", "text": '
    write_lines(house.folder / "documents.jsonl", [*map(record, ids), malformed, record("elm")])
    (house.folder / "corpus.toml").write_text(WITHOUT_BERTSCORE)
    write_lines(
        house.folder / "queries.jsonl",
        [
            question("about-ash", "ash"),
            question("lost", "oak"),
            '{"query_id": "torn", ',
            question("about-torn", "torn"),
            question("about-elm", "elm"),
        ],
    )


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    with house_at(tmp_path_factory.mktemp("hostile")) as house:
        write_hostile_corpus(house)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(House, "presented", True)  # with the metadata of its steps
            report = house.run(["bm25"])
        assert report.errors == []
        yield house


@pytest.fixture
def changeable(hostile: House, tmp_path: Path) -> Iterator[House]:
    with copy_of(hostile, tmp_path) as copy:
        yield copy


def column(house: House, table: str, name: str) -> list:
    return house.table(table)[name].to_pylist()


def test_good_documents_are_read_and_each_bad_one_is_a_row_with_cause_and_remedy(
    hostile: House,
) -> None:
    documents = hostile.table("documents").to_pylist()
    texts = {row["document_id"]: row["text"] for row in documents}
    assert texts == {document_id: text_of(document_id) for document_id in GOOD}
    assert set(column(hostile, "chunks", "document_id")) == GOOD
    rejected = hostile.table("rejected_documents").to_pylist()
    rows = {(row["file"], row["line"]): row for row in rejected}
    assert set(rows) == set(REJECTED)
    for index, (document_id, fragments) in REJECTED.items():
        assert rows[index]["document_id"] == document_id
        for fragment in fragments:
            assert fragment in rows[index]["reason"], index


def test_bad_questions_are_skipped_with_one_message_each(
    hostile: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert column(hostile, "queries", "query_id") == ["about-ash", "about-elm"]
    assert set(column(hostile, "summaries", "query_id")) == {"about-ash", "about-elm"}
    monkeypatch.setattr(House, "presented", True)  # the instance of the first run
    with hostile.instance() as instance:
        event = instance.get_latest_materialization_event(dg.AssetKey("queries"))
    assert event is not None
    assert event.asset_materialization is not None
    metadata = event.asset_materialization.metadata
    problems: Any = metadata["problems"].value
    for problem, fragments in zip(problems, PROBLEMS, strict=True):
        for fragment in fragments:
            assert fragment in problem


def test_bad_input_is_not_retried_and_a_repair_is_noticed(changeable: House) -> None:
    assert changeable.run().steps == []
    (changeable.folder / "torn.txt").write_text("café by the river")
    assert changeable.run().errors == []
    assert "torn" in column(changeable, "documents", "document_id")
    assert "torn" not in column(changeable, "rejected_documents", "document_id")
    assert "about-torn" in column(changeable, "summaries", "query_id")


def no_documents(house: House) -> None:
    for file in house.folder.iterdir():
        file.unlink()
    (house.folder / "notes.jpg").touch()


def no_folder(house: House) -> None:
    shutil.rmtree(house.folder)


def settings(text: str) -> Callable[[House], None]:
    def write(house: House) -> None:
        (house.folder / "corpus.toml").write_text(text)

    return write


BROKEN = [
    (no_documents, ["holds no document", "put in any of", "*.txt"]),
    (no_folder, ["does not exist", "does not exist"]),
    (settings("[chunkin]\nmax_tokens = 9\n"), ["corpus.toml", "unknown key 'chunkin'", "chunking"]),
    (settings("[chunking]\nmax_tokens = 'x'\n"), ["'chunking.max_tokens'", "'x'", "correct"]),
    (settings("[chunking]\nmax_tokens = 16\n"), ["overlap_tokens (32)", "max_tokens (16)"]),
    (settings("kind = 'opera'\n"), ["'kind'", "'opera'", "'meeting'"]),
    (settings("title = \n"), ["corpus.toml", "not valid TOML", "line 1"]),
    (settings("methods = ['bm52']\n"), ["unknown method 'bm52'; did you mean 'bm25'?"]),
]


def test_unreadable_corpus_keeps_its_tables(changeable: House, tmp_path: Path) -> None:
    before = contents(changeable)
    kept = tmp_path / "kept"
    shutil.copytree(changeable.folder, kept)
    for spoil, fragments in BROKEN:
        spoil(changeable)
        with pytest.raises(CorpusError) as error:
            changeable.run(["default"])
        for fragment in [CORPUS, *fragments]:
            assert fragment in str(error.value)
        shutil.rmtree(changeable.folder, ignore_errors=True)
        shutil.copytree(kept, changeable.folder)
    assert contents(changeable) == before
    assert changeable.run().steps == []


@pytest.mark.parametrize("name", ["../no-such-corpus", "a|b", "", ".hidden", "a" * 101, "två"])
def test_invalid_corpus_name_raises_before_anything_is_written(hostile: House, name: str) -> None:
    with pytest.raises(CorpusError, match="use letters, digits") as error:
        hostile.run(corpus=name)
    assert f"'{name}'" in str(error.value)
    with hostile.instance() as instance:
        assert instance.get_dynamic_partitions("corpora") == []


def test_model_failing_on_everything_keeps_the_tables(changeable: House) -> None:
    before = contents(changeable)
    changeable.model = FirstWords("sour", refuses="The")
    (error,) = changeable.run().errors
    assert error.startswith("retrieval/summaries")
    assert "none of 2 questions was answered" in error
    assert "refused: 'The' in the passages" in error
    assert contents(changeable) == before
