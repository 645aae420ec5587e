"""Changes rematerialize exactly what depends on them, each partition once."""

import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest

from gsum_assets.pipeline.tables import TABLES
from gsum_assets.runner.run import RunReport
from gsum_resources.settings.home import Home
from tests.conftest import READ_TOGETHER, House, document_in, furnish, materialized_by, text_of
from tests.models import HashEmbedder
from tests.pipeline.homes import LEDGERS, contents, copy_of, house_at, write_lines

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("only_tables")]
DOCUMENT_LEVEL = (*READ_TOGETHER, "chunks", "chunk_embeddings")
RESULTS = tuple(
    f"retrieval/{t}" for t in ("rankings", "contexts", "answer_sources", "summaries", "scores")
)
BOARD = ("comparisons[]", "costs[]", "curves[]", "leaderboard[]")  # written in one step
METHODS = ["bm25", "dense"]
NEW, OLD_NAME, NEW_NAME = document_in(5, 1), document_in(2), document_in(6, 1)
GONE = (document_in(0, 1), document_in(7))


def rebuilt(house: House, tmp_path: Path) -> dict[str, str]:
    """The same corpus, indexed in another home."""
    other = House(Home(tmp_path / "other", str(tmp_path / "other" / "warehouse")), house.embedder)
    shutil.copytree(house.home.corpora, other.home.corpora)
    old = os.environ.pop("DAGSTER_HOME", None)
    try:
        assert not other.run(METHODS).errors
    finally:
        if old:
            os.environ["DAGSTER_HOME"] = old
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


def test_first_run_materializes_everything_once(first_run: tuple[House, RunReport]) -> None:
    materialized = materialized_by(first_run[1])
    expected = [f"{asset}[0{b}]" for asset in DOCUMENT_LEVEL for b in range(8)]
    expected += [f"{asset}[{method}]" for asset in RESULTS for method in METHODS]
    expected.append("retrieval/index[]")
    judged = [f"{n}[]" for n in ("generated_questions", "assertions", "judgements", "win_rates")]
    expected += ["queries[]", "query_embeddings[]", "answerability[]"]
    # of those that are judged or generated there are none
    assert materialized == sorted([*expected, *judged, *BOARD])


def test_unchanged_corpus_materializes_nothing(indexed: House) -> None:
    assert materialized_by(indexed.run()) == []


def test_touched_file_materializes_nothing(indexed: House) -> None:
    os.utime(indexed.folder / f"{document_in(3)}.txt", (1, 1))
    assert materialized_by(indexed.run()) == []


def test_edit_materializes_one_bucket_and_its_descendants(edited: tuple[House, RunReport]) -> None:
    materialized = materialized_by(edited[1])
    expected = [f"{asset}[03]" for asset in DOCUMENT_LEVEL]
    expected += [f"{asset}[{method}]" for asset in RESULTS for method in METHODS]
    expected += ["retrieval/index[]", "answerability[]"]
    # the questions were read again and are unchanged: nothing depends on that
    assert materialized == sorted([*expected, "queries[]", *BOARD])


def test_trailing_blanks_stop_at_the_documents(indexed: House) -> None:
    indexed.write_document(document_in(3), text_of(document_in(3)) + " \n\n")
    assert materialized_by(indexed.run(METHODS)) == sorted(
        f"{asset}[03]" for asset in READ_TOGETHER
    )


def test_title_change_stops_at_assets_without_titles(indexed: House) -> None:
    document_id, text = document_in(3), text_of(document_in(3))
    (indexed.folder / f"{document_id}.txt").unlink()
    row = {"document_id": document_id, "text": text, "title": "A title"}
    write_lines(indexed.folder / "documents.jsonl", [row])
    materialized = materialized_by(indexed.run(METHODS))
    assert "chunks[03]" in materialized
    assert "chunk_embeddings[03]" not in materialized
    of_dense = {name for name in materialized if name.endswith("[dense]")}
    # language models are shown the titles of passages
    assert of_dense <= {
        f"retrieval/{n}[dense]" for n in ("rankings", "answer_sources", "summaries")
    }


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


def test_changed_embedding_model_materializes_only_its_descendants(indexed: House) -> None:
    indexed.embedder = HashEmbedder("another", dimension=12)
    materialized = materialized_by(indexed.run())
    expected = [f"chunk_embeddings[0{b}]" for b in range(8)]
    expected += [f"{asset}[dense]" for asset in RESULTS]
    expected += ["query_embeddings[]", "answerability[]", "retrieval/index[]"]
    assert materialized == sorted([*expected, *BOARD])
    kind = indexed.table("chunk_embeddings").schema.field("embedding").type
    assert kind == pa.list_(pa.float32(), 12)


def test_changed_chunking_materializes_chunks_and_descendants(indexed: House) -> None:
    (indexed.folder / "corpus.toml").write_text("[chunking]\nmax_tokens = 64\noverlap_tokens = 8\n")
    materialized = materialized_by(indexed.run())
    assert {f"chunks[0{b}]" for b in range(8)} <= set(materialized)
    assert not [name for name in materialized if name.startswith("documents")]
    assert len(materialized) == len(set(materialized))


def test_unchanged_texts_are_not_embedded_again(rearranged: tuple[House, int]) -> None:
    house, n_embedded = rearranged
    assert n_embedded == house.table("chunks")["document_id"].to_pylist().count(NEW)


def test_additional_method_materializes_only_itself(indexed: House) -> None:
    materialized = materialized_by(indexed.run(["tfidf"]))
    assert materialized == sorted([*(f"{asset}[tfidf]" for asset in RESULTS), *BOARD])
    methods = set(indexed.table("leaderboard")["method"].to_pylist())
    assert methods == {"bm25", "dense", "tfidf"}
