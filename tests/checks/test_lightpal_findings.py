"""Each check of passage graphs alone, on tables small enough to know the answer."""

from itertools import permutations

import pyarrow as pa
import pytest

from gsum_assets.lightpal.checks import (
    all_scored,
    are_passages,
    finite,
    join_candidates,
    near_exact,
)
from gsum_assets.tables import TABLES

CHUNKS = pa.table(
    {"chunk_id": ["a0", "a1", "a2", "b0"], "document_id": ["a", "a", "a", "b"]},
)
NODES = list(permutations(["a0", "a1", "a2", "b0"], 2))
DOCUMENTS = [("a", "b"), ("b", "a")]


def candidates(nodes, documents=DOCUMENTS):
    rows = [("document", *pair) for pair in documents] + [("node", *pair) for pair in nodes]
    names = ("level", "passage_id", "candidate_id")
    schema = pa.schema([(name, pa.string()) for name in names])
    return pa.Table.from_pylist([dict(zip(names, row, strict=True)) for row in rows], schema)


def test_a_low_recall_of_approximate_neighbours_warns():
    assert not near_exact(None, 100).problem
    assert not near_exact(0.995, 100).problem
    found = near_exact(0.95, 100)
    assert found.n_wrong == 5
    assert "exact_up_to" in found.problem


def test_candidates_are_passages():
    assert not are_passages(candidates(NODES), CHUNKS).problem
    assert not are_passages(candidates([], []), CHUNKS.slice(0, 0)).problem


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        (("a0", "gone"), "1 of 14 candidates name a passage that is not"),
        (("a0", "b"), "1 of 14 candidates name a passage that is not"),  # a document, not a chunk
        (("a0", "a0"), "1 of 14 candidates are their own"),
    ],
)
def test_candidate_is_another_passage_of_its_level(wrong, words):
    finding = are_passages(candidates([wrong, *NODES[1:]]), CHUNKS)
    assert finding.problem.startswith(words)
    assert ";" not in finding.problem.replace("; materialize", "")  # and nothing else
    assert finding.offenders == [{"level": "node", "passage_id": "a0", "candidate_id": wrong[1]}]


def test_passage_with_fewer_candidates_is_found():
    finding = are_passages(candidates(NODES[:-1]), CHUNKS)
    assert finding.problem.startswith("1 of 6 passages have fewer candidates")
    assert finding.offenders == [
        {"level": "node", "passage_id": "b0", "candidates": 2, "others": 3}
    ]


def test_passages_without_candidates_are_found():
    assert are_passages(candidates(NODES, []), CHUNKS).n_wrong == 2
    assert not are_passages(candidates([], []), CHUNKS.slice(3)).problem  # one of each level


def scores(*values):
    rows = [
        {"level": "node", "passage_id": "a0", "candidate_id": f"b{i}", "score": value}
        for i, value in enumerate(values)
    ]
    return pa.Table.from_pylist(rows, TABLES["lightpal.context_scores"].schema)


def test_pairs_without_a_score_are_counted():
    assert not all_scored(scores(-1.0, -2.0), "tales").problem
    finding = all_scored(scores(-1.0, None, None), "tales")
    assert finding.problem.startswith("2 of 3 pairs have no score")
    assert "`gsum run tales`" in finding.problem
    assert finding.offenders[0]["candidate_id"] == "b1"


def test_score_is_finite_or_null():
    assert not finite(scores(-1.0, None)).problem
    finding = finite(scores(-1.0, float("-inf"), float("nan"), None))
    assert finding.n_wrong == 2
    assert "not finite" in finding.problem


def edges(*rows):
    names = ("level", "scope", "source_id", "target_id", "rank")
    dicts = [{"graph": "walk", "weight": 1.0} | dict(zip(names, row, strict=True)) for row in rows]
    return pa.Table.from_pylist(dicts, TABLES["lightpal.passage_edges"].schema)


GOOD = [
    ("document", "corpus", "a", "b", 1),
    ("node", "corpus", "a0", "b0", 1),
    ("node", "corpus", "a0", "a1", 2),
    ("node", "document", "a0", "a1", 1),
]


def test_edges_lead_to_candidates():
    assert not join_candidates(edges(*GOOD), candidates(NODES), CHUNKS).problem
    nothing = join_candidates(edges(), candidates([], []), CHUNKS.slice(0, 0))
    assert not nothing.problem
    assert nothing.checked == "0 edges"


@pytest.mark.parametrize(
    ("row", "words"),
    [
        (("node", "corpus", "b0", "a1", 1), "1 of 5 edges do not lead from a passage to a"),
        (("node", "corpus", "b0", "gone", 1), "1 of 5 edges do not lead from a passage to a"),
        (("node", "corpus", "gone", "b0", 1), "1 of 5 edges do not lead from a passage to a"),
        (("node", "document", "a2", "b0", 1), "1 of 5 edges leave the document of"),
        (("node", "corpus", "a2", "b0", 2), "1 of 4 lists of edges are not ranked"),
        (("node", "corpus", "a0", "a2", 2), "1 of 3 lists of edges are not ranked"),
        (("node", "corpus", "a0", "a2", 4), "1 of 3 lists of edges are not ranked"),
    ],
)
def test_invalid_edge_is_found(row, words):
    known = candidates([pair for pair in NODES if pair != ("b0", "a1")])
    finding = join_candidates(edges(*GOOD, row), known, CHUNKS)
    assert finding.problem.startswith(words)
    assert finding.n_wrong == 1
    assert finding.offenders[0]["source_id"] == row[2]
