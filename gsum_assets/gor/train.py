"""Self-supervised training of the network on graphs of records (paper, sections 2.3 and A.4).

All randomness of an epoch derives from the seed and the epoch's number, so that a resumed training
ends like an uninterrupted one. Import this module inside functions only, as it imports torch.
"""

import hashlib
import io
import json
import math
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import torch

from gsum_assets.gor.encoders import Encoder, batch_of, new_encoder, seeded
from gsum_assets.gor.graphs import RecordGraph
from gsum_assets.gor.losses import losses
from gsum_assets.gor.methods import Training
from gsum_assets.pipeline.tables import TABLES
from gsum_resources.embedding.processor import torch_threads
from gsum_resources.store.checkpoints import Checkpoint, learnt_hash

SECONDS_BETWEEN_STATES = 10.0  # a state is 35 MB; writing it takes as long as two epochs

Epoch = Mapping[str, Any]
"""A row of `gor.training_log`."""


class Trained(NamedTuple):
    """A trained network, and one log entry per epoch."""

    encoder: Encoder
    log: Sequence[Epoch]


def train(
    graphs: Sequence[RecordGraph],
    training: Training,
    on_epoch: Callable[[Epoch], None] = lambda _: None,
    save: Callable[[bytes], None] = lambda _: None,
    resume: bytes | None = None,
) -> Trained:
    """Fit a network to the questions of `graphs`; encoder 'none' has nothing to fit.

    `graphs` have questions, are at least one, and in any order. `save` is called with the state
    after an epoch, at most every `SECONDS_BETWEEN_STATES`; `resume` is such a state, ignored if it
    is of other graphs or another form.

    Raises `ValueError` if the loss is not finite.
    """
    graphs = sorted(graphs, key=lambda graph: graph.document_id)
    encoder = new_encoder(training.encoder, graphs[0].features.shape[1], training.seed)
    log: list[Epoch] = []
    if training.encoder.name == "none":
        return Trained(encoder, log)
    # fused: one pass over each weight and its moments saves a tenth of a step
    optimizer = torch.optim.Adam(encoder.parameters(), fused=True)
    key = _key(graphs, training)
    if resume is not None:
        state = torch.load(io.BytesIO(resume), weights_only=True)
        if state["key"] == key:
            encoder.load_state_dict(state["encoder"])
            optimizer.load_state_dict(state["optimizer"])
            log = state["log"]
    saved_at = time.monotonic()
    with torch_threads(1):
        for number in range(len(log) + 1, training.epochs + 1):
            log.append(_epoch(number, encoder, optimizer, graphs, training))
            on_epoch(log[-1])
            if (now := time.monotonic()) - saved_at >= SECONDS_BETWEEN_STATES:
                states = {"encoder": encoder.state_dict(), "optimizer": optimizer.state_dict()}
                torch.save({"key": key, "log": log, **states}, content := io.BytesIO())
                save(content.getvalue())
                saved_at = now
    return Trained(encoder.eval(), log)


def trained_tables(
    trained: Trained, graphs: Sequence[RecordGraph], training: Training, embedding_model: str
) -> tuple[pa.Table, pa.Table]:
    """Return the rows of `gor.model` (one) and `gor.training_log` of a network and its graphs.

    `embedding_model` is the identity of the embedder of the nodes.
    """
    fields = {
        "encoder": training.encoder.name,
        "dimension": trained.encoder.dimension,
        "embedding_model": embedding_model,
        "epochs": len(trained.log),
    }
    values = training.as_values()
    checkpoint = Checkpoint(**fields, settings=values, weights=trained.encoder.arrays())
    row = {
        **fields,
        "n_graphs": len(graphs),
        "learnt_from": sorted(learnt_hash(g.document_id) for g in graphs) if trained.log else [],
        "settings": json.dumps(values, sort_keys=True),
        "weights": checkpoint.to_bytes(),
    }
    return (
        pa.Table.from_pylist([row], TABLES["gor.model"].schema),
        pa.Table.from_pylist(list(trained.log), TABLES["gor.training_log"].schema),
    )


def _key(graphs: Sequence[RecordGraph], training: Training) -> str:
    """Return a hash of all inputs of a training."""
    digest = hashlib.blake2b(json.dumps(training.as_values()).encode(), digest_size=16)
    for graph in graphs:
        digest.update(f"{graph.document_id}:{graph.n_nodes}:{graph.n_queries};".encode())
        for array in (graph.features, graph.edges, graph.queries, graph.rankings):
            digest.update(array.tobytes())
    return digest.hexdigest()


def learning_rate(training: Training, step: int, n_steps: int) -> float:
    """Return the rate of a step, from 0: half a cosine that reaches 0 after the last (A.4)."""
    return training.learning_rate * (1 + math.cos(math.pi * step / n_steps)) / 2


def _epoch(
    number: int,
    encoder: Encoder,
    optimizer: torch.optim.Optimizer,
    graphs: Sequence[RecordGraph],
    training: Training,
) -> Epoch:
    """Run one pass over all graphs, and return its row of the log."""
    start, size = time.perf_counter(), training.batch_graphs
    n_batches = math.ceil(len(graphs) / size)
    first_step, n_steps = (number - 1) * n_batches, training.epochs * n_batches
    random = np.random.default_rng([training.seed, number])
    sums = np.zeros(4)
    encoder.train()
    with seeded(int(random.integers(2**63))):  # dropout
        order = random.permutation(len(graphs))
        for step in range(n_batches):
            drawn = [graphs[i] for i in order[step * size : (step + 1) * size]]
            batch = batch_of(drawn, training.encoder)
            batch_losses = losses(encoder(batch), batch, training.loss)
            optimizer.param_groups[0]["lr"] = learning_rate(training, first_step + step, n_steps)
            optimizer.zero_grad()
            batch_losses.total.backward()
            optimizer.step()
            sums += len(drawn) * np.array([value.item() for value in batch_losses])
    means = sums / len(graphs)
    if not np.isfinite(means).all():
        raise ValueError(
            f"gor: the loss of epoch {number} is {means[0]}; lower learning_rate "
            f"({training.learning_rate}) in [gor.training]"
        )
    names = ("loss", "loss_cl", "loss_rank", "entropy")
    return {
        "epoch": number,
        **dict(zip(names, means.tolist(), strict=True)),
        "learning_rate": learning_rate(training, first_step, n_steps),
        "seconds": time.perf_counter() - start,
    }
