"""Changes write exactly what depends on them again, each file once."""

import os
import re
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest

from gsum_assets.pipeline.tables import TABLES
from gsum_assets.runner.report import RunReport
from tests.conftest import READ_TOGETHER, House, document_in, furnish, text_of, written_by
from tests.models import HashEmbedder
from tests.pipeline.homes import (
    LEDGERS,
    contents,
    copy_of,
    emptied_copy_of,
    house_at,
    write_lines,
)

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("only_tables")]
DOCUMENT_LEVEL = (*READ_TOGETHER, "chunks", "chunk_embeddings")
RESULTS = tuple(
    f"retrieval/{t}" for t in ("rankings", "contexts", "answer_sources", "summaries", "scores")
)
BOARD = ("comparisons", "costs", "curves", "leaderboard")  # written in one step
ONE_BUCKET, ALL_BUCKETS = "1 of 8 buckets", "8 of 8 buckets"
BOTH = "methods bm25, dense"
METHODS = ["bm25", "dense"]
NEW, OLD_NAME, NEW_NAME = document_in(5, 1), document_in(2), document_in(6, 1)
GONE = (document_in(0, 1), document_in(7))


def rebuilt(house: House, tmp_path: Path) -> dict[str, str]:
    """The same corpus, indexed in another home."""
    with emptied_copy_of(house, tmp_path / "other") as other:
        assert not other.run(METHODS).errors
        return contents(other)


@pytest.fixture(scope="module")
def first_run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[House, RunReport]]:
    with house_at(tmp_path_factory.mktemp("first")) as house:
        furnish(house)
        report = house.run(METHODS)
        assert not report.errors
        yield house, report


@pytest.fixture(scope="module")
def edited(
    first_run: tuple[House, RunReport], tmp_path_factory: pytest.TempPathFactory
) -> tuple[House, RunReport]:
    """A copy with one rewritten document, and its run."""
    with copy_of(first_run[0], tmp_path_factory.mktemp("edited")) as house:
        house.write_document(document_in(3), "A lighthouse stood on the clerk's island. " * 20)
        return house, house.run()


@pytest.fixture(scope="module")
def rearranged(
    edited: tuple[House, RunReport], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[House, int]]:
    """A copy of that, one document added, one renamed, two deleted; number of embedded texts."""
    with copy_of(edited[0], tmp_path_factory.mktemp("rearranged")) as house:
        before = house.embedder.n_embedded
        house.write_document(NEW)
        (house.folder / f"{OLD_NAME}.txt").rename(house.folder / f"{NEW_NAME}.txt")
        for document_id in GONE:
            (house.folder / f"{document_id}.txt").unlink()
        assert not house.run().errors
        yield house, house.embedder.n_embedded - before


@pytest.fixture
def indexed(first_run: tuple[House, RunReport], tmp_path: Path) -> Iterator[House]:
    with copy_of(first_run[0], tmp_path) as copy:
        yield copy


def test_first_run_writes_everything(first_run: tuple[House, RunReport]) -> None:
    judged = ("generated_questions", "assertions", "judgements", "win_rates")
    of_questions = ("queries", "query_embeddings", "answerability")
    expected = dict.fromkeys(DOCUMENT_LEVEL, ALL_BUCKETS) | dict.fromkeys(RESULTS, BOTH)
    others = ("retrieval/index", *of_questions, *judged, *BOARD)
    assert written_by(first_run[1]) == expected | dict.fromkeys(others, "all rows")


def test_unchanged_corpus_starts_no_run(indexed: House) -> None:
    assert indexed.run().steps == []


def test_touched_file_starts_no_run(indexed: House) -> None:
    os.utime(indexed.folder / f"{document_in(3)}.txt", (1, 1))
    assert indexed.run().steps == []


def test_edit_writes_one_bucket_and_what_depends_on_it(edited: tuple[House, RunReport]) -> None:
    expected = dict.fromkeys(DOCUMENT_LEVEL, ONE_BUCKET) | dict.fromkeys(RESULTS, BOTH)
    # the questions were read again and are unchanged: nothing depends on that
    others = ("queries", "retrieval/index", "answerability", *BOARD)
    assert written_by(edited[1]) == expected | dict.fromkeys(others, "all rows")


def test_trailing_blanks_stop_at_the_documents(indexed: House) -> None:
    indexed.write_document(document_in(3), text_of(document_in(3)) + " \n\n")
    assert written_by(indexed.run(METHODS)) == dict.fromkeys(READ_TOGETHER, ONE_BUCKET)


def test_title_change_stops_at_assets_without_titles(indexed: House) -> None:
    document_id, text = document_in(3), text_of(document_in(3))
    (indexed.folder / f"{document_id}.txt").unlink()
    row = {"document_id": document_id, "text": text, "title": "A title"}
    write_lines(indexed.folder / "documents.jsonl", [row])
    written = written_by(indexed.run(METHODS))
    assert written["chunks"] == ONE_BUCKET
    assert "chunk_embeddings" not in written
    of_dense = {name for name in written if "dense" in written[name]}
    # language models are shown the titles of passages
    assert of_dense <= {f"retrieval/{n}" for n in ("rankings", "answer_sources", "summaries")}


def test_edits_additions_renames_and_deletions_equal_a_rebuild(
    rearranged: tuple[House, int], tmp_path: Path
) -> None:
    house, _ = rearranged
    assert contents(house) == rebuilt(house, tmp_path)


def test_deleted_document_is_in_no_table(rearranged: tuple[House, int]) -> None:
    house, _ = rearranged
    for name in TABLES:
        if name not in LEDGERS:
            rows = str(house.table(name).to_pylist())
            for gone in GONE:
                assert not re.search(rf"\b{gone}\b", rows), name


def test_changed_embedding_model_writes_only_what_depends_on_it(indexed: House) -> None:
    indexed.embedder = HashEmbedder("another", dimension=12)
    expected = {"chunk_embeddings": ALL_BUCKETS} | dict.fromkeys(RESULTS, "methods dense (of 2)")
    others = ("query_embeddings", "answerability", "retrieval/index", *BOARD)
    assert written_by(indexed.run()) == expected | dict.fromkeys(others, "all rows")
    kind = indexed.table("chunk_embeddings").schema.field("embedding").type
    assert kind == pa.list_(pa.float32(), 12)


def test_changed_chunking_writes_chunks_and_what_depends_on_them(indexed: House) -> None:
    settings = indexed.folder / "corpus.toml"
    kept = settings.read_text()
    settings.write_text(f"{kept}\n[chunking]\nmax_tokens = 64\noverlap_tokens = 8\n")
    written = written_by(indexed.run())
    assert written["chunks"] == ALL_BUCKETS
    assert not {"documents", "queries"} & set(written)


def test_unchanged_texts_are_not_embedded_again(rearranged: tuple[House, int]) -> None:
    house, n_embedded = rearranged
    assert n_embedded == house.table("chunks")["document_id"].to_pylist().count(NEW)


def test_additional_method_writes_only_itself(indexed: House) -> None:
    expected = dict.fromkeys(RESULTS, "methods tfidf (of 3)") | dict.fromkeys(BOARD, "all rows")
    assert written_by(indexed.run(["tfidf"])) == expected
    methods = set(indexed.table("leaderboard")["method"].to_pylist())
    assert methods == {"bm25", "dense", "tfidf"}
