"""Candidates and the arrays that are read back from them."""

import numpy as np
import pyarrow as pa
import pytest

from gsum_assets.lightpal.candidates import candidates
from gsum_assets.lightpal.lists import candidate_lists
from gsum_assets.retrieval.collection import Collection
from gsum_assets.tables import TABLES
from tests.gor.toy_documents import shuffled
from tests.lightpal.toys import EMPTY, topic_tables
from tests.retrieval.toys import collection, tables


def by_passage(rows: pa.Table, level: str) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for row in rows.to_pylist():
        if row["level"] == level:
            found.setdefault(row["passage_id"], []).append(row["candidate_id"])
    return found


def test_toys_known_values():
    # vectors lie on axes: both of `apples`' chunks on two, those of `boats` on the second of them
    rows = candidates(collection(), 2)
    assert rows.schema.equals(TABLES["lightpal.candidates"].schema)
    assert by_passage(rows, "document") == {
        "apples": ["boats", "clouds"],
        "boats": ["apples", "clouds"],
        "clouds": ["apples", "boats"],
    }
    nodes = by_passage(rows, "node")
    assert nodes["c-apple-2"] == ["c-boat-1", "c-boat-2"]
    assert nodes["c-boat-2"] == ["c-apple-2", "c-boat-1"]
    documents = rows.slice(0, 6)
    assert documents["similarity"].to_pylist() == [1, 0, 1, 0, 0, 0]
    assert documents["rank"].to_pylist() == [1, 2] * 3


def test_no_passage_is_its_own_candidate_and_ranks_are_consecutive():
    here = Collection.from_tables(*topic_tables(2, 3, 4))
    rows = candidates(here, 100)
    for level, ids in (("document", here.document_ids), ("node", here.chunk_ids)):
        found = by_passage(rows, level)
        assert list(found) == list(ids)
        assert all(set(others) == set(ids) - {own} for own, others in found.items())
    ranks = rows["rank"].to_numpy()
    assert ranks.tolist() == [*[*range(1, 6)] * 6, *[*range(1, 24)] * 24]


def test_row_order_does_not_matter():
    in_order = tables()
    turned = [shuffled(table) for table in in_order]
    assert candidates(Collection.from_tables(*turned), 3).equals(
        candidates(Collection.from_tables(*in_order), 3)
    )


@pytest.mark.parametrize("here", [EMPTY, collection().document(2)])
def test_fewer_than_two_passages_have_no_candidates(here):
    rows = candidates(here, 5)
    assert rows.equals(TABLES["lightpal.candidates"].empty())
    lists = candidate_lists(rows, "node", here.chunk_ids, "similarity")
    assert lists.indices.shape == lists.values.shape == (len(here.chunk_ids), 0)


def test_lists_reproduce_the_candidates():
    here = collection()
    lists = candidate_lists(candidates(here, 3), "document", here.document_ids, "similarity")
    assert lists.indices.tolist() == [[1, 2], [0, 2], [0, 1]]
    assert lists.values.tolist() == [[1, 0], [1, 0], [0, 0]]
    assert candidate_lists(candidates(here, 3), "node", here.chunk_ids).values.shape == (5, 0)


def test_lists_accept_passages_in_any_order():
    here = collection()
    rows = candidates(here, 3)
    blocks = [rows.slice(start, 3) for start in range(6, 21, 3)]
    turned = pa.concat_tables([*reversed(blocks), rows.slice(0, 6)])
    expected = candidate_lists(rows, "node", here.chunk_ids, "similarity")
    found = candidate_lists(turned, "node", here.chunk_ids, "similarity")
    np.testing.assert_array_equal(found.indices, expected.indices)
    np.testing.assert_array_equal(found.values, expected.values)


def test_lists_of_other_passages_are_reported():
    rows = candidates(collection(), 3)
    ids = collection().chunk_ids
    wrong = [["another", *ids[1:]], ids[:-1], [*ids, "another"], []]
    for passages in wrong:
        with pytest.raises(ValueError, match=r"level 'node'; materialize lightpal/candidates"):
            candidate_lists(rows, "node", passages)


def test_lists_of_equal_length_for_other_passages_are_reported():
    # 3 passages with 2 candidates each are as many rows as 6 with 1 or as 2 with 3 would be
    rows = candidates(collection(), 2)
    ids = [*collection().document_ids, "dunes", "eels", "fens"]
    with pytest.raises(ValueError, match="not those of 6 passages"):
        candidate_lists(rows, "document", ids)
