"""Candidates after a change of the corpus, with and without what was found before."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from gsum_assets.graphs import nearest_again
from gsum_assets.lightpal.candidates import candidates
from gsum_assets.lightpal.earlier import basis_of, carried_lists, read_recall
from gsum_assets.pipeline.tables import TABLES
from gsum_assets.retrieval.collection import Collection
from gsum_resources.store.earlier import Earlier
from gsum_resources.store.lineage import code_version_of
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
def earlier(tmp_path: Path) -> Earlier:
    return Earlier(ParquetStore(str(tmp_path)), TABLE, CORPUS)


def keep(earlier: Earlier, rows: pa.Table, then: Collection, recall: float | None = None) -> None:
    """Store rows as a step does."""
    earlier.write_basis(rows, basis_of(then.digests, recall))
    written = Provenance("", code_version_of(TABLE, ""))
    assert earlier.store
    earlier.store.write(TABLE, Partition(CORPUS), rows, written)


@pytest.mark.parametrize("n", [5, 100])
@pytest.mark.parametrize("change", CHANGES)
def test_equals_a_full_comparison(earlier, monkeypatch, change, n):
    then = a_collection(SIZES)
    keep(earlier, candidates(then, n), then)
    now = CHANGES[change]
    expected = candidates(now, n)
    if n == 5:  # nothing is compared as at first
        monkeypatch.setattr(nearest_again, "nearest", None)
    assert candidates(now, n, carried=carried_lists(earlier, now)).equals(expected)


def test_changed_number_of_candidates(earlier):
    then, now = a_collection(SIZES), CHANGES["added"]
    assert carried_lists(earlier, now) is None
    keep(earlier, candidates(then, 5), then)
    for n in (3, 8):
        carried = carried_lists(earlier, now)
        assert candidates(now, n, carried=carried).equals(candidates(now, n))


def test_recall_of_approximate_lists_is_known(earlier):
    then, store = a_collection(SIZES), earlier.store
    assert store
    assert read_recall(store, CORPUS) is None
    for recall in (0.987654321, None):
        keep(earlier, candidates(then, 5), then, recall)
        carried = carried_lists(earlier, then)
        assert carried
        assert carried.recall == read_recall(store, CORPUS) == recall
