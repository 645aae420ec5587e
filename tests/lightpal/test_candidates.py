"""Candidates and the arrays that are read back from them."""

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from gsum_assets.lightpal import lists as lists_module
from gsum_assets.lightpal.candidates import candidates
from gsum_assets.lightpal.lists import candidate_lists, matrix_of
from gsum_assets.pipeline.tables import TABLES
from gsum_assets.retrieval.collection import Collection
from tests.gor.toy_documents import shuffled
from tests.lightpal.toys import EMPTY, number, pairs_of, topic_tables
from tests.retrieval.toys import collection, tables


def by_passage(rows: pa.Table, level: str) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for row in pairs_of(rows):
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
    assert rows["similarities"].to_pylist()[:3] == [[1, 0], [1, 0], [0, 0]]


def test_no_passage_is_its_own_candidate():
    here = Collection.from_tables(*topic_tables(2, 3, 4))
    rows = candidates(here, 100)
    for level, ids in (("document", here.document_ids), ("node", here.chunk_ids)):
        found = by_passage(rows, level)
        assert list(found) == list(ids)
        assert all(set(others) == set(ids) - {own} for own, others in found.items())


def test_row_order_does_not_matter():
    in_order = tables()
    turned = [shuffled(table) for table in in_order]
    assert candidates(Collection.from_tables(*turned), 3).equals(
        candidates(Collection.from_tables(*in_order), 3)
    )


@pytest.mark.parametrize("here", [EMPTY, collection().document(2)])
def test_fewer_than_two_passages_have_no_candidates(here):
    rows = candidates(here, 5)
    assert pairs_of(rows) == []
    lists = candidate_lists(rows, "node", here.chunk_ids, "similarities")
    assert lists.numbers.shape == lists.values.shape == (len(here.chunk_ids), 0)


def test_lists_reproduce_the_candidates():
    here = collection()
    lists = candidate_lists(candidates(here, 3), "document", here.document_ids, "similarities")
    assert lists.indices().tolist() == [[1, 2], [0, 2], [0, 1]]
    assert lists.values.tolist() == [[1, 0], [1, 0], [0, 0]]
    assert candidate_lists(candidates(here, 3), "node", here.chunk_ids).values.shape == (5, 0)


def test_lists_accept_passages_in_any_order():
    here = collection()
    rows = candidates(here, 3)
    turned = rows.take(np.random.default_rng(0).permutation(rows.num_rows))
    expected = candidate_lists(rows, "node", here.chunk_ids, "similarities")
    found = candidate_lists(turned, "node", here.chunk_ids, "similarities")
    np.testing.assert_array_equal(found.numbers, expected.numbers)
    np.testing.assert_array_equal(found.values, expected.values)


def test_lists_of_other_passages_are_reported():
    rows = candidates(collection(), 3)
    ids = collection().chunk_ids
    wrong = [["another", *ids[1:]], ids[:-1], [*ids, "another"], []]
    for passages in wrong:
        with pytest.raises(ValueError, match=r"level 'node'; materialize lightpal/candidates"):
            candidate_lists(rows, "node", passages)


def test_candidates_that_are_no_passages_are_reported():
    here = collection()
    lists = candidate_lists(candidates(here, 2), "document", here.document_ids)
    numbers = lists.numbers.copy()
    numbers[1, 1] = number("dunes")
    lists = replace(lists, numbers=numbers)
    assert lists.indices(np.array([0, 2])).tolist() == [[1, 2], [0, 1]]
    with pytest.raises(ValueError, match="not those of 3 passages; materialize lightpal/cand"):
        lists.indices()


def test_passages_of_the_same_number_are_reported(monkeypatch):
    monkeypatch.setattr(lists_module, "numbers_of", lambda ids: np.zeros(len(ids), np.int64))
    with pytest.raises(ValueError, match="two of 3 passages have the same number; rename"):
        candidates(collection(), 2)


def test_numbers_are_those_of_earlier_files():
    # a home of the future reads the lists of today: these may not change
    assert number("01-kick-off:0") == 8965026944115433950
    assert number("") >= 0


def test_lists_of_several_lengths_are_reported():
    rows = pa.concat_tables([candidates(collection(), 2).slice(3, 2), candidates(collection(), 3)])
    with pytest.raises(ValueError, match="passages have 2 to 3 candidates; materialize"):
        matrix_of(rows["candidates"])
