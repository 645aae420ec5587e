"""Edges of the three graphs, by hand."""

import math
from collections.abc import Mapping

import numpy as np
import pytest

from gsum_assets.pipeline.tables import TABLES
from gsum_assets.retrieval.collection import Collection
from tests.lightpal.toys import (
    EMPTY,
    candidate_table,
    candidates,
    edges_among,
    ends_of,
    scored,
    topic_tables,
)
from tests.retrieval.toys import collection

GRAPHS = ("context", "embedding", "walk")
IDS = ("a1", "a2", "b1", "b2")
COLLECTION = Collection(
    document_ids=["a", "b"],
    document_texts=["", ""],
    chunk_ids=IDS,
    chunk_texts=[""] * 4,
    starts=np.array([0, 2, 4]),
)
# the candidates of a1 in the order of their similarity; the other chunks have them alike
SIMILARITIES = {"b2": 0.9, "a2": 0.5, "b1": 0.1}
SCORES = {"b2": -3.0, "a2": -2.0, "b1": -1.0}


def edges(scores: Mapping[str, float | None] = SCORES, n_edges: int = 3) -> list[dict]:
    """Rows of `passage_edges` that leave chunk a1."""
    pairs, values = [], []
    for level, ids in (("document", COLLECTION.document_ids), ("node", IDS)):
        for own in ids:
            others = list(SIMILARITIES) if own == "a1" else [i for i in ids if i != own]
            for other in others:
                row = {"level": level, "passage_id": own, "candidate_id": other}
                pairs.append({**row, "value": SIMILARITIES.get(other, 0.0)})
                values.append({**row, "value": scores.get(other, 0.0)})
    table = edges_among(
        candidate_table(pairs), candidate_table(values, "context_scores"), COLLECTION, n_edges
    )
    assert table.schema.equals(TABLES["lightpal.passage_edges"].schema)
    ids = [*IDS, *COLLECTION.document_ids]
    return [row for row in ends_of(table, ids) if row["source_id"] == "a1"]


def targets(rows: list[dict], graph: str, scope: str = "corpus") -> list[tuple[str, int, float]]:
    return [
        (row["target_id"], row["rank"], row["weight"])
        for row in rows
        if (row["graph"], row["scope"]) == (graph, scope)
    ]


def test_published_graph_uses_scores_and_its_ablation_similarity():
    rows = edges(n_edges=2)
    assert targets(rows, "context") == [("b1", 1, 1.0), ("a2", 2, 1.0)]
    assert targets(rows, "embedding") == [("b2", 1, 1.0), ("a2", 2, 1.0)]


def test_walked_graph_adds_both_in_standard_deviations_as_far_as_they_agree():
    # similarities: mean .5, deviation of .4 and 0: z = s, 0, -s with s = sqrt(3/2)
    s = math.sqrt(3 / 2)
    # z = s, -s, 0: correlation s²/3 = 1/2, sums 3s/2, -s, -s/2
    rows = edges({"b2": -1.0, "a2": -3.0, "b1": -2.0})
    found = targets(rows, "walk")
    assert [target for target, _, _ in found] == ["b2", "b1", "a2"]
    # squared; a sum below zero has the least weight
    assert [weight for *_, weight in found] == pytest.approx([3.375, 1e-6, 1e-6], rel=1e-5)
    # z = 1/√2, 1/√2, -√2: correlation s/√2
    half = targets(edges({"b2": -1.5, "a2": -1.5, "b1": -3.0}), "walk")
    r = math.sqrt(0.5)
    assert [weight for *_, weight in half] == pytest.approx(
        [(s * r * s + r) ** 2, 0.5, 1e-6], rel=1e-5
    )


def test_similarity_that_contradicts_the_scores_does_not_count():
    # the scores are best where the similarity is worst
    found = targets(edges(), "walk")
    assert [target for target, _, _ in found] == ["b1", "a2", "b2"]
    assert found[0][2] == pytest.approx(1.5, rel=1e-5)  # s² by the scores alone


def test_within_document_edges_lead_to_its_passages_only():
    rows = edges(n_edges=1)
    for graph in GRAPHS:
        ((target, rank, _),) = targets(rows, graph, "document")
        assert (target, rank) == ("a2", 1)


def test_pair_without_required_score_has_no_edge():
    rows = edges({"b2": -3.0, "a2": None, "b1": -1.0})
    assert [target for target, _, _ in targets(rows, "context")] == ["b1", "b2"]
    assert [target for target, _, _ in targets(rows, "embedding")] == ["b2", "a2", "b1"]
    # z of the scores: -1, 1; of the similarities: s, -s, which do not count
    found = targets(rows, "walk")
    assert [target for target, _, _ in found] == ["b1", "b2"]
    assert [weight for *_, weight in found] == pytest.approx([1, 1e-6], rel=1e-5)
    assert targets(rows, "context", "document") == []
    assert targets(edges(dict.fromkeys(SCORES)), "context") == []


@pytest.mark.parametrize("n_edges", [1, 3, 100])
def test_every_passage_has_its_best_edges_in_every_graph(n_edges):
    here = Collection.from_tables(*topic_tables(2, 3, 4))
    found = candidates(here, 10)
    rows = edges_among(found, scored(found, here), here, n_edges)
    counts: dict[tuple[str, str, str, str], list[int]] = {}
    for row in ends_of(rows, [*here.chunk_ids, *here.document_ids]):
        names = (row["graph"], row["level"], row["scope"], row["source_id"])
        counts.setdefault(names, []).append(row["rank"])
        assert row["weight"] > 0
        assert row["source_id"] != row["target_id"]
        if row["scope"] == "document":
            assert row["source_id"][:6] == row["target_id"][:6]
    assert all(ranks == [*range(1, len(ranks) + 1)] for ranks in counts.values())
    for graph in GRAPHS:
        for own in here.chunk_ids:
            assert len(counts[graph, "node", "corpus", own]) == min(n_edges, 10)
        for own in here.document_ids:
            assert len(counts[graph, "document", "corpus", own]) == min(n_edges, 5)


def test_scores_of_other_candidates_are_reported():
    here = collection()
    scores = scored(candidates(here, 2), here)
    with pytest.raises(ValueError, match="materialize lightpal/"):
        edges_among(candidates(here, 3), scores, here, 2)
    moved = np.roll(np.eye(5, 3, dtype=np.float32), 1, axis=0)
    other = Collection(
        here.document_ids, here.document_texts, here.chunk_ids, here.chunk_texts, here.starts, moved
    )
    with pytest.raises(ValueError, match="materialize lightpal/"):
        edges_among(candidates(other, 2), scores, here, 2)


def test_empty_corpus_has_no_edges():
    found = candidates(EMPTY, 3)
    rows = edges_among(found, scored(found, EMPTY), EMPTY, 2)
    assert rows.equals(TABLES["lightpal.passage_edges"].empty())
