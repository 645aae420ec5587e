"""Arrays of a corpus are kept by version, replaced and removed."""

import os
from pathlib import Path

import numpy as np

from gsum_resources.store.array_cache import ArrayCache, forget_arrays
from gsum_resources.store.parquet_store import ParquetStore


def files(store: ParquetStore) -> set[str]:
    return {path.relative_to(store.root).as_posix() for path in Path(store.root).rglob("*.npy")}


def test_a_version_is_mapped_and_others_are_removed(tmp_path: Path):
    store = ParquetStore(str(tmp_path))
    cache = ArrayCache(store, "tales")
    assert cache.read("index", "1") is None
    cache.write("index", "1", {"a": np.arange(3)})
    first = cache.read("index", "1")
    assert first is not None
    assert isinstance(first["a"].base, np.memmap)
    cache.write("other", "1", {"a": np.arange(1)})
    cache.write("index", "2", {"a": np.arange(4), "b": np.zeros(2)})
    cache.write("index", "2", {"a": np.arange(4), "b": np.zeros(2)})  # by another process
    assert len(files(store)) == 4
    left, writing = (tmp_path / f"_memo/arrays/corpus=tales/index/.{name}" for name in "ab")
    left.mkdir()
    writing.mkdir()
    os.utime(left, (0, 0))  # by a writer that was killed
    cache.keep_only("index", ["2"])
    cache.keep_only("never kept", [])
    assert not left.exists()
    assert writing.exists()
    assert cache.read("index", "1") is None
    assert first["a"].tolist() == [0, 1, 2]  # its reader keeps it
    found = cache.read("index", "2")
    assert found is not None
    assert sorted(found) == ["a", "b"]
    folder = "_memo/arrays/corpus=tales"
    names = ("index/2/a", "index/2/b", "other/1/a")
    assert files(store) == {f"{folder}/{name}.npy" for name in names}


def test_one_corpus_is_forgotten(tmp_path: Path):
    store = ParquetStore(str(tmp_path))
    for corpus in ("tales", "letters"):
        ArrayCache(store, corpus).write("index", "1", {"a": np.arange(3)})
    forget_arrays(store, "tales")
    forget_arrays(store, "never kept")
    assert files(store) == {"_memo/arrays/corpus=letters/index/1/a.npy"}


def test_an_object_store_keeps_none():
    cache = ArrayCache(ParquetStore("memory://home"), "tales")
    cache.write("index", "1", {"a": np.arange(3)})
    cache.keep_only("index", [])
    assert cache.read("index", "1") is None
