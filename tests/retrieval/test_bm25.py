"""BM25 against its formula, and what is stored of its segments."""

import math
import os
from collections import Counter
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gsum_assets.corpus.importers import read_benchmark
from gsum_assets.retrieval import bm25
from gsum_assets.retrieval.bm25 import Bm25, Bm25Index, Segment, hash_of, segment_starts
from gsum_assets.retrieval.ranking import top
from gsum_assets.retrieval.words import Words
from gsum_resources.store.array_cache import ArrayCache
from gsum_resources.store.parquet_store import ParquetStore
from tests.retrieval.toys import collection, of_texts, toy_question

PLAIN = Words(language="tlh")  # no stop words, no stems: terms are the words
word = st.sampled_from(["ore", "sun", "fox", "elm", "ivy"])
text = st.lists(word, max_size=8).map(" ".join)


def formula(query, texts, k1, b, words):
    """BM25 as Lucene has it, term by term."""
    counts = [Counter(words.split(t)) for t in texts]
    mean_length = sum(sum(c.values()) for c in counts) / len(texts)
    row = []
    for count in counts:
        total = 0.0
        for term in words.split(query):
            n = sum(term in c for c in counts)
            idf = math.log(1 + (len(texts) - n + 0.5) / (n + 0.5))
            norm = k1 * (1 - b + b * sum(count.values()) / mean_length) if mean_length else k1
            total += idf * count[term] / (count[term] + norm) if count[term] else 0.0
        row.append(total)
    return row


@given(
    texts=st.lists(text, min_size=1, max_size=12),
    query=text,
    cuts=st.sets(st.integers(1, 11), max_size=4),
    k1=st.sampled_from([0.9, 1.5]),
    b=st.sampled_from([0.0, 0.4, 1.0]),
    words=st.sampled_from([PLAIN, replace(PLAIN, bigrams=True)]),
)
def test_scores_equal_the_formula_whatever_the_segments(texts, query, cuts, k1, b, words):
    terms = [words.split(text) for text in texts]
    with patch.multiple(bm25, K1=k1, B=b):
        whole = Bm25Index.of(texts, words)
    expected = [formula(query, texts, k1, b, words)] * 2
    np.testing.assert_allclose(whole.scores([query, query]), expected, rtol=1e-5, atol=1e-6)
    starts = [0, *sorted(cut for cut in cuts if cut < len(texts)), len(texts)]
    hashes = bm25._Hashes()
    segments = [Segment.of(texts[first:last], words, hashes) for first, last in pairwise(starts)]
    with patch.multiple(bm25, K1=k1, B=b):
        found = Bm25Index(segments, words)
    np.testing.assert_array_equal(found.scores([query, query]), whole.scores([query, query]))
    for term in {"unknown", *words.split(query)}:
        having = [i for i, own in enumerate(terms) if term in own]
        assert found.having(term).tolist() == whole.having(term).tolist() == having


@pytest.mark.parametrize("query", ["", "zyzzyva", "the of and"])
def test_query_of_unknown_words_scores_zero(query):
    found = Bm25(of_texts("red fox", "grey wolf")).scores(toy_question(query, f"fox {query}"))
    assert found.nodes[0].tolist() == [0, 0]
    assert found.nodes[1, 0] > 0 == found.nodes[1, 1]


def test_documents_are_scored_as_texts_of_their_own():
    one = of_texts("fox", "wolf")
    joined = type(one)(["d"], ["fox wolf"], ["c0", "c1"], ["fox", "wolf"], np.array([0, 2]))
    found = Bm25(joined).scores(toy_question("fox wolf"))
    single = Bm25Index.of(["fox wolf"], Words()).scores(["fox wolf"])
    np.testing.assert_array_equal(found.documents, single)


def test_hash_of_a_pair_follows_from_its_terms():
    words = Words("tlh", bigrams=True)
    first, second, both = Segment.of(["fox wolf"], words, bm25._Hashes()).hashes.tolist()
    assert {first, second, both} == {hash_of("fox"), hash_of("wolf"), hash_of("fox wolf")}


def test_another_document_changes_one_segment(monkeypatch):
    monkeypatch.setattr(bm25, "_CHUNKS", 20)
    ids = [f"document {i:03}" for i in range(300)]

    def groups(ids):
        starts = segment_starts(ids, 2 * len(ids))
        assert starts == sorted({0, *starts, len(ids)})
        return {tuple(ids[first:last]) for first, last in pairwise(starts)}

    before = groups(ids)
    assert 10 < len(before) < 100
    added = groups([*ids[:100], "document 099b", *ids[100:]])
    assert len(before - added) == 1
    assert len(added - before) in (1, 2)


@pytest.fixture
def cache(tmp_path, monkeypatch) -> ArrayCache:
    """A cache that keeps the index of any text, a segment for each document or two."""
    monkeypatch.setattr(bm25, "KEPT_FROM", 1)
    monkeypatch.setattr(bm25, "_CHUNKS", 1)
    return ArrayCache(ParquetStore(str(tmp_path)), "tales")


def stored(folder: Path) -> set[Path]:
    return {path.parent for path in folder.rglob("hashes.npy")}


