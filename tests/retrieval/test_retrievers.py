"""The retrievers beside BM25: closed forms of their scores."""

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from gsum_assets.plots.main_metrics import is_upper_bound
from gsum_assets.retrieval.baselines import FullContext, RandomOrder, TfIdfIndex
from gsum_assets.retrieval.bm25 import Bm25
from gsum_assets.retrieval.collection import Collection
from gsum_assets.retrieval.contexts import spans
from gsum_assets.retrieval.dense import Dense
from gsum_assets.retrieval.hybrid import Fusion, hybrid, min_max, ranks, reciprocal_ranks
from gsum_assets.retrieval.oracles import ORACLES, askable, rank_by_oracle
from gsum_assets.retrieval.ranking import Scores, top
from gsum_assets.retrieval.seeds import Seeds, with_names_twice
from gsum_assets.retrieval.words import Words
from tests.retrieval.toys import collection, of_texts, toy_question, toy_questions
from tests.rows import question_rows


def test_scores_are_cosines_and_documents_take_the_best():
    found = Dense(collection()).scores(toy_questions(("?", None, 1)))
    assert found.nodes.tolist() == [[0, 1, 1, 1, 0]]
    assert found.documents.tolist() == [[1, 1, 0]]


def test_equal_vectors_tie_exactly_at_any_position():
    # Raw products of equal columns may differ in the last bit, by their position in the block.
    generator = np.random.default_rng(0)
    vectors = generator.normal(size=(1, 384)).repeat(1003, axis=0).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    many = replace(of_texts(*["x"] * 1003), embeddings=vectors)
    scores = Dense(many).scores(replace(toy_question("?"), embeddings=vectors[:1])).nodes
    assert len(np.unique(scores)) == 1
    assert [many.chunk_ids[i] for i in top(scores, many.chunk_ids, 3)[0]] == ["c0", "c1", "c10"]


def test_text_is_most_similar_to_itself():
    texts = ["red fox", "grey wolf and fox", "owl owl owl"]
    found = TfIdfIndex(texts, Words()).scores(texts)
    np.testing.assert_allclose(np.diag(found), 1, rtol=1e-6)
    assert (found.argmax(axis=1) == [0, 1, 2]).all()
    np.testing.assert_allclose(found, found.T, rtol=1e-6)


def test_score_known_value():
    # "fox" is in both texts: idf = ln(3/3) + 1 = 1; "owl" in one: ln(3/2) + 1.
    # The first text has it e times (damped: 1 + ln 3 for three) next to one "fox".
    idf = np.log(1.5) + 1
    damped = (1 + np.log(3)) * idf
    found = TfIdfIndex(["owl owl owl fox", "fox"], Words()).scores(["owl"])
    np.testing.assert_allclose(found, [[damped / np.hypot(damped, 1), 0]], rtol=1e-6)


def scores(n_items=200, n_questions=50):
    many = of_texts(*["x"] * n_items)
    return RandomOrder(many).scores(toy_question(*["?"] * n_questions)).nodes


def test_random_scores_are_uniform_within_and_across_questions():
    found = scores()
    for values in (found.ravel(), found[:, 0], found[0]):
        assert stats.kstest(values, "uniform").pvalue > 0.001
    correlation = np.corrcoef(scores(n_items=2000, n_questions=4))
    assert np.abs(correlation - np.eye(4)).max() < 0.1


def test_growing_corpus_keeps_its_random_order():
    np.testing.assert_array_equal(scores(n_items=200)[:, :50], scores(n_items=50))


def test_long_documents_are_not_favoured():
    one = of_texts(*["x"] * 100)
    starts = np.array([0, 99, 100])
    long_first = Collection(["d0", "d1"], ["", ""], one.chunk_ids, one.chunk_texts, starts)
    found = RandomOrder(long_first).scores(toy_question(*["?"] * 400)).documents
    assert 0.4 < (found[:, 0] > found[:, 1]).mean() < 0.6


rows = st.lists(st.lists(st.integers(-5, 5), min_size=4, max_size=4), min_size=1, max_size=3).map(
    lambda r: np.array(r, dtype=np.float64)
)


class Fixed:
    """A retriever that knows its answer."""

    def __init__(self, *scores):
        self.found = np.array([scores], dtype=np.float32)

    def scores(self, questions):
        return Scores(self.found, -self.found)


