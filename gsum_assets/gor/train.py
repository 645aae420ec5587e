"""Self-supervised training of the network on graphs of records (paper, sections 2.3 and A.4).

All randomness of an epoch derives from the seed and the epoch's number. A saved state therefore
holds no random generator, and a resumed training ends bit for bit like an uninterrupted one (same
machine, same `threads`).
"""

import hashlib
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

import numpy as np

from gsum_assets.gor.graphs import RecordGraph, side_by_side
from gsum_assets.gor.losses import losses
from gsum_assets.gor.settings import TrainingSettings
from gsum_resources.embedding.processor import torch_threads
from gsum_resources.store.checkpoints import Checkpoint, CheckpointError, pack, unpack

if TYPE_CHECKING:
    from torch.optim import Adam

    from gsum_assets.gor.encoders import Encoder


@dataclass(frozen=True)
class Epoch:
    """A row of `gor.training_log`; losses and entropy in nats, means over graphs.

    Attributes
    ----------
    epoch : number of the epoch, from 1.
    loss_cl, loss_rank : the two terms, before alpha; reported also where not minimized.
    entropy : entropy of the softmax over a question's similarities to the nodes of its graph.
    learning_rate : that of the epoch's first step.
    seconds : wall time in this process.
    """

    epoch: int
    loss: float
    loss_cl: float
    loss_rank: float
    entropy: float
    learning_rate: float
    seconds: float


@dataclass(frozen=True)
class Trained:
    """A trained network, and one log entry per epoch."""

    encoder: "Encoder"
    settings: TrainingSettings
    log: tuple[Epoch, ...]

    def checkpoint(self, embedding_model: str) -> Checkpoint:
        """Return the checkpoint for `gor.model`, of nodes embedded by `embedding_model`."""
        return Checkpoint(
            encoder=self.settings.encoder.name,
            dimension=self.encoder.dimension,
            embedding_model=embedding_model,
            epochs=len(self.log),
            settings=self.settings.model_dump(),
            weights=self.encoder.arrays(),
        )


SECONDS_BETWEEN_STATES = 10.0  # a state is 35 MB; writing it takes as long as two epochs

OnEpoch = Callable[[Epoch], None]
SaveState = Callable[[bytes], None]


def train(
    graphs: Sequence[RecordGraph],
    settings: TrainingSettings,
    on_epoch: OnEpoch | None = None,
    save: SaveState | None = None,
    resume: bytes | None = None,
    threads: int = 1,
    device: str = "cpu",
) -> Trained:
    """Fit a network to the questions of `graphs`; encoder 'none' has nothing to fit.

    Parameters
    ----------
    graphs : training graphs in any order; those without questions are ignored.
    on_epoch : called after each epoch.
    save : called with the state after an epoch, safetensors bytes for `resume`, if the last call is
        `SECONDS_BETWEEN_STATES` ago; an interrupted training loses no more than that and one epoch.
    resume : a saved state of the same graphs and settings (see `training_key`).
    threads : CPU threads of torch and dgl.
    device : torch device; devices other than the CPU need a matching build of dgl, and their order
        of summation may differ between trainings.

    Raises
    ------
    ValueError
        If no graph has questions, the embeddings of two differ in length, or the loss is not
        finite.
    CheckpointError
        If `resume` belongs to other graphs or settings.
    """
    from gsum_assets.gor.encoders import new_encoder

    if settings.encoder.name == "none":
        return Trained(new_encoder(settings.encoder, _dimension(graphs)), settings, ())
    graphs = sorted((g for g in graphs if g.n_queries), key=lambda graph: graph.document_id)
    encoder = new_encoder(settings.encoder, _dimension(graphs), settings.seed).to(device)
    with torch_threads(threads):
        key = training_key(graphs, settings)
        run = _Run.begin(encoder, key) if resume is None else _Run.resumed(encoder, key, resume)
        saved_at = time.monotonic()
        while len(run.log) < settings.epochs:
            run.log.append(_epoch(run, graphs, settings))
            if on_epoch is not None:
                on_epoch(run.log[-1])
            if save is not None and (now := time.monotonic()) - saved_at >= SECONDS_BETWEEN_STATES:
                save(run.state())
                saved_at = now
    return Trained(run.encoder.eval(), settings, tuple(run.log))


def training_key(graphs: Sequence[RecordGraph], settings: TrainingSettings) -> str:
    """Return a hash of all inputs of a training; a state can only be resumed with an equal key."""
    digest = hashlib.blake2b(settings.fingerprint.encode(), digest_size=16)
    for graph in sorted((g for g in graphs if g.n_queries), key=lambda graph: graph.document_id):
        digest.update(f"{graph.document_id}:{graph.n_nodes}:{graph.n_queries};".encode())
        for array in (graph.features, graph.edges, graph.queries, graph.rankings):
            digest.update(array.tobytes())
        if graph.positives is not None:
            digest.update(graph.positives.tobytes())
    return digest.hexdigest()