QUERIES = ["the red fox", "boats in the harbour at night", "zyzzyva", ""]


@pytest.mark.parametrize("words", [Words(), Words(bigrams=True)])
def test_stored_index_has_equal_scores_and_no_words(tmp_path, cache, monkeypatch, words):
    here = replace(collection(), cache=cache)
    fresh = Bm25(collection(), words).scores(toy_question(*QUERIES))
    for _ in range(2):
        found = Bm25(here, words).scores(toy_question(*QUERIES))
        np.testing.assert_array_equal(found.nodes, fresh.nodes)
        np.testing.assert_array_equal(found.documents, fresh.documents)
        # from now on nothing is split but questions
        monkeypatch.setattr(Segment, "of", None)
    content = b"".join(path.read_bytes() for path in tmp_path.rglob("*.npy"))
    assert content
    terms = {term for text in here.chunk_texts for term in words.split(text)}
    assert not any(term.encode() in content for term in terms)


def test_an_edit_computes_one_segment_and_a_removed_text_leaves_none(tmp_path, cache):
    texts = [f"fox number{i} and owl" for i in range(40)]

    def check(texts) -> set[Path]:
        index = Bm25(replace(of_texts(*texts), cache=cache))
        expected = Bm25Index.of(texts, Words()).scores(["number7 oak"])
        np.testing.assert_array_equal(index.scores(toy_question("number7 oak")).nodes, expected)
        return stored(tmp_path)

    before = check(texts)
    edited = check([*texts[:7], "an old oak", *texts[8:]])
    assert len(before) == len(edited) > 10
    assert len(before - edited) == len(edited - before) == 2  # of chunks and of documents
    with patch.object(bm25, "B", 0.2):
        assert check([*texts[:7], "an old oak", *texts[8:]]) == edited
    assert len(check(["an old oak"])) == 2


def test_indexes_of_documents_and_small_corpora_are_not_stored(tmp_path, cache, monkeypatch):
    Bm25(replace(collection(), cache=cache).document(1))
    assert not stored(tmp_path)
    found = Bm25(replace(of_texts("the of"), cache=cache)).scores(toy_question("fox"))
    assert found.nodes.tolist() == [[0]]
    assert not stored(tmp_path)  # a text without terms has empty arrays, which cannot be mapped
    monkeypatch.setattr(bm25, "KEPT_FROM", 2**20)
    Bm25(replace(collection(), cache=cache))
    assert not stored(tmp_path)


# BM25 on real questions, where the data are at hand: the published figures are reached.

STORIES = Path(os.environ.get("GSUM_DATASETS", "../shared/datasets")) / "odsum" / "story"


@pytest.mark.skipif(not STORIES.is_dir(), reason=f"no dataset at {STORIES}; set GSUM_DATASETS")
def test_bm25_reaches_the_published_precision():
    contents = read_benchmark("odsum-story", STORIES)
    ids = np.array([document.document_id for document in contents.documents])
    texts = [document.text for document in contents.documents]
    queries = contents.queries
    assert (len(ids), len(queries)) == (1138, 375)
    index = Bm25Index.of(texts, Words())
    best = top(index.scores([query.retrieval_text for query in queries]), ids.tolist(), 10)
    hits = np.array(
        [np.isin(ids[row], q.relevant_document_ids) for row, q in zip(best, queries, strict=True)]
    )
    assert 100 * hits[:, :3].mean() >= 70
    assert 100 * hits.mean() >= 44


def test_words_of_a_document_s_name_count_in_each_of_its_passages() -> None:
    here = of_texts("the lift is slow", "the lift is loud", "the roof leaks")
    named = replace(here, document_names=["Minutes", "Jane Doe", "Minutes"])
    questions = toy_question("What did Jane Doe say about the lift?")
    scores = Bm25(named).scores(questions)
    assert top(scores.nodes, here.chunk_ids)[0].tolist()[:2] == [1, 0]
    assert top(scores.documents, here.document_ids)[0].tolist()[:2] == [1, 0]
    assert (scores.nodes >= Bm25(here).scores(questions).nodes).all()


def test_a_name_counts_by_the_square_of_its_share_that_a_question_has() -> None:
    here = of_texts("the lift is slow", "the lift is loud", "the roof leaks")
    named = replace(here, document_names=["Lift", "Lift of the north stair", "Roof"])
    questions = toy_question("Is the lift slow?")
    added = Bm25(named).scores(questions).documents - Bm25(here).scores(questions).documents
    assert added[0, 0] > 9 * added[0, 1] > 0
    assert added[0, 2] == 0


def test_stored_index_of_names_is_that_of_the_present_names(cache: ArrayCache) -> None:
    here = replace(collection(), cache=cache, text_digests=collection().document_ids)
    for name in ("Jane Doe", "John Roe", "Jane Doe"):
        names = [name, *["Minutes"] * (len(here.document_ids) - 1)]
        found, fresh = (
            Bm25(replace(each, document_names=names)).scores(toy_question("Jane Doe and the fox"))
            for each in (here, collection())
        )
        np.testing.assert_array_equal(found.nodes, fresh.nodes)
