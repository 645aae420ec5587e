"""What was computed once is known from then on, to every process."""

from pathlib import Path

import numpy as np
import pytest

from gsum_resources.journal import Entry
from gsum_resources.memo import MERGE_AT, Memo, MemoizedEmbedder
from gsum_resources.parquet_store import ParquetStore
from tests.models import HashEmbedder


@pytest.fixture
def store(tmp_path: Path) -> ParquetStore:
    return ParquetStore(str(tmp_path))


def key(i: int) -> bytes:
    return i.to_bytes(16, "big")


def test_values_are_seen_by_another_process_at_once(store: ParquetStore) -> None:
    mine, theirs = Memo(store, "kind", "model"), Memo(store, "kind", "model")
    mine.put({key(1): b"one", key(2): b""})
    assert theirs.get([key(1), key(2), key(3)]) == {key(1): b"one", key(2): b""}
    assert Memo(store, "kind", "another model").get([key(1)]) == {}


def test_many_segments_are_merged_and_nothing_is_lost(store: ParquetStore) -> None:
    memo, early = Memo(store, "kind", "model"), Memo(store, "kind", "model")
    memo.put({key(0): b"0"})
    assert early.get([key(0)]) == {key(0): b"0"}
    for i in range(1, MERGE_AT + 20):
        memo.put({key(i): str(i).encode()})
    files = list(Path(store.root).rglob("*.parquet"))
    assert len(files) < MERGE_AT
    wanted = {key(i): str(i).encode() for i in range(MERGE_AT + 20)}
    assert Memo(store, "kind", "model").get(wanted) == wanted
    assert early.get(wanted) == wanted


def test_a_journal_is_read_while_it_grows_and_after_it_was_folded(store: ParquetStore) -> None:
    mine, theirs = Memo(store, "kind", "model"), Memo(store, "kind", "model")
    journal = mine.open_journal()
    wanted = [key(i) for i in range(3)]
    assert theirs.get(wanted) == {}
    journal.append(Entry(key(0), b"zero", b"a note"))
    assert theirs.get(wanted) == {key(0): b"zero"}
    journal.append(Entry(key(1), b"", b""))
    journal.append(Entry(key(2), None, b"an error"))
    known = {key(0): b"zero", key(1): b""}
    assert theirs.get(wanted) == known
    mine.put(known)
    journal.remove()
    journal.close()
    assert theirs.get(wanted) == known
    assert Memo(store, "kind", "model").get(wanted) == known


def test_each_distinct_text_is_embedded_once(store: ParquetStore) -> None:
    inner = HashEmbedder()
    embedder = MemoizedEmbedder(inner, store)
    first = embedder.embed(["a", "b", "a"])
    assert inner.n_embedded == 2
    again = MemoizedEmbedder(inner, store).embed(["b", "a"])
    assert inner.n_embedded == 2
    assert (again == first[[1, 0]]).all()
    assert embedder.embed([]).shape == (0, inner.dimension)
    assert np.allclose(np.linalg.norm(first, axis=1), 1)
