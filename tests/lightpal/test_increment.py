"""Candidates after changes of the corpus equal those of comparing all passages."""

from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gsum_assets.graphs import approximate
from gsum_assets.graphs import nearest as nearest_module
from gsum_assets.graphs.approximate import nearest_approximately
from gsum_assets.graphs.nearest import Comparison, nearest
from gsum_assets.lightpal import family, increment
from gsum_assets.lightpal.candidates import candidate_rows
from gsum_assets.lightpal.increment import Basis, Updated, updated_candidates
from gsum_assets.pipeline.result import Shown
from gsum_assets.pipeline.step import SETTINGS, Inputs
from gsum_assets.pipeline.tables import TABLES
from gsum_assets.retrieval.collection import Collection
from gsum_resources.store.lineage import code_version_of
from gsum_resources.store.parquet_store import ParquetStore, Partition, Provenance

Documents = dict[int, list[tuple[int, ...]]]
"""Vectors of the chunks of each document; a chunk is named by its vector, as by its text."""

TABLE, CORPUS = TABLES["lightpal.candidates"], "tales"


def collection_of(documents: Documents, dimension: int = 3) -> Collection:
    ids, vectors = [], []
    for name, chunks in sorted(documents.items()):
        for i, vector in enumerate(chunks):
            ids.append(f"{name}/{vector}/{chunks[:i].count(vector)}")
            vectors.append(np.array(vector) / 4)
    starts = np.cumsum([0, *(len(chunks) for _, chunks in sorted(documents.items()))])
    names = [f"d{name:02d}" for name in sorted(documents)]
    rows = np.array(vectors, np.float32).reshape(-1, dimension)
    return Collection(names, names, ids, ids, starts, rows)


def complete(rows: np.ndarray, n: int, on_progress: Any) -> approximate.Search:
    """A search that finds the nearest of all."""
    return lambda some, k: np.argsort(-(some @ rows.T), axis=1, kind="stable")[:, :k]


def compared(collection: Collection, n: int, is_exact: bool = True) -> Updated:
    """All passages are compared, as by the first run."""
    find = nearest if is_exact else partial(nearest_approximately, make_search=complete)
    lists = find(np.asarray(collection.embeddings), collection.starts, n)
    rows = candidate_rows(collection, *lists)
    return Updated(rows, Basis.of(collection, is_exact), lists[0], len(collection.chunk_ids))


def updated(collection: Collection, n: int, then: Updated, is_exact: bool = True) -> Updated | None:
    basis = Basis.of(collection, is_exact)
    return updated_candidates(collection, n, basis, (then.basis, then.rows))


# products of such vectors are exact in single precision, and many are equal
vectors = st.tuples(*[st.integers(-2, 2)] * 3)
chunks = st.lists(vectors, min_size=1, max_size=4)
corpora = st.dictionaries(st.integers(0, 11), chunks, min_size=1, max_size=12)
edits = st.tuples(st.integers(0, 11), st.none() | chunks | st.permutations(range(4)))


def edited(documents: Documents, name: int, edit: list | None) -> Documents:
    """A document added or replaced, or with its chunks in another order, or deleted."""
    others = {other: chunks for other, chunks in documents.items() if other != name}
    if edit is None:
        return others
    if isinstance(edit[0], tuple):
        return others | {name: edit}
    present = documents.get(name, [])
    moved = [present[i] for i in edit if i < len(present)]
    return others | {name: moved} if moved else others


