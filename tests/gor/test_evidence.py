"""`gor-evidence`: several positives, one kind of node in a ranking, edges between neighbours."""

import math
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
import torch

from gsum_assets.gor.encoders import FOLLOWS, RECORD, batch_of, embed_nodes, message_graph
from gsum_assets.gor.graphs import NO_SOURCE
from gsum_assets.gor.learn import with_positives
from gsum_assets.gor.losses import listwise_loss, losses
from gsum_assets.gor.methods import EVIDENCE, FORMS, EncoderForm, LossForm
from gsum_assets.gor.train import train
from gsum_assets.pipeline.embed import vector_column
from tests.gor.toy_graphs import toy_graph

TRAINING = replace(FORMS[EVIDENCE], epochs=4, batch_graphs=2)
BOTH = EncoderForm(direction="both")
VECTORS = pa.table({"query_id": ["m"], "embedding": vector_column(np.ones((1, 16), np.float32))})


def marked(graph, split: str | None = "train", chunks=(1, 5)):
    row = {"query_id": "m", "document_id": graph.document_id, "split": split} | {
        "relevant_chunk_ids": [f"{graph.document_id}-{i}" for i in chunks]
    }
    return pa.Table.from_pylist([row])


def with_own(*graphs):
    """Graphs with the positives of their simulated questions alone."""
    return with_positives(list(graphs), marked(graphs[0]).slice(0, 0), VECTORS, None)


def test_loss_of_several_positives_is_known():
    scores = torch.tensor([[0.8, 0.6, 0.0, 9.0]])
    positives = torch.tensor([[True, True, False, False]])
    candidates = torch.tensor([[True, True, True, False]])  # the last is of another kind
    expected = math.log(math.exp(0.8) + math.exp(0.6) + 1) - (0.8 + 0.6) / 2
    assert listwise_loss(scores, positives, candidates).item() == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("in_batch", [True, False])
def test_responses_are_not_ranked_with_passages(in_batch):
    graphs = [toy_graph("a"), toy_graph("b", n_chunks=5)]
    form = LossForm(ranking=False, in_batch=in_batch)

    def contrastive(graphs, shift):
        batch = batch_of(graphs, BOTH)
        responses = torch.from_numpy(np.concatenate([g.kinds for g in graphs]) == "response")
        return losses(batch.features + shift * responses[:, None], batch, form).total.item()

    own = with_own(*graphs)
    assert contrastive(own, 1.0) == contrastive(own, 0.0)
    assert contrastive(graphs, 1.0) != contrastive(graphs, 0.0)
    alone = [contrastive([graph], 0.0) for graph in own]  # 4 questions each
    # without negatives of other graphs the means are equal but for the last bits
    assert (contrastive(own, 0.0) > np.mean(alone) + 1e-5) == in_batch


def test_positives_are_the_source_and_what_the_response_used():
    graph = toy_graph("a", n_chunks=8, n_queries=4)
    graph.edges[:, 0] = (9, 11)  # the last response used the second one, which is no passage
    (learnable,) = with_own(graph)
    for i, positives in enumerate(learnable.positives):
        used = set(graph.edges[0][graph.edges[1] == 8 + i].tolist())
        assert set(np.flatnonzero(positives)) == {graph.sources[i]} | {n for n in used if n < 8}
    assert learnable.positives.sum() > graph.n_queries
    assert learnable.is_ranked.tolist() == (graph.kinds == "chunk").tolist()


def test_marked_questions_of_the_split_are_learnt_from():
    graph = toy_graph("a")
    (learnable,) = with_positives([graph], marked(graph), VECTORS, None)
    assert learnable.query_ids.tolist() == [*graph.query_ids, "m"]
    assert np.flatnonzero(learnable.positives[-1]).tolist() == [1, 5]
    assert learnable.rankings[-1].tolist() == [1, 5, 0, 2, 3, 4, *range(6, 12)]
    assert (learnable.sources[-1], learnable.queries[-1].tolist()) == (NO_SOURCE, [1] * 16)
    elsewhere = [marked(graph, "val"), marked(graph, None), marked(graph, chunks=())]
    for table in [*elsewhere, marked(toy_graph("b"))]:
        (other,) = with_positives([graph], table, VECTORS, None)
        assert other.query_ids.tolist() == graph.query_ids.tolist()
    (named,) = with_positives([graph], marked(graph, "dev"), VECTORS, "dev")
    assert named.n_queries == graph.n_queries + 1


def test_neighbour_edges_are_a_type_of_their_own():
    graph = toy_graph("a", n_chunks=3, n_queries=1)
    plain, typed = (message_graph(graph, FORMS[name].encoder) for name in ("gor", EVIDENCE))
    assert sorted(typed.etypes) == [FOLLOWS, RECORD]
    pairs = {
        name: {(a.item(), b.item()) for a, b in zip(*typed.edges(etype=name), strict=True)}
        for name in typed.etypes
    }
    assert pairs[FOLLOWS] == {(0, 1), (1, 0), (1, 2), (2, 1)} | {(i, i) for i in range(4)}
    assert pairs[RECORD] == {(a.item(), b.item()) for a, b in zip(*plain.edges(), strict=True)}


@pytest.mark.parametrize("name", ["gat", "gcn", "sgc", "gin", "sage"])
def test_messages_pass_between_neighbours_in_the_variant_only(name):
    graph = toy_graph("a", n_chunks=6, n_queries=0)
    other = replace(graph, features=graph.features.copy())
    other.features[1] = -other.features[1]
    for method, reached in (("gor", [1]), (EVIDENCE, [0, 1, 2, 3])):  # two layers: two passages
        form = replace(FORMS[method], epochs=1)
        form = replace(form, encoder=replace(form.encoder, name=name), loss=LossForm())
        one, two = embed_nodes(train([toy_graph("b")], form).encoder, [graph, other])
        assert np.flatnonzero(np.abs(one - two).max(1) > 1e-6).tolist() == reached
