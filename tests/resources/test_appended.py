"""Files of an append-only table are united without losing a row or counting one twice."""

from pathlib import Path

import pyarrow as pa
import pytest

from gsum_assets.pipeline.tables import TABLES
from gsum_resources.embedding.memoized import Batch, enter_batch
from gsum_resources.store.appended import MANY, path_of, read_appended, unite_appended
from gsum_resources.store.parquet_store import ParquetStore

TABLE = TABLES["embedding_calls"]


@pytest.fixture
def store(tmp_path: Path) -> ParquetStore:
    return ParquetStore(str(tmp_path))


def enter(store: ParquetStore, numbers: range) -> None:
    for number in numbers:
        batch = Batch("hash", number, 0, 0.0, 0.0)
        enter_batch(store, TABLE, "tales", "chunk_embeddings", batch)


def counted(store: ParquetStore) -> list[int]:
    return sorted(read_appended(store, TABLE, "tales")["n_texts"].to_pylist())


def n_files(store: ParquetStore) -> int:
    return len(store.fs.glob(path_of(store, TABLE, "tales", "*")))


def test_few_files_are_left_alone(store: ParquetStore) -> None:
    enter(store, range(MANY - 1))
    unite_appended(store, TABLE, "tales")
    assert n_files(store) == MANY - 1


def test_many_files_become_one_again_and_again(store: ParquetStore) -> None:
    enter(store, range(MANY))
    unite_appended(store, TABLE, "tales")
    assert n_files(store) == 1
    enter(store, range(MANY, 2 * MANY))
    assert counted(store) == list(range(2 * MANY))
    unite_appended(store, TABLE, "tales")
    assert n_files(store) == 1
    assert counted(store) == list(range(2 * MANY))


def test_a_killed_process_leaves_no_row_twice(
    store: ParquetStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    enter(store, range(MANY))

    def killed(path: str) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(store.fs, "rm_file", killed)
        with pytest.raises(KeyboardInterrupt):
            unite_appended(store, TABLE, "tales")
    assert n_files(store) == MANY + 1
    assert counted(store) == list(range(MANY))
    unite_appended(store, TABLE, "tales")
    assert n_files(store) == 1
    assert counted(store) == list(range(MANY))


def test_a_reader_that_meets_removed_files_reads_again(
    store: ParquetStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    enter(store, range(MANY))
    listed = store.fs.glob(path_of(store, TABLE, "tales", "*"))
    unite_appended(store, TABLE, "tales")
    glob = store.fs.glob
    answers = iter([listed])
    monkeypatch.setattr(store.fs, "glob", lambda path: next(answers, None) or glob(path))
    assert counted(store) == list(range(MANY))


def test_a_corpus_without_files_has_no_rows(store: ParquetStore) -> None:
    unite_appended(store, TABLE, "tales")
    assert read_appended(store, TABLE, "tales").equals(pa.table(TABLE.empty()))
