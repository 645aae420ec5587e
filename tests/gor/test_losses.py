"""Losses: worked out by hand, against the plain formulation, and what must not change them."""

import math
from itertools import combinations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import gsum_assets.gor.losses as module
from benchmarks.gor_training import published_losses
from gsum_assets.gor.encoders import batch_of
from gsum_assets.gor.graphs import RecordGraph
from gsum_assets.gor.losses import losses, ranking_loss
from gsum_assets.gor.methods import EncoderForm, LossForm
from tests.gor.toy_graphs import toy_graph

BOTH = EncoderForm(direction="both")
AS_PUBLISHED = LossForm(temperature=1.0, alpha=0.5, pairs="sum")


def three_nodes(document_id="one"):
    """One question (1, 0) whose similarities to three nodes, best first, are 0.8, 0.6 and 0."""
    return RecordGraph(
        document_id=document_id,
        node_ids=np.array(["a", "b", "c"]),
        kinds=np.array(["chunk", "chunk", "response"]),
        features=np.array([[0.0, 1.0], [0.8, 0.6], [0.6, 0.8]], np.float32),
        edges=np.array([[1], [2]]),
        queries=np.array([[1.0, 0.0]], np.float32),
        rankings=np.array([[1, 2, 0]]),
        sources=np.array([1]),
        query_ids=np.array(["q"]),
    )


def found(graphs, chosen=AS_PUBLISHED, nodes=None):
    batch = batch_of(graphs, BOTH)
    return losses(batch.features if nodes is None else torch.from_numpy(nodes), batch, chosen)


def test_three_nodes_known_values():
    whole = math.exp(0.8) + math.exp(0.6) + 1
    contrastive = math.log(whole) - 0.8
    pairs = [math.exp(0.6) / math.exp(0.8), 1 / math.exp(0.8), 1 / math.exp(0.6)]
    ranking = sum(math.log(1 + ratio) for ratio in pairs)
    shares = [math.exp(s) / whole for s in (0.8, 0.6, 0)]
    ours = found([three_nodes()])
    assert ours.contrastive.item() == pytest.approx(contrastive, rel=1e-6)
    assert ours.ranking.item() == pytest.approx(ranking, rel=1e-6)
    assert ours.total.item() == pytest.approx(contrastive + 0.5 * ranking, rel=1e-6)
    assert ours.entropy.item() == pytest.approx(-sum(p * math.log(p) for p in shares), rel=1e-6)
    mean = found([three_nodes()], LossForm(temperature=1.0, pairs="mean"))
    assert mean.ranking.item() == pytest.approx(ranking / 3, rel=1e-6)


def test_two_documents_are_mutual_negatives():
    whole = math.exp(0.8) + math.exp(0.6) + 1
    two = [three_nodes("one"), three_nodes("two")]
    assert found(two).contrastive.item() == pytest.approx(math.log(2 * whole) - 0.8, rel=1e-6)
    apart = found(two, LossForm(temperature=1.0, in_batch=False))
    assert apart.contrastive.item() == pytest.approx(math.log(whole) - 0.8, rel=1e-6)


@pytest.mark.parametrize("temperature", [0.05, 1.0])
def test_equals_the_plain_formulation_with_gradients(temperature):
    graphs = [toy_graph(f"d{i}", n_chunks=4 + 3 * i, n_queries=1 + i) for i in range(5)]
    batch = batch_of(graphs, BOTH)
    gradients = []
    for plain in (True, False):
        nodes = batch.features.double().requires_grad_()
        if plain:
            contrastive, ranking = published_losses(nodes, graphs, temperature)
        else:
            chosen = LossForm(temperature=temperature, alpha=0.5, pairs="sum")
            _, contrastive, ranking, _ = losses(nodes, batch, chosen)
        (contrastive + 0.5 * ranking).backward()
        gradients.append((contrastive.item(), ranking.item(), nodes.grad.numpy()))
    for theirs, ours in zip(*gradients, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-9)


@settings(max_examples=30)
@given(
    rows=st.lists(st.lists(st.floats(-50, 50), min_size=3, max_size=3), min_size=1, max_size=6),
    at_once=st.sampled_from([1, 7, 2**17]),
)
def test_ranking_loss_is_the_sum_over_pairs_for_any_block_size(rows, at_once):
    expected = sum(
        (np.logaddexp(0, behind - ahead) for ahead, behind in combinations(np.array(rows), 2)),
        np.zeros(3),
    )
    ranked = torch.tensor(rows, dtype=torch.float64).T  # 3 questions
    before, module._PAIRS_AT_ONCE = module._PAIRS_AT_ONCE, at_once
    try:
        ours = ranking_loss([ranked]).mean()
    finally:
        module._PAIRS_AT_ONCE = before
    assert ours.item() == pytest.approx(expected.mean(), rel=1e-8)


def test_one_node_has_neither_negatives_nor_pairs():
    alone = RecordGraph(
        "one",
        np.array(["a"]),
        np.array(["chunk"]),
        np.ones((1, 2), np.float32),
        np.empty((2, 0), np.int64),
        np.ones((1, 2), np.float32),
        np.array([[0]]),
        np.array([0]),
        np.array(["q"]),
    )
    assert [value.item() for value in found([alone])] == [0, 0, 0, 0]
    assert found([alone, three_nodes()]).contrastive.item() > 0