@given(rows, st.integers(1, 9), st.integers(-9, 9))
def test_min_max_ignores_scale_and_offset(scores, scale, offset):
    found = min_max(scores)
    np.testing.assert_allclose(min_max(scale * scores + offset), found, atol=1e-12)
    for row, scaled in zip(scores, found, strict=True):
        spread = row.max() > row.min()
        assert scaled.min() == 0
        assert scaled.max() == (1 if spread else 0)


@given(rows)
def test_rank_counts_better_items(scores):
    expected = [[1 + sum(other > value for other in row) for value in row] for row in scores]
    assert ranks(scores).tolist() == expected


def test_weighted_sum_known_values():
    fused = Fusion([(Fixed(0, 5, 10), 0.6), (Fixed(-1, 1, -1), 0.4)], min_max)
    found = fused.scores(toy_question("?"))
    np.testing.assert_allclose(found.nodes, [[0, 0.6 * 0.5 + 0.4, 0.6]])
    assert found.nodes.dtype == np.float64
    np.testing.assert_allclose(found.documents, [[0.6 + 0.4, 0.3, 0.4]])


def test_reciprocal_ranks_known_values():
    fused = Fusion([(Fixed(9, 5, 1), 1.0), (Fixed(0, 7, 7), 1.0)], reciprocal_ranks)
    expected = [1 / 61 + 1 / 63, 1 / 62 + 1 / 61, 1 / 63 + 1 / 61]
    np.testing.assert_allclose(fused.scores(toy_question("?")).nodes, [expected])


@pytest.mark.parametrize("scale", [min_max, reciprocal_ranks])
def test_constant_component_leaves_the_order_to_the_other(scale):
    fused = Fusion([(Fixed(3, 3, 3), 0.6), (Fixed(1, 3, 2), 0.4)], scale)
    assert np.argsort(-fused.scores(toy_question("?")).nodes[0]).tolist() == [1, 2, 0]


def test_hybrid_weights_are_six_tenths_words_and_four_tenths_vectors():
    # Words: only "apples" has both; vectors: the question points at clouds.
    found = hybrid(collection()).scores(toy_questions(("red apples", None, 2)))
    np.testing.assert_allclose(found.documents, [[0.6, 0, 0.4]])
    assert found.nodes[0, 0] == pytest.approx(0.6)
    assert found.nodes[0, 4] == pytest.approx(0.4)


lengths = st.lists(st.integers(1, 20), max_size=30)


def test_texts_are_in_reading_order():
    found = FullContext(collection()).scores(toy_question("?", "!"))
    assert (found.nodes[0] == found.nodes[1]).all()
    assert (found.nodes[0, :-1] > found.nodes[0, 1:]).all()
    assert (found.documents[0, :-1] > found.documents[0, 1:]).all()


def test_spans_known_values():
    assert spans([10, 10, 10], 30, n_spans=5, seed=0) == [range(3)]  # the document fits
    assert spans([], 30, n_spans=5, seed=0) == []
    assert spans([10] * 5, 30, n_spans=9, seed=0) == [range(3), range(1, 4), range(2, 5)]
    assert spans([10, 25, 5, 10], 30, n_spans=9, seed=0) == [range(1), range(1, 3), range(2, 4)]


@given(lengths, st.integers(20, 60), st.integers(1, 5), st.integers(0, 9))
def test_spans_fill_the_window_and_cover_the_document(tokens, window, n_spans, seed):
    found = spans(tokens, window, n_spans, seed)
    assert len(found) <= n_spans
    assert len(set(found)) == len(found)
    assert bool(found) == bool(tokens)
    for run in found:
        used = sum(tokens[run.start : run.stop])
        assert 0 < used <= window
        assert run.stop == len(tokens) or used + tokens[run.stop] > window
    everything = spans(tokens, window, n_spans=len(tokens) + 1, seed=0)
    assert {i for run in everything for i in run} == set(range(len(tokens)))


def test_seed_decides_the_spans():
    tokens = [1] * 100
    assert spans(tokens, 10, 3, seed=4) == spans(tokens, 10, 3, seed=4)
    assert len({tuple(spans(tokens, 10, 3, seed=s)) for s in range(10)}) == 10


def test_chunk_beyond_the_window_raises():
    with pytest.raises(ValueError, match=r"chunk of 40 tokens exceeds the window of 30; cut"):
        spans([10, 40], 30, 2, seed=0)


