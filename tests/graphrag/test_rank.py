"""Where an answer's material is found: chunks by the reports and entities that speak of them."""

import numpy as np
import pytest

from gsum_assets.graphrag.index_tables import Seen
from gsum_assets.graphrag.rank import entities_within, nearest, rank
from gsum_assets.graphrag.variants import VARIANTS
from gsum_assets.retrieval.collection import Questions
from gsum_assets.retrieval.dense import Dense
from gsum_assets.retrieval.ranking import rank_questions
from tests.graphrag.harbour import ANN, BOAT, LAMP, LIN
from tests.graphrag.harbour_index import EMPTY, INDEX, collection
from tests.retrieval.toys import questions


def scored(
    variant: str, asked: Questions, index=INDEX, n_entities: int = 10, level: str = "node"
) -> list[list[tuple[str, float]]]:
    """Items and scores of each question, best first."""
    rows = rank(variant, collection(), asked, index, n_entities).to_pylist()
    return [
        [
            (row["item_id"], row["score"])
            for row in rows
            if (row["query_id"], row["level"]) == (query_id, level)
        ]
        for query_id in asked.ids
    ]


def test_reports_of_a_level_are_its_own_and_the_leaves_above() -> None:
    assert [seen.community_id for seen in INDEX.reports(0, None)] == ["k0", "k1"]
    assert [seen.community_id for seen in INDEX.reports(1, None)] == ["k1", "k2"]  # k3 has none
    assert INDEX.reports(99, None)[0] == Seen("k1", 2.5, "# Report 1")


def test_a_question_about_a_document_sees_what_is_found_there() -> None:
    (seen,) = INDEX.reports(0, "d0")
    assert seen.community_id == "k0"
    assert "Finding 0 of k0." in seen.text
    assert "Why, in d0." in seen.text
    assert "Finding 1" not in seen.text
    assert [one.community_id for one in INDEX.reports(0, "d1")] == ["k0", "k1"]
    assert INDEX.reports(0, "d9") == []


def test_a_chunk_is_as_good_as_the_best_report_that_cites_it() -> None:
    one, two, three = scored(
        "graphrag-c0", questions(("?", None, 0), ("?", None, 1), ("?", None, 2))
    )
    assert one == [("c0", pytest.approx(0.6)), ("c2", pytest.approx(0.6)), ("c1", -1.0)]
    assert two == [("c0", pytest.approx(0.8)), ("c2", pytest.approx(0.8)), ("c1", -1.0)]
    assert three == [("c2", 1.0), ("c0", 0.0), ("c1", -1.0)]


def test_levels_rank_by_their_own_reports() -> None:
    (found,) = scored("graphrag-c1", questions(("?", None, 0)))
    assert found == [("c0", 1.0), ("c1", 1.0), ("c2", 0.0)]
    for deeper in ("graphrag-c2", "graphrag-c3"):  # what is not parted further is shown there too
        assert scored(deeper, questions(("?", None, 0))) == [found]


def test_documents_take_their_best_chunk() -> None:
    (found,) = scored("graphrag-c0", questions(("?", None, 2)), level="document")
    assert found == [("d1", 1.0), ("d0", 0.0)]


@pytest.mark.parametrize("variant", VARIANTS)
def test_a_question_about_a_document_finds_its_chunks_alone(variant: str) -> None:
    asked = questions(("?", "d0", 0), ("?", "d1", 0), ("?", None, 0))
    found = [sorted(chunk for chunk, _ in chunks) for chunks in scored(variant, asked)]
    assert found == [["c0", "c1"], ["c2"], ["c0", "c1", "c2"]]


def test_a_chunk_scores_by_the_nearest_entities_that_it_mentions_and_itself() -> None:
    asked = questions(("?", None, 0), ("?", None, 1))
    one, two = scored("graphrag-local", asked)
    # Lin (c0, c1) 1 and Boat (c0, c2) 0.6; and the chunk's own vector
    assert one == [("c0", pytest.approx(2.6)), ("c1", 1.0), ("c2", pytest.approx(0.6))]
    # Lamp (c2) 1 and Boat 0.8
    assert two == [("c2", pytest.approx(1.8)), ("c1", 1.0), ("c0", pytest.approx(0.8))]
    (nearest_alone,) = scored("graphrag-local", questions(("?", None, 0)), n_entities=1)
    assert nearest_alone == [("c0", 2.0), ("c1", 1.0), ("c2", 0.0)]


def test_entities_on_the_other_side_take_nothing_away() -> None:
    asked = Questions(["q0"], ["?"], [None], np.array([[-1, 0, 0]], np.float32))
    assert scored("graphrag-local", asked) == [[("c1", 0.0), ("c2", 0.0), ("c0", -1.0)]]


@pytest.mark.parametrize("variant", ["graphrag-ts", "graphrag-ss"])
def test_baselines_rank_by_the_chunks_themselves(variant: str) -> None:
    asked = questions(("?", None, 1), ("?", "d0", 1))
    plain = rank_questions(Dense, asked, collection()).drop_columns(["latency_s"])
    assert rank(variant, collection(), asked, EMPTY, 10).drop_columns(["latency_s"]) == plain


def test_without_an_index_there_is_still_an_order() -> None:
    asked = questions(("?", None, 1))
    assert scored("graphrag-c0", asked, EMPTY) == [[("c0", -1.0), ("c1", -1.0), ("c2", -1.0)]]
    assert scored("graphrag-local", asked, EMPTY) == [[("c1", 1.0), ("c0", 0.0), ("c2", 0.0)]]


def test_entities_within_chunks() -> None:
    assert entities_within(INDEX, ["c0"]) == [LIN, BOAT]
    assert entities_within(INDEX, ["c2"]) == [BOAT, LAMP, ANN]
    assert entities_within(INDEX, []) == []


def test_of_equally_near_vectors_the_smaller_id_comes_first() -> None:
    vectors = np.array([[1, 0], [0, 1], [1, 0], [1, 0]], np.float32)
    found = nearest(np.array([1, 0], np.float32), vectors, ["d", "a", "b", "c"], 3)
    assert found == [(2, 1.0), (3, 1.0), (0, 1.0)]


def test_a_missing_vector_is_told_with_its_remedy() -> None:
    with pytest.raises(ValueError, match="1 of 2 report vectors are missing; materialize"):
        INDEX.vectors("report", ["k0", "k3"])
    assert INDEX.vectors("report", ["k2", "k0"])[0].tolist() == [1, 0, 0]
