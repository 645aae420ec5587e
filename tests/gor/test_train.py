"""Training: it learns, reproducibly, and resumes exactly after an interruption."""

import math
from dataclasses import replace

import numpy as np
import pytest

from gsum_assets.gor import train as module
from gsum_assets.gor.encoders import new_encoder
from gsum_assets.gor.infer import infer, load_encoder
from gsum_assets.gor.methods import training_settings
from gsum_assets.gor.settings import EncoderSettings, LossSettings, TrainingSettings
from gsum_assets.gor.source_ranks import source_ranks
from gsum_assets.gor.train import is_state_of, learning_rate, steps_of_epoch, train
from gsum_resources.store.checkpoints import CheckpointError, unpack
from tests.gor.toy_graphs import toy_graph

GRAPHS = [toy_graph(f"d{i}", n_chunks=4 + i, n_queries=2 + i % 3) for i in range(5)]
SHORT = TrainingSettings(epochs=4, batch_graphs=2, encoder=EncoderSettings(heads=2))


def checkpoint(trained):
    return trained.checkpoint("model-a").to_bytes()


def test_same_seed_gives_same_bytes_in_any_document_order():
    first = checkpoint(train(GRAPHS, SHORT))
    assert checkpoint(train(GRAPHS[::-1], SHORT)) == first
    assert checkpoint(train(GRAPHS, SHORT.model_copy(update={"seed": 1}))) != first


@pytest.fixture
def saves_every_epoch(monkeypatch):
    monkeypatch.setattr(module, "SECONDS_BETWEEN_STATES", 0)


@pytest.mark.usefixtures("saves_every_epoch")
@pytest.mark.parametrize("stopped_after", [1, 3, 4])
def test_resumed_training_equals_uninterrupted_training(stopped_after):
    states = []
    undisturbed = train(GRAPHS, SHORT, save=states.append)
    logged = []
    went_on = train(GRAPHS, SHORT, logged.append, resume=states[stopped_after - 1])
    assert checkpoint(went_on) == checkpoint(undisturbed)
    assert [row.loss for row in went_on.log] == [row.loss for row in undisturbed.log]
    assert [row.epoch for row in logged] == list(range(stopped_after + 1, SHORT.epochs + 1))


def test_state_is_saved_after_the_interval(monkeypatch):
    states, seconds = [], iter([0, 5, 12, 13, 22])
    monkeypatch.setattr(module, "SECONDS_BETWEEN_STATES", 10)
    monkeypatch.setattr(module.time, "monotonic", lambda: next(seconds))
    train(GRAPHS, SHORT, save=states.append)
    assert [len(unpack(state)[1]["log"]) for state in states] == [2, 4]


@pytest.mark.usefixtures("saves_every_epoch")
def test_state_of_another_training_is_refused():
    states = []
    train(GRAPHS, SHORT, save=states.append)
    with pytest.raises(CheckpointError, match="2 epochs belongs to other graphs or settings"):
        train(GRAPHS[1:], SHORT, resume=states[1])
    other = SHORT.model_copy(update={"seed": 1})
    assert is_state_of(states[1], GRAPHS[::-1], SHORT)
    assert not is_state_of(states[1], GRAPHS, other)
    assert not is_state_of(states[1], GRAPHS[1:], SHORT)


def test_no_global_state_is_changed():
    import torch

    before, threads = torch.get_rng_state(), torch.get_num_threads()
    train(GRAPHS[:1], SHORT, threads=threads + 1)
    assert torch.equal(torch.get_rng_state(), before)
    assert torch.get_num_threads() == threads


def test_trained_embeddings_do_not_depend_on_threads():
    encoder = train(GRAPHS, SHORT).encoder
    for one, two in zip(infer(encoder, GRAPHS), infer(encoder, GRAPHS, threads=2), strict=True):
        np.testing.assert_allclose(one, two, atol=1e-5)


def disturbed(start, n_graphs):
    """Graphs whose last 8 of 16 dimensions weigh most in nodes, and are wrong in questions."""
    graphs = [toy_graph(f"{start}{i}", 12, 8, noise=0.2) for i in range(n_graphs)]
    for i, graph in enumerate(graphs):
        graph.features[:, 8:] *= 2
        graph.queries[:, 8:] = np.random.default_rng(i).permutation(graph.queries[:, 8:])
    return graphs


def learning(**encoder):
    return TrainingSettings(
        epochs=25,
        batch_graphs=8,
        learning_rate=1e-2,
        encoder=EncoderSettings(dropout=0, **encoder),
        loss=LossSettings(pairs="mean"),
    )


def mrr(graphs, nodes):
    """Mean reciprocal rank of the sources of all questions."""
    ranks = [source_ranks(g, e, 1.0).among_nodes for g, e in zip(graphs, nodes, strict=True)]
    return np.mean(1 / np.concatenate(ranks))


