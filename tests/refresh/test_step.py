"""The one way to execute a step: it writes its stale files, and each in one piece."""

import json
import os

import pytest

from gsum_assets.refresh import step
from gsum_assets.refresh.inputs import Run, StepReader
from gsum_assets.refresh.step import MethodsFailedError
from gsum_assets.retrieval.methods import RETRIEVERS
from gsum_resources.store.parquet_store import Partition
from tests.conftest import CORPUS, House, document_in
from tests.models import FirstWords
from tests.refresh.steps import look, refresh_due, refreshed

BUCKETS = [Partition(CORPUS, f"0{i}") for i in range(8)]
BM25, TFIDF = (Partition(CORPUS, method=method) for method in ("bm25", "tfidf"))


@pytest.fixture
def broken(monkeypatch: pytest.MonkeyPatch) -> None:
    """`tfidf` cannot rank."""

    def fail(*_: object) -> None:
        raise RuntimeError("no memory")

    monkeypatch.setitem(RETRIEVERS, "tfidf", fail)


def test_step_with_nothing_stale_writes_nothing(small: House) -> None:
    small.model = FirstWords()
    assert refresh_due(small, "bm25") == []
    for name in ("documents", "chunks", "retrieval/summaries", "leaderboard"):
        assert refreshed(small, name, ["bm25"]).written == []
    assert small.model.n_requests == 0


def test_edit_writes_its_bucket_alone(small: House) -> None:
    small.write_document(document_in(3), "A lighthouse saw the boat. " * 40)
    look(small)
    assert refreshed(small, "documents", ["bm25"]).written == [BUCKETS[3]]
    assert refreshed(small, "chunks", ["bm25"]).written == [BUCKETS[3]]


def test_table_that_is_written_again_without_a_difference_stops_there(small: House) -> None:
    file = small.folder / f"{document_in(3)}.txt"
    os.utime(file, (1, 1))
    assert refresh_due(small, "bm25") == []
    file.write_text(f"{file.read_text()} \n\n")  # blanks at the end are no part of the text
    assert refresh_due(small, "bm25") == ["documents"]


def test_vectors_depend_on_texts_and_not_on_titles(small: House) -> None:
    file = small.folder / f"{document_in(3)}.txt"
    row = {"document_id": file.stem, "text": file.read_text(), "title": "A title"}
    (small.folder / "documents.jsonl").write_text(json.dumps(row))
    file.unlink()
    small.embedder.n_embedded = 0
    written = refresh_due(small, "bm25")
    assert "chunks" in written
    assert "chunk_embeddings" not in written
    assert small.embedder.n_embedded == 0


def test_other_chunks_are_embedded_and_ranked_anew(small: House) -> None:
    settings = small.folder / "corpus.toml"
    settings.write_text(
        f"{settings.read_text()}\n[chunking]\nmax_tokens = 64\noverlap_tokens = 8\n"
    )
    written = refresh_due(small, "bm25")
    assert {"chunks", "chunk_embeddings", "retrieval/rankings"} <= {*written}
    assert {"documents", "queries", "query_embeddings"}.isdisjoint(written)


def test_buckets_are_computed_in_blocks(small: House, monkeypatch: pytest.MonkeyPatch) -> None:
    (small.home.root / "gsum.toml").write_text("[automation]\nbuckets_per_run = 3\n")
    sizes, computed = [], step._computed

    def noted(reader: StepReader) -> step.Result:
        sizes.append(len(reader.files))
        return computed(reader)

    monkeypatch.setattr(step, "_computed", noted)
    before = small.table("chunks")
    assert refreshed(small, "chunks", ["bm25"], Run(force=True)).written == BUCKETS
    assert sizes == [3, 3, 2]
    assert small.table("chunks") == before


def test_force_writes_again_what_is_up_to_date(small: House) -> None:
    assert refreshed(small, "retrieval/rankings", ["bm25"]).written == []
    assert refreshed(small, "retrieval/rankings", ["bm25"], Run(force=True)).written == [BM25]


def test_method_that_fails_leaves_the_others_written(small: House, broken: None) -> None:
    warnings: list[str] = []
    run, methods = Run(force=True, warn=warnings.append), ["bm25", "tfidf"]
    done = refreshed(small, "retrieval/rankings", methods, run)
    assert done.written == [BM25]
    assert list(done.failed) == ["tfidf"]
    assert warnings == ["retrieval/rankings: tfidf: no memory"]
    with pytest.raises(MethodsFailedError, match=r"tfidf: no memory \(the other methods are wri"):
        done.raise_failed()

    done = refreshed(small, "retrieval/contexts", methods, run)
    assert done.written == [BM25]
    assert not done.failed
    left_out = "retrieval/contexts: tfidf is left out: what it depends on is missing"
    assert warnings[1:] == [left_out]


def test_single_method_that_fails_raises_its_own_error(small: House, broken: None) -> None:
    with pytest.raises(RuntimeError, match="no memory"):
        refreshed(small, "retrieval/rankings", ["tfidf"])
    assert TFIDF not in small.store.partitions(step.TABLES["rankings"])


def test_missing_rows_are_requested_by_every_run(small: House) -> None:
    small.model = FirstWords("picky", refuses=document_in(3))
    done = refreshed(small, "retrieval/summaries", ["bm25"])
    assert (done.written, len(done.failures)) == ([BM25], 1)
    assert small.table("summaries").num_rows == 1
    small.model = FirstWords("picky")
    assert refreshed(small, "retrieval/summaries", ["bm25"]).written == [BM25]
    assert small.table("summaries").num_rows == 2
    assert small.model.n_requests == 1
