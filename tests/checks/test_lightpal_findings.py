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
from tests.lightpal.toys import candidate_table, edge_table

CHUNKS = pa.table({"chunk_id": ["a0", "a1", "a2", "b0"], "document_id": ["a", "a", "a", "b"]})
NODES = list(permutations(["a0", "a1", "a2", "b0"], 2))
DOCUMENTS = [("a", "b"), ("b", "a")]


def candidates(nodes, documents=DOCUMENTS):
    rows = [("document", *pair) for pair in documents] + [("node", *pair) for pair in nodes]
    names = ("level", "passage_id", "candidate_id")
    return candidate_table(dict(zip(names, row, strict=True)) for row in rows)


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
        (("a0", "gone"), "1 of 6 passages are not in the corpus, or a candidate is not"),
        (("a0", "b"), "1 of 6 passages are not in the corpus, or a candidate is not"),
        (("a0", "a0"), "1 of 6 passages are their own"),
    ],
)
def test_candidate_is_another_passage_of_its_level(wrong, words):
    finding = are_passages(candidates([wrong, *NODES[1:]]), CHUNKS)
    assert finding.problem.startswith(words)
    assert ";" not in finding.problem.replace("; materialize", "")  # and nothing else
    assert finding.offenders == [{"level": "node", "passage_id": "a0"}]


def test_passage_that_is_gone_is_found():
    finding = are_passages(candidates([*NODES, ("gone", "a0")]), CHUNKS)
    assert finding.problem.startswith("1 of 7 passages are not in the corpus")


def test_number_of_another_passage_is_found():
    rows = candidates(NODES)
    at = rows.column_names.index("passage_number")
    numbers = rows["passage_number"].to_pylist()
    finding = are_passages(rows.set_column(at, "passage_number", [[5, *numbers[1:]]]), CHUNKS)
    assert finding.problem.startswith("1 of 6 passages have the number of another id")


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
    pairs = [
        {"level": "node", "passage_id": f"a{i}", "candidate_id": "b0", "value": value}
        for i, value in enumerate(values)
    ]
    return candidate_table(pairs, "context_scores")


def test_passages_without_a_score_are_counted():
    assert not all_scored(scores(-1.0, -2.0), "tales").problem
    finding = all_scored(scores(-1.0, None, None), "tales")
    assert finding.problem.startswith("2 of 3 passages have candidates without a score")
    assert "`gsum run tales`" in finding.problem
    assert finding.offenders[0]["passage_id"] == "a1"


def test_score_is_finite_or_null():
    assert not finite(scores(-1.0, None)).problem
    finding = finite(scores(-1.0, float("-inf"), None))
    assert finding.n_wrong == 1
    assert "not finite" in finding.problem
    rows = scores(-1.0, -2.0)
    short = pa.array([[], [-2.0]], pa.list_(pa.float64()))
    assert finite(rows.set_column(3, "scores", short)).n_wrong == 1


def edges(*rows):
    names = ("level", "scope", "source_id", "target_id")
    return edge_table(
        {"graph": "walk", "weight": 1.0} | dict(zip(names, row, strict=True)) for row in rows
    )


GOOD = [
    ("document", "corpus", "a", "b"),
    ("node", "corpus", "a0", "b0"),
    ("node", "corpus", "a0", "a1"),
    ("node", "document", "a0", "a1"),
]


def test_edges_lead_to_candidates():
    assert not join_candidates(edges(*GOOD), candidates(NODES), CHUNKS).problem
    nothing = join_candidates(edges(), candidates([], []), CHUNKS.slice(0, 0))
    assert not nothing.problem
    assert nothing.checked == "0 lists of edges"


@pytest.mark.parametrize(
    ("row", "words"),
    [
        (("node", "corpus", "b0", "a1"), "1 of 4 lists of edges do not lead from a passage to"),
        (("node", "corpus", "b0", "gone"), "1 of 4 lists of edges do not lead from a passage to"),
        (("node", "corpus", "gone", "b0"), "1 of 4 lists of edges do not lead from a passage to"),
        (("node", "document", "a2", "b0"), "1 of 4 lists of edges leave the document of"),
    ],
)
def test_invalid_edge_is_found(row, words):
    known = candidates([pair for pair in NODES if pair != ("b0", "a1")])
    finding = join_candidates(edges(*GOOD, row), known, CHUNKS)
    assert finding.problem.startswith(words)
    assert finding.n_wrong == 1
    assert finding.offenders[0]["source_id"] == row[2]


def test_edge_without_a_weight_is_found():
    rows = edges(*GOOD)
    weights = [[], *rows["weights"].to_pylist()[1:]]
    short = pa.array(weights, pa.list_(pa.float64()))
    found = join_candidates(rows.set_column(5, "weights", short), candidates(NODES), CHUNKS)
    assert found.problem.startswith("1 of 3 lists of edges have not one weight")