def is_state_of(state: bytes, graphs: Sequence[RecordGraph], settings: TrainingSettings) -> bool:
    """Return whether `train` can resume from a state with these graphs and settings."""
    return unpack(state)[1].get("training_key") == training_key(graphs, settings)


def steps_of_epoch(settings: TrainingSettings, n_graphs: int) -> int:
    """Return the number of batches, and so of steps, of an epoch."""
    return math.ceil(n_graphs / settings.batch_graphs)


def learning_rate(settings: TrainingSettings, step: int, n_steps: int) -> float:
    """Return the rate of a step, from 0: half a cosine that reaches 0 after the last (A.4)."""
    return settings.learning_rate * (1 + math.cos(math.pi * step / n_steps)) / 2


@dataclass
class _Run:
    """A training in progress."""

    encoder: "Encoder"
    optimizer: "Adam"
    key: str
    log: list[Epoch]

    @classmethod
    def begin(cls, encoder: "Encoder", key: str) -> "_Run":
        from torch.optim import Adam

        # fused: one pass over each weight and its moments saves a tenth of a step
        return cls(encoder, Adam(encoder.parameters(), fused=True), key, [])

    @classmethod
    def resumed(cls, encoder: "Encoder", key: str, state: bytes) -> "_Run":
        from torch import from_numpy

        arrays, metadata = unpack(state)
        if metadata.get("training_key") != key:
            raise CheckpointError(
                f"training state of {len(metadata.get('log', []))} epochs belongs to other graphs "
                "or settings; start without a state"
            )
        run = cls.begin(encoder.load_arrays(arrays), key)
        for name, weight in run.encoder.named_parameters():
            run.optimizer.state[weight] = {
                slot: from_numpy(arrays[f"adam.{slot}.{name}"]).to(weight.device) for slot in _ADAM
            }
        run.log = [Epoch(**row) for row in metadata["log"]]
        return run

    def state(self) -> bytes:
        arrays = self.encoder.arrays()
        for name, weight in self.encoder.named_parameters():
            of_weight = self.optimizer.state[weight]
            arrays |= {f"adam.{slot}.{name}": of_weight[slot].cpu().numpy() for slot in _ADAM}
        return pack(arrays, {"training_key": self.key, "log": [asdict(row) for row in self.log]})


_ADAM = ("step", "exp_avg", "exp_avg_sq")


def _epoch(run: _Run, graphs: Sequence[RecordGraph], settings: TrainingSettings) -> Epoch:
    """Run one pass over all graphs."""
    from gsum_assets.gor.encoders import seeded

    start, number = time.perf_counter(), len(run.log) + 1
    per_epoch = steps_of_epoch(settings, len(graphs))
    rates = [
        learning_rate(settings, (number - 1) * per_epoch + step, settings.epochs * per_epoch)
        for step in range(per_epoch)
    ]
    random = np.random.default_rng([settings.seed, number])
    sums, encoder = np.zeros(4), run.encoder.train()
    device = next(encoder.parameters()).device
    with seeded(int(random.integers(2**63))):  # dropout
        order, size = random.permutation(len(graphs)), settings.batch_graphs
        for step, rate in enumerate(rates):
            drawn = [graphs[i] for i in order[step * size : (step + 1) * size]]
            encoding = settings.encoder
            batch = side_by_side(drawn, encoding.direction, encoding.neighbours).to(device)
            batch_losses = losses(encoder(batch.graph, batch.features), batch, settings.loss)
            run.optimizer.param_groups[0]["lr"] = rate
            run.optimizer.zero_grad()
            batch_losses.total.backward()
            run.optimizer.step()
            sums += len(drawn) * np.array([value.item() for value in batch_losses])
    means = sums / len(graphs)
    if not np.isfinite(means).all():
        raise ValueError(
            f"gor: the loss of epoch {number} is {means[0]}; lower learning_rate "
            f"({settings.learning_rate}) or raise the loss's temperature "
            f"({settings.loss.temperature})"
        )
    loss, loss_cl, loss_rank, entropy = map(float, means)
    seconds = time.perf_counter() - start
    return Epoch(number, loss, loss_cl, loss_rank, entropy, rates[0], seconds)


def _dimension(graphs: Sequence[RecordGraph]) -> int:
    """Return the common length of all embeddings; raise ValueError if they differ."""
    if not graphs:
        raise ValueError(
            "gor: no document has simulated questions to learn from; if gor/node_rankings is "
            "materialized, the model wrote none that can be used, and the log of "
            "gor/simulated_queries says why"
        )
    first = graphs[0]
    for graph in graphs:
        for vectors in (graph.features, graph.queries):
            if vectors.shape[1] != first.features.shape[1]:
                raise ValueError(
                    f"gor: embeddings of '{graph.document_id}' have length {vectors.shape[1]}, "
                    f"those of '{first.document_id}' {first.features.shape[1]}; they come from "
                    "different models, materialize gor/record_nodes and gor/historical_responses "
                    "again"
                )
    return first.features.shape[1]
