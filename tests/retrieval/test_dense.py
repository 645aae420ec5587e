import numpy as np
import pytest

from gsum_assets.retrieval.dense import Dense
from gsum_assets.retrieval.neighbours import Smoothed
from gsum_assets.retrieval.ranking import top
from tests.retrieval.toys import collection, of_texts, toy_questions


def test_scores_are_cosines_and_documents_take_the_best():
    found = Dense(collection()).scores(toy_questions(("?", None, 1)))
    assert found.nodes.tolist() == [[0, 1, 1, 1, 0]]
    assert found.documents.tolist() == [[1, 1, 0]]


def test_equal_vectors_tie_exactly_at_any_position():
    # Raw products of equal columns may differ in the last bit, by their position in the block.
    generator = np.random.default_rng(0)
    vectors = generator.normal(size=(1, 384)).repeat(1003, axis=0).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    many = of_texts(*["x"] * 1003)
    many = type(many)(
        many.document_ids,
        many.document_texts,
        many.chunk_ids,
        many.chunk_texts,
        many.starts,
        vectors,
    )
    questions = toy_questions(("?", None, 0))
    questions = type(questions)(questions.ids, questions.texts, questions.document_ids, vectors[:1])
    scores = Dense(many).scores(questions).nodes
    assert len(np.unique(scores)) == 1
    assert [many.chunk_ids[i] for i in top(scores, many.chunk_ids, 3)[0]] == ["c0", "c1", "c10"]


def test_smoothing_adds_a_share_of_neighbours_in_the_document():
    here = collection()
    questions = toy_questions(("the boat", None, 1))
    own = Dense(here).scores(questions).nodes[0]  # apples 0, 1; boats 1, 1; clouds 0
    found = Smoothed(Dense(here), here, 0.5).scores(questions).nodes[0]
    assert own.tolist() == [0, 1, 1, 1, 0]
    # at an end the chunk itself stands for the neighbour it lacks
    assert found.tolist() == pytest.approx([0.5, 1.5, 2, 2, 0])
