"""Where an answer's material is found: chunks by the reports and entities that speak of them."""

import numpy as np
import pytest

from gsum_assets.evaluation.passages import Passage
from gsum_assets.graphrag.methods import METHODS
from gsum_assets.graphrag.rank import nearest, rank
from gsum_assets.retrieval.collection import Questions
from gsum_assets.retrieval.dense import Dense
from gsum_assets.retrieval.ranking import rank_questions
from tests.graphrag.harbour import EMPTY, INDEX, collection
from tests.retrieval.toys import toy_questions


def scored(
    method: str, questions: Questions, index=INDEX, n_entities: int = 10, level: str = "node"
) -> list[list[tuple[str, float]]]:
    """Items and scores of each question, best first."""
    rows = rank(method, collection(), questions, index, n_entities).to_pylist()
    return [
        [
            (row["item_id"], row["score"])
            for row in rows
            if (row["query_id"], row["level"]) == (query_id, level)
        ]
        for query_id in questions.ids
    ]


def test_reports_of_a_level_include_higher_leaves() -> None:
    assert [seen.node_id for seen in INDEX.reports(0, None)] == ["k0", "k1"]
    assert [seen.node_id for seen in INDEX.reports(1, None)] == ["k1", "k2"]  # k3 has none
    assert INDEX.reports(99, None)[0] == Passage("k1", "report", "# Report 1", 2.5)


def test_document_question_sees_only_its_document() -> None:
    (seen,) = INDEX.reports(0, "d0")
    assert seen.node_id == "k0"
    assert "Finding 0 of k0." in seen.text
    assert "Why, in d0." in seen.text
    assert "Finding 1" not in seen.text
    assert [one.node_id for one in INDEX.reports(0, "d1")] == ["k0", "k1"]
    assert INDEX.reports(0, "d9") == []
    with pytest.raises(ValueError, match="1 of 2 report vectors are missing; materialize"):
        INDEX.vectors("report", ["k0", "k3"])


def test_chunk_scores_as_the_best_report_citing_it() -> None:
    one, two, three = scored(
        "graphrag-c0", toy_questions(("?", None, 0), ("?", None, 1), ("?", None, 2))
    )
    assert one == [("c0", pytest.approx(0.6)), ("c2", pytest.approx(0.6)), ("c1", -1.0)]
    assert two == [("c0", pytest.approx(0.8)), ("c2", pytest.approx(0.8)), ("c1", -1.0)]
    assert three == [("c2", 1.0), ("c0", 0.0), ("c1", -1.0)]


def test_levels_rank_by_their_own_reports() -> None:
    (found,) = scored("graphrag-c1", toy_questions(("?", None, 0)))
    assert found == [("c0", 1.0), ("c1", 1.0), ("c2", 0.0)]
    for deeper in ("graphrag-c2", "graphrag-c3"):  # leaves of higher levels are shown there too
        assert scored(deeper, toy_questions(("?", None, 0))) == [found]


@pytest.mark.parametrize("method", METHODS)
def test_document_question_ranks_only_its_chunks(method: str) -> None:
    questions = toy_questions(("?", "d0", 0), ("?", "d1", 0), ("?", None, 0))
    found = [sorted(chunk for chunk, _ in chunks) for chunks in scored(method, questions)]
    assert found == [["c0", "c1"], ["c2"], ["c0", "c1", "c2"]]


def test_chunk_scores_by_nearest_mentioned_entities_and_itself() -> None:
    questions = toy_questions(("?", None, 0), ("?", None, 1))
    one, two = scored("graphrag-local", questions)
    # Lin (c0, c1) 1 and Boat (c0, c2) 0.6; and the chunk's own vector
    assert one == [("c0", pytest.approx(2.6)), ("c1", 1.0), ("c2", pytest.approx(0.6))]
    # Lamp (c2) 1 and Boat 0.8
    assert two == [("c2", pytest.approx(1.8)), ("c1", 1.0), ("c0", pytest.approx(0.8))]
    (nearest_alone,) = scored("graphrag-local", toy_questions(("?", None, 0)), n_entities=1)
    assert nearest_alone == [("c0", 2.0), ("c1", 1.0), ("c2", 0.0)]


def test_entities_with_negative_similarity_do_not_lower_scores() -> None:
    questions = Questions(["q0"], ["?"], [None], np.array([[-1, 0, 0]], np.float32))
    assert scored("graphrag-local", questions) == [[("c1", 0.0), ("c2", 0.0), ("c0", -1.0)]]


@pytest.mark.parametrize("method", ["graphrag-ts", "graphrag-ss"])
def test_baselines_rank_by_chunk_similarity(method: str) -> None:
    questions = toy_questions(("?", None, 1), ("?", "d0", 1))
    plain = rank_questions(Dense, questions, collection()).drop_columns(["latency_s"])
    assert rank(method, collection(), questions, EMPTY, 10).drop_columns(["latency_s"]) == plain


def test_without_an_index_chunks_are_still_ranked() -> None:
    questions = toy_questions(("?", None, 1))
    assert scored("graphrag-c0", questions, EMPTY) == [[("c0", -1.0), ("c1", -1.0), ("c2", -1.0)]]
    assert scored("graphrag-local", questions, EMPTY) == [[("c1", 1.0), ("c0", 0.0), ("c2", 0.0)]]


def test_equal_similarities_are_ordered_by_id() -> None:
    vectors = np.array([[1, 0], [0, 1], [1, 0], [1, 0]], np.float32)
    found = nearest(np.array([1, 0], np.float32), vectors, ["d", "a", "b", "c"], 3)
    assert found == [(2, 1.0), (3, 1.0), (0, 1.0)]
