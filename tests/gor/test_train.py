"""Training: it learns, reproducibly, and resumes exactly after an interruption."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from gsum_assets.gor import train as module
from gsum_assets.gor.checks import source_ranks
from gsum_assets.gor.encoders import embed_nodes, load_encoder, new_encoder
from gsum_assets.gor.methods import EncoderForm, LossForm, Training
from gsum_assets.gor.train import learning_rate, train, trained_tables
from gsum_resources.store.checkpoints import Checkpoint, CheckpointError, learnt_hash
from tests.gor.toy_graphs import toy_graph

GRAPHS = [toy_graph(f"d{i}", n_chunks=4 + i, n_queries=2 + i % 3) for i in range(5)]
SHORT = Training(epochs=4, batch_graphs=2, encoder=EncoderForm(heads=2))


def row_of(trained, training=SHORT):
    model, _ = trained_tables(trained, GRAPHS, training, "model-a")
    (row,) = model.to_pylist()
    return row


def weights(trained, training=SHORT):
    return row_of(trained, training)["weights"]


def test_same_seed_gives_same_bytes_in_any_document_order():
    first = weights(train(GRAPHS, SHORT))
    assert weights(train(GRAPHS[::-1], SHORT)) == first
    assert weights(train(GRAPHS, replace(SHORT, seed=1))) != first


def test_no_global_state_is_changed():
    before, threads = torch.get_rng_state(), torch.get_num_threads()
    train(GRAPHS[:1], SHORT)
    assert torch.equal(torch.get_rng_state(), before)
    assert torch.get_num_threads() == threads


@pytest.mark.parametrize("stopped_after", [1, 3, 4])
def test_resumed_training_equals_uninterrupted_training(monkeypatch, stopped_after):
    monkeypatch.setattr(module, "SECONDS_BETWEEN_STATES", 0)
    states, logged = [], []
    undisturbed = train(GRAPHS, SHORT, save=states.append)
    state = states[stopped_after - 1]
    resumed = train(GRAPHS, SHORT, logged.append, resume=state)
    assert weights(resumed) == weights(undisturbed)
    assert [row["loss"] for row in resumed.log] == [row["loss"] for row in undisturbed.log]
    assert [row["epoch"] for row in logged] == list(range(stopped_after + 1, SHORT.epochs + 1))
    for graphs, training in ((GRAPHS[1:], SHORT), (GRAPHS, replace(SHORT, seed=1))):
        logged.clear()  # the state is of another training
        train(graphs, training, logged.append, resume=state)
        assert len(logged) == SHORT.epochs


def disturbed(start, n_graphs):
    """Graphs whose last 8 of 16 dimensions weigh most in nodes, and are wrong in questions."""
    graphs = [toy_graph(f"{start}{i}", 12, 8, noise=0.2) for i in range(n_graphs)]
    for i, graph in enumerate(graphs):
        graph.features[:, 8:] *= 2
        graph.queries[:, 8:] = np.random.default_rng(i).permutation(graph.queries[:, 8:])
    return graphs


def learning(**encoder):
    form = EncoderForm(dropout=0, **encoder)
    return Training(form, epochs=25, batch_graphs=8, learning_rate=1e-2)


def mrr(graphs, nodes):
    """Mean reciprocal rank of the sources of all questions."""
    ranks = [source_ranks(g, vectors, 1.0)[1] for g, vectors in zip(graphs, nodes, strict=True)]
    return np.mean(1 / np.concatenate(ranks))


@pytest.mark.parametrize("name", ["gat", "gcn", "sgc", "gin", "sage"])
def test_each_network_finds_the_source_of_unseen_questions(name):
    graphs = [toy_graph(f"train{i}", 12, 8, noise=0.2) for i in range(24)]
    held_out = [toy_graph(f"held{i}", 12, 8, noise=0.2) for i in range(12)]
    training = learning(name=name, residual=False)
    trained = train(graphs, training)
    before = embed_nodes(new_encoder(training.encoder, 16, training.seed), held_out)
    after = embed_nodes(trained.encoder, held_out)
    assert trained.log[-1]["loss"] < trained.log[0]["loss"] / 2
    assert mrr(held_out, after) > mrr(held_out, before) + 0.2


def test_residual_form_improves_its_input_on_unseen_documents():
    held_out = disturbed("held", 12)
    trained = train(disturbed("train", 24), learning())
    before = mrr(held_out, [graph.features for graph in held_out])
    assert mrr(held_out, embed_nodes(trained.encoder, held_out)) > before + 0.1


@pytest.mark.parametrize("change", [{"contrastive": False}, {"ranking": False}, {}])
def test_loss_is_the_sum_of_the_terms_that_are_included(change):
    loss = LossForm(**change)
    (*_, last) = train(GRAPHS, replace(SHORT, loss=loss)).log
    expected = loss.contrastive * last["loss_cl"] + loss.ranking * loss.alpha * last["loss_rank"]
    assert last["loss"] == pytest.approx(expected, rel=1e-5)


def test_without_a_network_nodes_are_unchanged_and_nothing_is_learnt_from():
    training = Training(EncoderForm("none"))
    trained = train(GRAPHS, training)
    loaded = load_encoder(weights(trained, training), "model-a", 16)
    np.testing.assert_array_equal(embed_nodes(loaded, GRAPHS[:1])[0], GRAPHS[0].features)
    assert row_of(trained, training)["learnt_from"] == []


def test_non_finite_loss_is_reported():
    form = EncoderForm(name="sgc", residual=False, unit_length=False)
    with pytest.raises(ValueError, match=r"loss of epoch \d+ is .*; lower learning_rate"):
        train(GRAPHS, Training(form, epochs=20, learning_rate=1e36))


def test_model_states_its_training_and_serves_unseen_documents():
    trained = train(GRAPHS, SHORT)
    row, unseen = row_of(trained), [toy_graph("unseen")]
    assert row["learnt_from"] == sorted(learnt_hash(graph.document_id) for graph in GRAPHS)
    loaded = load_encoder(row["weights"], "model-a", 16)
    expected = embed_nodes(trained.encoder, unseen)[0]
    np.testing.assert_array_equal(embed_nodes(loaded, unseen)[0], expected)
    for model, dimension, message in (("model-a", 384, "16 dimensions"), ("b", 16, "'b'")):
        with pytest.raises(CheckpointError, match=message):
            load_encoder(row["weights"], model, dimension)


def test_checkpoint_of_another_form_must_be_rebuilt():
    checkpoint = Checkpoint.from_bytes(weights(train(GRAPHS, SHORT)))
    encoder = checkpoint.settings["encoder"]
    for other, named in (({"joined": "averaged"}, "'joined'"), ({"heads": 3}, "size mismatch")):
        old = replace(checkpoint, settings={**checkpoint.settings, "encoder": encoder | other})
        with pytest.raises(CheckpointError, match=rf"(?s){named}.*; materialize gor/model again"):
            load_encoder(old.to_bytes(), "model-a", 16)


def test_learning_rate_follows_a_cosine_from_step_to_step():
    assert learning_rate(Training(learning_rate=1.0), 50, 100) == pytest.approx(0.5)
    rates = [row["learning_rate"] for row in train(GRAPHS, SHORT).log]
    assert rates == [learning_rate(SHORT, step, 12) for step in (0, 3, 6, 9)]  # 5 graphs by 2
