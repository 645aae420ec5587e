"""Mentions of entities in sentences, and the walk."""

import numpy as np
import pyarrow as pa
import pytest

from gsum_assets.multi_hop.graph import entity_mentions, passage_graph, passage_scores
from tests.multi_hop.toys import aliases, chunks


def test_an_entity_is_linked_to_every_sentence_that_holds_its_name() -> None:
    rows = entity_mentions(chunks(), aliases())
    pairs = list(zip(rows["chunk_id"].to_pylist(), rows["entity_id"].to_pylist(), strict=True))
    assert pairs == [("c0", "a"), ("c0", "b"), ("c1", "b"), ("c1", "c"), ("c2", "d")]


def test_a_mention_has_the_position_of_its_sentence() -> None:
    text = "It rained for days. Nobody left the house. Ana did."
    rows = entity_mentions(pa.table({"chunk_id": ["c"], "text": [text]}), aliases())
    assert rows.to_pylist() == [{"chunk_id": "c", "position": 2, "entity_id": "a"}]


def test_a_corpus_without_entities_has_no_mention() -> None:
    assert entity_mentions(chunks(), aliases().slice(4)).num_rows == 0


def test_walk_is_the_solution_of_its_equation() -> None:
    """Two passages and their common entity: x = r t + (1 - r) P x."""
    graph = passage_graph(2, 1, np.array([[0, 2], [1, 2]]), np.ones(2))
    restart = np.array([1.0, 0.0, 1.0])
    walked = np.array([[0, 0, 0.5], [0, 0, 0.5], [1, 1, 0]])
    exact = np.linalg.solve(np.eye(3) - 0.5 * walked, 0.5 * restart / 2)
    assert passage_scores(graph, restart, 0.5, 2) == pytest.approx(exact[:2], abs=1e-7)


def test_walk_that_restarts_nowhere_finds_nothing() -> None:
    graph = passage_graph(2, 0, np.empty((0, 2), int), np.empty(0))
    assert passage_scores(graph, np.zeros(2), 0.5, 2).tolist() == [0, 0]