@pytest.mark.parametrize("name", ["gat", "gcn", "sgc", "gin", "sage"])
def test_each_network_finds_the_source_of_unseen_questions(name):
    graphs = [toy_graph(f"train{i}", 12, 8, noise=0.2) for i in range(24)]
    held_out = [toy_graph(f"held{i}", 12, 8, noise=0.2) for i in range(12)]
    settings = learning(name=name, residual=False)
    trained = train(graphs, settings)
    before = infer(new_encoder(settings.encoder, 16, settings.seed), held_out)
    after = infer(trained.encoder, held_out)
    assert trained.log[-1].loss < trained.log[0].loss / 2
    assert mrr(held_out, after) > mrr(held_out, before) + 0.2


def test_residual_form_improves_its_input_on_unseen_documents():
    held_out = disturbed("held", 12)
    trained = train(disturbed("train", 24), learning())
    before = mrr(held_out, [graph.features for graph in held_out])
    assert mrr(held_out, infer(trained.encoder, held_out)) > before + 0.1


@pytest.mark.parametrize(
    "change", [{"contrastive": False}, {"ranking": False}, {"in_batch": False}, {"pairs": "mean"}]
)
def test_each_ablation_trains(change):
    loss = LossSettings(**change)
    (*_, last) = train(GRAPHS, SHORT.model_copy(update={"loss": loss})).log
    expected = loss.contrastive * last.loss_cl + loss.ranking * loss.alpha * last.loss_rank
    assert last.loss == pytest.approx(expected, rel=1e-5)


def test_without_training_nodes_are_unchanged():
    encoder = EncoderSettings(name="none")
    trained = train([toy_graph("unasked", n_queries=0)], TrainingSettings(encoder=encoder))
    assert trained.log == ()
    loaded = load_encoder(checkpoint(trained), "model-a", 16)
    np.testing.assert_array_equal(infer(loaded, GRAPHS[:1])[0], GRAPHS[0].features)


def test_few_chunks_few_documents_and_no_questions():
    one_chunk = toy_graph("one", n_chunks=1, n_queries=1, k=1)
    unasked = toy_graph("unasked", n_queries=0)
    for graphs in ([one_chunk], [one_chunk, unasked], [one_chunk, GRAPHS[0]]):
        assert all(math.isfinite(row.loss) for row in train(graphs, SHORT).log)
    with pytest.raises(ValueError, match="no document has simulated questions"):
        train([unasked], SHORT)


def test_embeddings_of_two_lengths_are_reported():
    with pytest.raises(ValueError, match="'z' have length 8, those of 'd0' 16"):
        train([*GRAPHS, toy_graph("z", dimension=8)], SHORT)


def test_non_finite_loss_is_reported():
    wild = TrainingSettings(
        epochs=20,
        learning_rate=1e36,
        encoder=EncoderSettings(name="sgc", residual=False, unit_length=False),
    )
    with pytest.raises(ValueError, match=r"loss of epoch \d+ is .*; lower learning_rate"):
        train(GRAPHS, wild)


def test_checkpoint_serves_unseen_documents():
    trained = train(GRAPHS, SHORT)
    content, unseen = checkpoint(trained), [toy_graph("unseen")]
    loaded = load_encoder(content, "model-a", 16)
    np.testing.assert_array_equal(infer(loaded, unseen)[0], infer(trained.encoder, unseen)[0])
    with pytest.raises(CheckpointError, match="dimension 16"):
        load_encoder(content, "model-a", 384)
    with pytest.raises(CheckpointError, match="'model-b'"):
        load_encoder(content, "model-b", 16)


def test_checkpoint_with_older_settings_must_be_rebuilt():
    kept = train(GRAPHS, SHORT).checkpoint("model-a")
    encoder = {**kept.settings["encoder"], "joined": "averaged"}
    old = replace(kept, settings={**kept.settings, "encoder": encoder})
    with pytest.raises(CheckpointError, match=r"\('encoder.joined'\); materialize gor/model again"):
        load_encoder(old.to_bytes(), "model-a", 16)


def test_learning_rate_follows_a_cosine_from_step_to_step():
    settings = TrainingSettings(learning_rate=1.0)
    assert learning_rate(settings, 0, 100) == 1
    assert learning_rate(settings, 50, 100) == pytest.approx(0.5)
    assert learning_rate(settings, 100, 100) == pytest.approx(0)
    rates = [epoch.learning_rate for epoch in train(GRAPHS, SHORT).log]
    assert rates == [learning_rate(SHORT, step, 12) for step in (0, 3, 6, 9)]  # 5 graphs by 2


def test_published_form_takes_the_authors_steps():
    published = training_settings("gor-published", TrainingSettings())
    assert published.epochs * steps_of_epoch(published, 400) == 1950
