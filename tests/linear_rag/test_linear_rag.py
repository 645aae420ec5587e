"""LinearRAG on a chain of three entities, with the numbers by hand."""

import numpy as np
import pytest

from gsum_assets.linear_rag.retriever import (
    Activation,
    LinearRag,
    activate,
    entities_named_in,
    first_activation,
    passage_restarts,
)
from gsum_assets.linear_rag.settings import LinearRagSettings
from gsum_assets.linear_rag.tri_graph import TriGraph
from gsum_assets.multi_hop.graph import entity_mentions
from tests.multi_hop.toys import NAMES, aliases, chunks, collection, question, sentences

SENTENCES, ENTITIES = np.array([0, 0, 1, 1, 2]), np.array([0, 1, 1, 2, 3])
FIRST = np.array([1.0, 0, 0, 0])


def spread(relevance: list[float], threshold: float = 0.1, iterations: int = 3) -> Activation:
    return activate(FIRST, np.array(relevance), SENTENCES, ENTITIES, threshold, iterations)


def test_activation_goes_from_sentence_to_sentence() -> None:
    scores, levels = spread([0.8, 0.5, 0.9])
    assert scores == pytest.approx([1, 0.8, 0.4, 0])
    assert levels.tolist() == [1, 2, 3, 0]


def test_activation_ends_below_the_threshold_and_after_the_last_round() -> None:
    assert spread([0.8, 0.5, 0.9], threshold=0.5).levels.tolist() == [1, 2, 0, 0]
    assert spread([0.8, 0.5, 0.9], iterations=1).levels.tolist() == [1, 2, 0, 0]
    assert spread([0.8, 0.5, 0.9], iterations=0).scores.tolist() == FIRST.tolist()


def test_what_sentences_bring_to_an_entity_is_not_added() -> None:
    sentences, entities = np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1])
    both = activate(np.array([1.0, 0]), np.array([0.4, 0.6]), sentences, entities, 0.1, 3)
    assert both.scores == pytest.approx([1, 0.6])


def test_restart_of_a_passage_counts_its_activated_entities() -> None:
    activation = Activation(np.array([1.0, 0.5, 0]), np.array([1, 2, 0]))
    contained = np.array([0, 0, 1]), np.array([0, 1, 2]), np.array([2, 1, 5])
    restarts = passage_restarts(activation, np.array([0.3, 0.4]), contained, 0.5)
    bonus = np.log(1 + np.log(3) + 0.5 * np.log(2) / 2)
    assert restarts == pytest.approx([0.15 + bonus, 0.2])


def graph(*chunk_ids: str) -> TriGraph:
    return TriGraph.of(chunk_ids, sentences(), entity_mentions(chunks(), aliases()))


def test_graph_has_the_entities_of_its_scope() -> None:
    whole, one = graph("c0", "c1", "c2"), graph("c1")
    assert whole.entity_ids == ["a", "b", "c", "d"]
    assert (whole.sentences.tolist(), whole.entities.tolist()) == (
        SENTENCES.tolist(),
        ENTITIES.tolist(),
    )
    assert whole.vectors.tolist() == np.eye(3).tolist()
    assert (one.entity_ids, one.passage_of.tolist()) == (["b", "c"], [0])


def test_mention_in_a_sentence_without_vector_is_an_error() -> None:
    with pytest.raises(ValueError, match="c0"):
        TriGraph.of(["c0"], sentences().slice(0, 2), entity_mentions(chunks(), aliases()))


def test_passage_of_the_second_hop_is_found_before_one_that_is_as_similar() -> None:
    whole = graph("c0", "c1", "c2")
    asked = question(0.8, 0.5, 0.5)
    entity_of = dict(zip(map(str.lower, NAMES.values()), NAMES, strict=True))
    names = np.zeros((4, 3), np.float32)
    named = entities_named_in(asked.texts, entity_of)
    scores = LinearRag(collection(), whole, names, named, LinearRagSettings()).scores(asked)
    first, second, alone = scores.nodes[0]
    assert first > second > alone > 0
    assert scores.documents.tolist() == scores.nodes.tolist()


def test_question_starts_at_the_entities_that_it_names_or_at_the_most_similar() -> None:
    names, vector = np.eye(2, dtype=np.float32), np.array([0.1, 0.6])
    texts = ["Does ana know it?", "Who owns the Zvornik Bridge?"]
    named = entities_named_in(texts, {"ana": "a"})
    assert named == {texts[0]: {"a"}}
    assert first_activation({"a"}, vector, ["a", "b"], names).tolist() == [1, 0]
    assert first_activation((), vector, ["a", "b"], names).tolist() == [0, pytest.approx(0.6)]
    assert first_activation((), vector, [], names[:0]).tolist() == []
