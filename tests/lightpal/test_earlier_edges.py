"""Edges after a change of the corpus, with and without those chosen before."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from gsum_assets.lightpal import passage_edges as module
from gsum_assets.lightpal.candidates import candidates
from gsum_assets.lightpal.context_scores import context_scores
from gsum_assets.lightpal.earlier_edges import earlier_edges, edges_basis, hashes_of_lists
from gsum_assets.lightpal.lists import Lists, lists_of, scores_of_lists
from gsum_assets.lightpal.passage_edges import edges_among
from gsum_assets.pipeline.tables import TABLES
from gsum_assets.retrieval.collection import Collection
from gsum_resources.scoring.unigram import UnigramScorer
from gsum_resources.store.earlier import Earlier
from gsum_resources.store.lineage import code_version_of
from gsum_resources.store.parquet_store import ParquetStore, Partition, Provenance
from tests.lightpal.test_earlier import CHANGES, SIZES, a_collection

TABLE, CORPUS = TABLES["lightpal.passage_edges"], "tales"
THEN = a_collection(SIZES)


def listed(collection: Collection) -> tuple[Lists, Mapping[str, np.ndarray]]:
    found = candidates(collection, 8)
    lists = lists_of(found, collection, "similarities")
    return lists, scores_of_lists(context_scores(found, collection, UnigramScorer()), lists)


def chosen(collection: Collection) -> pa.Table:
    return edges_among(*listed(collection), collection, 3)


@pytest.fixture
def stored(tmp_path: Path) -> Earlier:
    """The edges of `THEN`."""
    stored = Earlier(ParquetStore(str(tmp_path)), TABLE, CORPUS)
    lists, scores = listed(THEN)
    rows = edges_among(lists, scores, THEN, 3)
    stored.write_basis(rows, edges_basis(lists, hashes_of_lists(lists, scores)))
    written = Provenance("", code_version_of(TABLE, ""))
    stored.store.write(TABLE, Partition(CORPUS), rows, written)
    return stored


@pytest.mark.parametrize("change", CHANGES)
def test_equals_a_new_choice(stored, monkeypatch, change):
    now = CHANGES[change]
    expected = chosen(now)
    lists, scores = listed(now)
    earlier = earlier_edges(stored)
    assert earlier is not None
    due, of_block = [], module._of_block
    monkeypatch.setattr(
        module, "_of_block", lambda *given: due.extend(given[-1]) or of_block(*given)
    )
    hashes = hashes_of_lists(lists, scores)
    found = edges_among(lists, scores, now, 3, earlier, hashes)
    assert found.combine_chunks().equals(expected.combine_chunks())
    n_passages = len(now.document_ids) + len(now.chunk_ids)
    assert len(due) < n_passages
    if change == "nothing":
        assert not due


def test_other_scores_are_another_list():
    lists, scores = listed(THEN)
    before = hashes_of_lists(lists, scores)
    other = scores["node"].copy()
    other[3, 2] += 1e-9
    after = hashes_of_lists(lists, {**scores, "node": other})
    assert np.flatnonzero(before["node"] != after["node"]).tolist() == [3]
    assert np.array_equal(before["document"], after["document"])
