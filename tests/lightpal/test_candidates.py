"""Candidates and the arrays that are read back from them."""

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from gsum_assets.graphs.nearest import nearest
from gsum_assets.lightpal import candidates as module
from gsum_assets.lightpal import family
from gsum_assets.lightpal.candidates import lists_of
from gsum_assets.lightpal.context_scores import context_scores
from gsum_assets.pipeline.step import SETTINGS, Inputs
from gsum_assets.pipeline.tables import TABLES
from gsum_assets.retrieval.collection import Collection
from tests.gor.toy_documents import shuffled
from tests.lightpal.toys import (
    EMPTY,
    TableScorer,
    candidates,
    number,
    pairs_of,
    scored,
    topic_tables,
)
from tests.retrieval.toys import collection


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


@pytest.mark.parametrize("here", [EMPTY, collection().document(2)])
def test_fewer_than_two_passages_have_no_candidates(here):
    rows = candidates(here, 5)
    assert pairs_of(rows) == []
    lists = lists_of(rows, here, with_similarities=True)["node"]
    assert lists.numbers.shape == lists.similarities.shape == (len(here.chunk_ids), 0)


def test_lists_reproduce_the_candidates_in_any_order():
    here = collection()
    rows = candidates(here, 3)
    turned = rows.take(np.random.default_rng(0).permutation(rows.num_rows))
    lists, found = (lists_of(table, here, with_similarities=True) for table in (rows, turned))
    assert lists["document"].indices(np.arange(3)).tolist() == [[1, 2], [0, 2], [0, 1]]
    assert lists["document"].similarities.tolist() == [[1, 0], [1, 0], [0, 0]]
    for level, expected in lists.items():
        np.testing.assert_array_equal(found[level].numbers, expected.numbers)
        np.testing.assert_array_equal(found[level].similarities, expected.similarities)


def test_lists_of_other_passages_are_reported():
    here = collection()
    rows = candidates(here, 3)
    for chunk_ids in (["another", *here.chunk_ids[1:]], here.chunk_ids[:-1], []):
        with pytest.raises(ValueError, match="materialize lightpal/candidates again"):
            lists_of(rows, replace(here, chunk_ids=chunk_ids))


def test_candidates_that_are_no_passages_are_reported():
    here = collection()
    lists = lists_of(candidates(here, 2), here)["document"]
    numbers = lists.numbers.copy()
    numbers[1, 1] = number("dunes")
    lists = replace(lists, numbers=numbers)
    assert lists.indices(np.array([0, 2])).tolist() == [[1, 2], [0, 1]]
    with pytest.raises(ValueError, match="of the 3 passages of now; materialize lightpal/cand"):
        lists.indices(np.arange(3))


def test_passages_of_the_same_number_are_reported(monkeypatch):
    monkeypatch.setattr(module, "numbers_of", lambda ids: np.zeros(len(ids), np.int64))
    with pytest.raises(ValueError, match="two of 3 passages have the same number; rename"):
        candidates(collection(), 2)


def test_numbers_are_those_of_earlier_files():
    # a home of the future reads the lists of today: these may not change
    assert number("01-kick-off:0") == 8965026944115433950
    assert number("") >= 0


# Context scores: each passage with its candidates, in the order of the candidates.


def test_score_is_of_the_candidate_given_the_passage():
    here, scorer = collection(), TableScorer(lambda context, text: len(context) - len(text) / 64)
    found = candidates(here, 3)
    rows = scored(found, here, scorer)
    assert rows.schema.equals(TABLES["lightpal.context_scores"].schema)
    text_of = dict(zip(here.document_ids, here.document_texts, strict=True))
    text_of |= dict(zip(here.chunk_ids, here.chunk_texts, strict=True))
    for row in pairs_of(found, rows):
        passage, candidate = text_of[row["passage_id"]], text_of[row["candidate_id"]]
        assert row["value"] == len(passage) - len(candidate) / 64


@pytest.mark.parametrize("here", [EMPTY, collection().document(0), collection().document(2)])
def test_few_or_no_passages(here):
    found = candidates(here, 5)
    rows = scored(found, here)
    assert rows.num_rows == found.num_rows == len(here.chunk_ids) + len(here.document_ids)
    assert len(pairs_of(found, rows)) == (2 if len(here.chunk_ids) == 2 else 0)


# Scores of an earlier run.


def test_chunks_with_the_same_candidates_are_not_scored_again():
    here = Collection.from_tables(*topic_tables(2, 3, 4))
    found, scorer = candidates(here, 5), TableScorer(lambda context, text: len(context + text))
    lists = lists_of(found, here)
    earlier = context_scores(lists, here, scorer)

    def again(collection: Collection, rows: pa.Table) -> list[str]:
        other = TableScorer(lambda context, text: len(context + text))
        new = lists_of(candidates(collection, 5), collection)
        expected = context_scores(new, collection, other)
        other.contexts.clear()
        assert context_scores(new, collection, other, rows).equals(expected)
        return other.contexts

    assert again(here, earlier) == list(here.document_texts)  # their ids are no hashes of texts
    assert again(here, shuffled(earlier)) == list(here.document_texts)
    assert len(again(here, earlier.slice(0, 0))) == len(here.document_ids) + len(here.chunk_ids)
    documents, *rest = topic_tables(2, 3, 4)
    without = Collection.from_tables(documents, *(t.slice(0, t.num_rows - 1) for t in rest))
    due = again(without, earlier)
    gone = number(here.chunk_ids[-1])
    lost = [row["passage_id"] for row in found.to_pylist() if gone in row["candidates"]]
    assert lost
    texts = dict(zip(here.chunk_ids, here.chunk_texts, strict=True))
    assert set(due) - set(without.document_texts) == {texts[i] for i in lost if i in texts}


def test_pairs_without_a_score_are_scored_again():
    here = collection()
    lists = lists_of(candidates(here, 2), here)
    silent = TableScorer(lambda context, text: np.nan if context == here.chunk_texts[1] else -1.0)
    scorer = TableScorer(lambda context, text: -1.0)
    rows = context_scores(lists, here, scorer, context_scores(lists, here, silent))
    assert rows.equals(context_scores(lists, here, scorer))
    assert here.chunk_texts[1] in scorer.contexts[: len(here.document_ids) + 1]


def test_approximate_neighbours_are_shown_with_their_recall(monkeypatch):
    here, lines = Collection.from_tables(*topic_tables(2, 3, 4)), []

    class Sections:
        def section(self, corpus: str, name: str) -> dict[str, int]:
            return {"n_candidates": 3} if name == "lightpal.graph" else {}

    def furthest(vectors, starts, n, _):
        return nearest(-vectors, starts, n)[0]._replace(similarities=-np.ones((24, n))), far

    far = nearest(here.embeddings, here.starts, 3)[1]
    monkeypatch.setattr(family, "collection_of", lambda _: here)
    monkeypatch.setattr(family, "approximation", lambda *_: furthest)
    inputs = Inputs({SETTINGS: Sections()}, "tales", log=lines.append)
    shown = family.FAMILY.index[0].result(inputs).shown()["candidates"]
    assert shown == {"neighbours": "approximate", "recall": 0.0, "chunks_compared": 24}
    assert "exact_up_to" in lines[-1]
