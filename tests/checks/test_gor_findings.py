"""Each check of Graph of Records alone, on tables small enough to know the answer."""

import pyarrow as pa
import pytest

from gsum_assets.gor.checks import loss_falls, training_helps
from tests.checks.small_tables import run_check


def are_chunks_and_responses(nodes, chunks, responses):
    tables = {"gor.record_nodes": nodes, "chunks": chunks, "gor.historical_responses": responses}
    return run_check("gor.record_nodes", "are_chunks_and_responses", tables)


def join_nodes(edges, nodes):
    tables = {"gor.record_edges": edges, "gor.record_nodes": nodes}
    return run_check("gor.record_edges", "join_nodes", tables)


def source_comes_first(rankings, queries):
    tables = {"gor.node_rankings": rankings, "gor.simulated_queries": queries}
    return run_check("gor.node_rankings", "source_comes_first", tables)


NODES = pa.table(
    {"node_id": ["c0", "c1", "r1", "r2", "e0"], "document_id": ["d", "d", "d", "d", "e"]}
    | {"kind": ["chunk", "chunk", "response", "response", "chunk"], "position": [0, 1, 1, 2, 0]}
)
CHUNKS = pa.table({"chunk_id": ["c0", "c1", "e0"], "document_id": ["d", "d", "e"]})
RESPONSES = pa.table({"response_id": ["r1", "r2"], "document_id": ["d", "d"]})


def edges(*pairs):
    return pa.table(
        {
            "source_id": pa.array([source for source, _ in pairs], pa.string()),
            "target_id": pa.array([target for _, target in pairs], pa.string()),
            "document_id": pa.array(["d"] * len(pairs), pa.string()),
        }
    )


def test_nodes_are_chunks_and_responses():
    assert not are_chunks_and_responses(NODES, CHUNKS, RESPONSES).problem
    missing = are_chunks_and_responses(NODES.slice(1), CHUNKS, RESPONSES)
    assert missing.problem.startswith("1 of 5 chunks and responses have no node")
    stranger = are_chunks_and_responses(NODES, CHUNKS.slice(0, 2), RESPONSES)
    assert stranger.problem.startswith("1 of 5 nodes are neither")
    assert stranger.offenders[0]["node_id"] == "e0"


@pytest.mark.parametrize(
    "pair", [("c0", "c1"), ("r2", "r1"), ("r1", "r1"), ("e0", "r1"), ("gone", "r1"), ("c0", "gone")]
)
def test_edge_leads_to_a_later_response_of_its_document(pair):
    good = [("c0", "r1"), ("c1", "r2"), ("r1", "r2")]
    assert not join_nodes(edges(*good), NODES).problem
    finding = join_nodes(edges(*good, pair), NODES)
    assert finding.n_wrong == 1
    assert finding.offenders[0]["source_id"] == pair[0]
    assert not join_nodes(edges(), NODES).problem


def test_source_ranks_first_or_ties_for_first():
    queries = pa.table({"query_id": ["q", "p"], "chunk_id": ["c0", "c1"]})
    rankings = pa.table(
        {"query_id": ["q", "q", "p", "p"], "node_id": ["c0", "c1", "c0", "c1"]}
        | {"f1": pa.array([1.0, 0.5, 1.0, 1.0], pa.float32())}
    )
    assert not source_comes_first(rankings, queries).problem
    lost = source_comes_first(rankings.slice(1), queries)
    assert lost.problem.startswith("1 of 2 questions do not rank")
    assert lost.offenders[0]["query_id"] == "q"


def test_rising_or_nan_loss_is_reported():
    def log(*losses):
        return pa.table({"epoch": list(range(1, len(losses) + 1)), "loss": list(losses)})

    assert not loss_falls(log(3.0, 4.0, 2.0)).problem
    assert not loss_falls(log()).problem
    assert "went from 3 to 3.5" in loss_falls(log(3.0, 3.5)).problem
    assert "not finite" in loss_falls(log(3.0, float("nan"))).problem


def ranks(dense, trained, is_learnt=False):
    """Rows of `source_ranks`; training gains among all nodes, and any change among chunks."""
    n = len(dense)
    return pa.table(
        {"is_learnt": [is_learnt] * n, "chunk_rank_before": dense, "chunk_rank": trained}
        | {"rank_before": [30] * n, "rank": trained}
    )


def test_training_helps_if_the_network_outranks_dense():
    assert not training_helps(ranks([4] * 8, [2] * 8)).problem
    equal = training_helps(ranks([2, 1] * 4, [1, 2] * 4)).problem
    assert "does not rise significantly, from 0.750 by dense" in equal
    worse = training_helps(ranks([4] * 8, [5] * 8))
    assert "falls, from 0.250 by dense retrieval to 0.200" in worse.problem
    assert worse.offenders[0]["p_value"] < 0.05


def test_training_is_judged_on_held_out_documents_if_questions_suffice():
    unseen, learnt = ranks([4] * 8, [2] * 8), ranks([1] * 8, [9] * 8, is_learnt=True)
    assert not training_helps(pa.concat_tables([unseen, learnt])).problem
    assert training_helps(learnt).checked.startswith("0 questions")
    assert not training_helps(ranks([4] * 5, [9] * 5)).problem  # of five nothing is significant


def test_untrained_models_are_not_reported():
    untrained = ranks([4] * 8, [4] * 8)
    untrained = untrained.set_column(4, "rank", untrained["rank_before"])
    assert not training_helps(untrained).problem