@pytest.mark.parametrize("is_exact", [True, False])
@settings(max_examples=100, deadline=None)
@given(
    corpora,
    st.lists(st.lists(edits, min_size=1, max_size=3), max_size=5),
    st.integers(1, 12),
    st.integers(1, 200),
)
def test_any_history_ends_at_the_rows_of_a_rebuild(is_exact, documents, history, n, cells):
    """Of approximate neighbours if the search finds the nearest, and groups are few."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(nearest_module, "_CELLS_AT_ONCE", cells)
        patch.setattr(increment, "_MOST_CHANGED", 1.0)
        then = compared(collection_of(documents), n, is_exact)
        for batch in history:
            for name, edit in batch:
                documents = edited(documents, name, edit) or documents
            now = collection_of(documents)
            expected = compared(now, n, is_exact)
            then = updated(now, n, then, is_exact) or expected
            assert then.rows.equals(expected.rows)


def random_documents(n_documents: int, n_chunks: int, seed: int = 0) -> Documents:
    rows = np.random.default_rng(seed).normal(size=(n_documents, n_chunks, 16))
    rows *= 4 / np.linalg.norm(rows, axis=2, keepdims=True)
    return {name: [tuple(row) for row in chunks] for name, chunks in enumerate(rows.tolist())}


BEFORE = random_documents(80, 5)
OTHER = random_documents(1, 5, seed=1)[0]
CHANGES: dict[str, Documents] = {
    "nothing": BEFORE,
    "added": BEFORE | {80: OTHER},
    "deleted": {name: chunks for name, chunks in BEFORE.items() if name != 7},
    "one chunk replaced": BEFORE | {7: [*BEFORE[7][:4], OTHER[0]]},
    "the last chunk deleted": BEFORE | {7: BEFORE[7][:4]},
    "two chunks swapped": BEFORE | {7: [*BEFORE[7][1::-1], *BEFORE[7][2:]]},
}


@pytest.mark.parametrize("change", CHANGES)
def test_only_lists_that_lose_a_passage_are_compared_again(monkeypatch, change):
    n, counts = 8, Counter()
    then, now = (collection_of(documents, 16) for documents in (BEFORE, CHANGES[change]))
    earlier, expected = compared(then, n), compared(now, n)
    products = Comparison._products

    def counted(self: Comparison, groups: np.ndarray) -> np.ndarray:
        rows = products(self, groups)
        counts[len(self._starts) - 1] += len(rows)
        return rows

    monkeypatch.setattr(Comparison, "_products", counted)
    found = updated(now, n, earlier)
    assert found
    assert found.rows.equals(expected.rows)
    is_fresh = np.isin(now.chunk_ids, then.chunk_ids, invert=True)
    is_gone = np.isin(then.chunk_ids, now.chunk_ids, invert=True)
    n_losers = int(is_gone[earlier.of_chunks.indices].any(axis=1).sum())
    n_fresh = int(is_fresh.sum()) + (change == "two chunks swapped")
    assert n_fresh <= found.n_compared <= n_fresh + n_losers
    assert counts[len(now.chunk_ids)] == n_fresh + found.n_compared
    assert counts[len(now.document_ids)] <= (0 if change == "nothing" else 5 * 30)


def test_another_embedding_of_the_same_chunks_is_a_change():
    then, now = (collection_of(documents, 16) for documents in (BEFORE, BEFORE))
    assert now.embeddings is not None
    now.embeddings[33] = now.embeddings[2]
    found = updated(now, 8, compared(then, 8))
    assert found
    assert found.rows.equals(compared(now, 8).rows)
    now.embeddings[:200] *= -1
    assert updated(now, 8, compared(then, 8)) is None  # half of all


@pytest.mark.parametrize(("before", "now"), [(5, 3), (3, 5), (400, 500)])
def test_another_number_of_candidates(before, now):
    here = collection_of(BEFORE, 16)
    found = updated(here, now, compared(here, before))
    assert (found is None) == (before == 3)  # too few are stored
    assert not found or found.rows.equals(compared(here, now).rows)


# The step, which stores the basis beside its rows.


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., tuple[pa.Table, Shown]]:
    """Runs the step on documents; returns its rows and what it shows."""
    store, file = ParquetStore(str(tmp_path)), Partition(CORPUS)

    def of(documents: Documents, is_stored: bool = True, **sections: Any) -> tuple[pa.Table, Shown]:
        settings = {"lightpal.graph": {"n_candidates": 8}, "lightpal.neighbours": sections}
        here = SimpleNamespace(section=lambda corpus, name: settings[name])
        monkeypatch.setattr(family, "collection_of", lambda _: collection_of(documents, 16))
        result = family.FAMILY.index[0].result(Inputs({SETTINGS: here}, CORPUS, store=store))
        if is_stored:
            store.write(TABLE, file, result.rows, Provenance("", code_version_of(TABLE, "")))
        return result.rows, result.shown()["candidates"]

    return of


def test_step_compares_what_changed_since_its_stored_rows(run):
    _, shown = run(BEFORE)
    assert shown == {"neighbours": "exact", "chunks_compared": 400}
    rows, shown = run(CHANGES["added"], is_stored=False)  # killed before it stored them
    assert shown["chunks_compared"] == 5
    assert rows.equals(compared(collection_of(CHANGES["added"], 16), 8).rows)
    rows, shown = run(CHANGES["added"])
    assert shown["chunks_compared"] == 405
    _, shown = run(CHANGES["added"])
    assert shown["chunks_compared"] == 0


def test_exact_neighbours_are_not_made_of_approximate_ones(run, monkeypatch):
    whole = partial(nearest_approximately, make_search=complete)
    monkeypatch.setattr(family, "approximation", lambda n, most, _: whole if n > most else None)
    _, shown = run(BEFORE, exact_up_to=10)
    assert shown == {"neighbours": "approximate", "recall": 1.0, "chunks_compared": 400}
    _, shown = run(CHANGES["added"], exact_up_to=10)
    assert shown == {"neighbours": "approximate", "recall": 1.0, "chunks_compared": 5}
    _, shown = run(BEFORE, exact_up_to=1000)
    assert shown == {"neighbours": "exact", "chunks_compared": 400}
    _, shown = run(CHANGES["added"], exact_up_to=10)
    assert shown == {"neighbours": "exact", "chunks_compared": 5}