def make_queries(**marks: object) -> pa.Table:
    boat = {"query_id": "q0", "text": "boat", "retrieval_text": "boat"}
    return question_rows(boat, **marks)


def nodes(method: str, **marks: object) -> list[str]:
    about = toy_questions(("boat", marks.get("document_id"), 1))  # type: ignore[arg-type]
    rows = rank_by_oracle(method, make_queries(**marks), about, collection()).to_pylist()
    return [row["item_id"] for row in rows if row["level"] == "node"]


def test_evidence_only_by_cosine() -> None:
    marks = {"relevant_chunk_ids": ["c-cloud-1", "c-boat-2"]}
    assert nodes("oracle-evidence", **marks) == ["c-boat-2", "c-cloud-1"]  # by cosine


def test_relevant_documents_only() -> None:
    found = nodes("oracle-documents", relevant_document_ids=["apples"])
    assert found == ["c-apple-2", "c-apple-1"]


@pytest.mark.parametrize("method", ORACLES)
def test_unmarked_questions_raise(method: str) -> None:
    marked = make_queries(
        relevant_chunk_ids=["c-boat-1"], relevant_document_ids=["boats"], references=["It sails."]
    )
    assert askable(method, marked).num_rows == 1
    assert askable(method, make_queries()).num_rows == 0
    assert askable("dense", make_queries()).num_rows == 1
    assert is_upper_bound(method)


def test_document_oracle_does_not_rank_within_one_document() -> None:
    marked = make_queries(document_id="boats", relevant_document_ids=["boats"])
    assert askable("oracle-documents", marked).num_rows == 0


def test_question_keeps_all_fields_except_its_text():
    questions = toy_questions(("Who saw Ann?", "boats", 1), ("who was it", None, 2))
    twice = with_names_twice(questions)
    assert twice.texts == ["Who saw Ann? Ann", "who was it"]
    assert (twice.ids, twice.document_ids) == (questions.ids, questions.document_ids)
    assert twice.embeddings is questions.embeddings


def test_name_outweighs_another_word():
    here = of_texts("the ferry of Ashby", "the clerk of Boston", "an unlike text")
    questions = toy_questions(
        ("did Ashby get a clerk?", None, 2), ("did a ferry get to Boston?", None, 2)
    )
    found = (
        Seeds(here, "en").scores(questions).documents[:, :2]
    )  # vectors speak for the third alone
    assert found.argmax(axis=1).tolist() == [0, 1]


def test_document_words_chunk_words_and_vectors_add_up():
    here = collection()
    questions = toy_questions(("the boat at the harbour", None, 1), ("red apples", None, 2))
    lexical = Bm25(here, Words("en", bigrams=True)).scores(questions)
    of_document = min_max(lexical.documents)[:, [0, 0, 1, 1, 2]]
    of_vector = min_max(Dense(here).scores(questions).nodes)
    found = Seeds(here, "en").scores(questions)
    expected = 0.4 * of_document + 0.2 * min_max(lexical.nodes) + 0.4 * of_vector
    assert found.nodes == pytest.approx(expected)
    assert found.documents == pytest.approx(
        np.stack([expected[:, :2].max(1), expected[:, 2:4].max(1), expected[:, 4]], axis=1)
    )


def test_phrase_of_common_words_is_found_word_for_word():
    here = of_texts("the garden in the town", "garden, in a garden", "In the Garden\nIt began.")
    questions = toy_questions(("What is the plot of IN THE GARDEN?", None, 0))
    plain = toy_questions(("What is the plot of in the garden?", None, 0))
    named, unnamed = (Seeds(here, "en").scores(asked).nodes[0] for asked in (questions, plain))
    assert named - unnamed == pytest.approx([0, 0, 0.4])


def test_best_chunk_of_each_part_scores_higher():
    here = of_texts("ferry price, ferry price", "lighthouse paint", "an unlike text", "a ferry")
    asked, other = (
        Seeds(here, "en").scores(toy_questions((text, None, 2))).nodes[0]
        for text in (
            "the ferry price, the lighthouse paint",
            "the ferry price the lighthouse paint",
        )
    )
    # ranks for the parts: 1, 3, 3, 2 and 2, 1, 2, 2; for the whole: 2, 1, 3, 4
    assert asked - other == pytest.approx([0.3, 0.3, 0.15, 0.15])
