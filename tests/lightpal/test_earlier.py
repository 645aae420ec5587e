"""Candidates after a change of the corpus, with and without what was found before."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from gsum_assets.graphs import nearest_again
from gsum_assets.lightpal.candidates import candidates
from gsum_assets.lightpal.earlier import note, read_earlier
from gsum_assets.pipeline.tables import TABLES
from gsum_assets.retrieval.collection import Collection
from gsum_resources.store.parquet_store import ParquetStore, Partition, Provenance

TABLE, CORPUS = TABLES["lightpal.candidates"], "tales"


def a_collection(sizes: dict[str, int], seeds: dict[str, int] | None = None) -> Collection:
    """Documents with random chunks, which depend on name and seed alone."""
    ids, texts, vectors = [], [], []
    for name, size in sorted(sizes.items()):
        random = np.random.default_rng([*name.encode(), (seeds or {}).get(name, 0)])
        rows = random.normal(size=(size, 16)).astype(np.float32)
        vectors.append(rows / np.linalg.norm(rows, axis=1, keepdims=True))
        ids += [f"c-{name}-{i}" for i in range(size)]
        texts += [f"{name} {i}" for i in range(size)]
    names = sorted(sizes)
    starts = np.cumsum([0, *(sizes[name] for name in names)])
    return Collection(names, names, ids, texts, starts, np.concatenate(vectors))


SIZES = {f"d{i:02d}": 1 + i % 5 for i in range(40)}
CHANGES = {
    "nothing": a_collection(SIZES),
    "added": a_collection(SIZES | {"d07a": 3}),
    "deleted": a_collection({name: n for name, n in SIZES.items() if name != "d11"}),
    "embedded anew": a_collection(SIZES, {"d03": 1}),
    "longer": a_collection(SIZES | {"d20": 9}),
}


@pytest.fixture
def store(tmp_path) -> ParquetStore:
    return ParquetStore(str(tmp_path))


def keep(store: ParquetStore, rows: pa.Table) -> None:
    store.write(TABLE, Partition(CORPUS), rows, Provenance("", "2"))


@pytest.mark.parametrize("n", [5, 100])
@pytest.mark.parametrize("change", CHANGES)
def test_equals_a_full_comparison(store, monkeypatch, change, n):
    then = a_collection(SIZES)
    rows = candidates(then, n)
    note(store, CORPUS, rows, then)
    keep(store, rows)
    now = CHANGES[change]
    expected = candidates(now, n)
    if n == 5:  # nothing is compared as at first
        monkeypatch.setattr(nearest_again, "nearest", None)
    assert candidates(now, n, earlier=read_earlier(store, CORPUS)).equals(expected)


def test_list_of_another_file_is_ignored(store):
    then = a_collection(SIZES)
    rows = candidates(then, 5)
    assert read_earlier(store, CORPUS) is None
    note(store, CORPUS, rows, then)
    assert read_earlier(store, CORPUS) is None  # killed before the table was written
    keep(store, candidates(then, 4))
    assert read_earlier(store, CORPUS) is None
    keep(store, rows)
    assert read_earlier(store, CORPUS) is not None


def test_changed_number_of_candidates(store):
    then = a_collection(SIZES)
    rows = candidates(then, 5)
    note(store, CORPUS, rows, then)
    keep(store, rows)
    earlier = read_earlier(store, CORPUS)
    for n in (3, 8):
        assert candidates(CHANGES["added"], n, earlier=earlier).equals(
            candidates(CHANGES["added"], n)
        )


def test_table_of_an_older_gsum_is_ignored(store):
    then = a_collection(SIZES)
    rows = candidates(then, 5)
    note(store, CORPUS, rows, then)
    keep(store, rows)
    path = store.path(TABLE, Partition(CORPUS))
    file = pq.read_table(path)
    pq.write_table(file.drop_columns(["candidates", "similarities"]), path)
    assert read_earlier(store, CORPUS) is None
