"""Memoized values are available to every process."""

import hashlib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from gsum_resources.embedding.memoized import MemoizedEmbedder
from gsum_resources.store.memo import _MERGE_AT, Memo
from gsum_resources.store.parquet_store import ParquetStore
from tests.models import HashEmbedder


@pytest.fixture
def store(tmp_path: Path) -> ParquetStore:
    return ParquetStore(str(tmp_path))


def key(i: int) -> bytes:
    return i.to_bytes(16, "big")


def test_values_are_visible_to_other_processes_at_once(store: ParquetStore) -> None:
    mine, theirs = Memo(store, "kind", "model"), Memo(store, "kind", "model")
    mine.put({key(1): b"one", key(2): b""})
    assert theirs.get([key(1), key(2), key(3)]) == {key(1): b"one", key(2): b""}
    assert Memo(store, "kind", "another model").get([key(1)]) == {}


def test_values_of_this_process_alone_are_not_on_disk(store: ParquetStore) -> None:
    memo = Memo(store, "kind", "model")
    memo.put({key(1): b"one"})
    memo.put({key(2): b"two"}, on_disk=False)
    assert memo.get([key(1), key(2)]) == {key(1): b"one", key(2): b"two"}
    there = Memo(store, "kind", "model")
    assert there.get([key(1)], on_disk=False) == {}
    assert there.get([key(1), key(2)]) == {key(1): b"one"}


def test_many_segments_are_merged_without_loss(store: ParquetStore) -> None:
    memo, early = Memo(store, "kind", "model"), Memo(store, "kind", "model")
    memo.put({key(0): b"0"})
    assert early.get([key(0)]) == {key(0): b"0"}
    for i in range(1, _MERGE_AT + 20):
        memo.put({key(i): str(i).encode()})
    files = list(Path(store.root).rglob("*.parquet"))
    assert len(files) <= _MERGE_AT
    wanted = {key(i): str(i).encode() for i in range(_MERGE_AT + 20)}
    assert Memo(store, "kind", "model").get(wanted) == wanted
    assert early.get(wanted) == wanted


def test_keys_that_end_with_zeros_are_distinct(store: ParquetStore) -> None:
    zeros, one, early = key(0), key(1), b"\0\1" + bytes(14)
    Memo(store, "kind", "model").put({zeros: b"0", one: b"1", early: b"2"})
    found = Memo(store, "kind", "model").get([zeros, one, early, key(256), b"\0\1" * 8])
    assert found == {zeros: b"0", one: b"1", early: b"2"}


def test_several_writers_lose_nothing(store: ParquetStore) -> None:
    """Each merges what the others have just put, or finds it merged."""
    memos = [Memo(store, "kind", "model") for _ in range(4)]

    def put_all(nth: int) -> None:
        for i in range(40):
            memos[nth].put({key(1000 * nth + i): str(i).encode()})
            memos[nth].get([key(1000 * other + i) for other in range(4)])

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(put_all, range(4)))
    wanted = {key(1000 * nth + i): str(i).encode() for nth in range(4) for i in range(40)}
    assert Memo(store, "kind", "model").get(wanted) == wanted


def test_lookup_reads_and_caches_only_requested_keys(store: ParquetStore, monkeypatch) -> None:
    values = {hashlib.md5(bytes([i % 256, i // 256])).digest(): bytes(2000) for i in range(20_000)}
    Memo(store, "kind", "model").put(values)
    assert len(list(Path(store.root).glob("_memo/kind/*/*/*.parquet"))) == 16
    monkeypatch.setattr("gsum_resources.store.memo._RECENT_BYTES", 10_000)
    memo, groups = Memo(store, "kind", "model"), []
    read = pq.ParquetFile.read_row_group
    monkeypatch.setattr(
        pq.ParquetFile, "read_row_group", lambda file, n: groups.append(n) or read(file, n)
    )
    some = dict(list(values.items())[:3])
    assert memo.get(some) == some
    assert len(groups) <= 3
    assert memo.get(values) == values
    assert memo._recent._n_bytes <= 10_000


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


def test_queries_that_are_not_stored_are_embedded_once_in_a_process(store: ParquetStore) -> None:
    inner = HashEmbedder()
    embedder = MemoizedEmbedder(inner, store, stores_queries=False)
    assert (embedder.embed_queries(["a"]) == embedder.embed_queries(["a"])).all()
    assert inner.n_embedded == 1
    embedder.embed(["a"])
    assert inner.n_embedded == 2
    MemoizedEmbedder(inner, store).embed(["a"])
    assert inner.n_embedded == 2  # a passage is stored
    MemoizedEmbedder(inner, store).embed_queries(["a"])
    assert inner.n_embedded == 3
