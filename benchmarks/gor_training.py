"""Forward and backward of one epoch of Graph of Records: gsum and the plain formulation.

    python -m benchmarks.gor_training [--home HOME --corpus qmsum]

The plain side computes what the paper writes, the way it is written: for each graph the nodes are
sorted for every question and their vectors copied in that order, the other graphs' nodes are
appended to each copy, and similarities are batched products of a question with its copies; pairs
are a matrix for each question. Both sides share one encoder (gsum's GAT), weights, batches and
dropout, so that what differs is the losses. Where DGL is installed, one side has gsum's losses and
DGL's layers. With `--home` the graphs are those of a corpus that gsum indexed, without it generated
ones of QMSum's size.
"""

import argparse
import os
import statistics
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq

from benchmarks import Measurement, median_ratio, take_turns
from benchmarks.results import parser_of, publish
from benchmarks.store import peak_bytes
from gsum_assets.gor.encoders import Batch, Encoder, batch_of, new_encoder
from gsum_assets.gor.graphs import RecordGraph, training_graphs
from gsum_assets.gor.losses import losses
from gsum_assets.gor.methods import EncoderForm, LossForm, Training
from gsum_resources.embedding.processor import torch_threads

GRAPHS, CHUNKS, QUERIES, DIMENSION, K = 40, 76, 30, 384, 6
ROUNDS = 3
SETTINGS = Training(encoder=EncoderForm(direction="both"), loss=LossForm(pairs="sum"))


def generated(n_graphs: int = GRAPHS) -> list[RecordGraph]:
    """Random graphs of 106 nodes and 30 questions; rankings are random too."""
    return [_generated(i, np.random.default_rng(i)) for i in range(n_graphs)]


def _generated(number: int, random: np.random.Generator) -> RecordGraph:
    n_nodes = CHUNKS + QUERIES
    retrieved = [random.choice(CHUNKS + i, K, replace=False) for i in range(QUERIES)]
    vectors = random.standard_normal((n_nodes + QUERIES, DIMENSION)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    return RecordGraph(
        document_id=f"document-{number:03d}",
        node_ids=np.array([f"{number}-{i}" for i in range(n_nodes)]),
        kinds=np.array(["chunk"] * CHUNKS + ["response"] * QUERIES),
        features=vectors[:n_nodes],
        edges=np.stack([np.concatenate(retrieved), np.repeat(np.arange(CHUNKS, n_nodes), K)]),
        queries=vectors[n_nodes:],
        rankings=np.argsort(random.random((QUERIES, n_nodes)), axis=1),
        sources=random.integers(CHUNKS, size=QUERIES),
        query_ids=np.array([f"{number}-q{i}" for i in range(QUERIES)]),
    )


def recorded(home: Path, corpus: str) -> list[RecordGraph]:
    """The first graphs, by document id, of a corpus that was indexed in `home`."""
    names = ("record_nodes", "record_edges", "simulated_queries", "historical_responses")
    folders = [
        home / "warehouse" / f"gor.{name}" / f"corpus={corpus}"
        for name in (*names, "node_rankings")
    ]
    return training_graphs(*(pq.read_table(str(folder)) for folder in folders))[:GRAPHS]


def published_losses(nodes, graphs: Sequence[RecordGraph], temperature: float):
    """L_CL and L_RANK of a batch with in-batch negatives, step by step as published."""
    import torch

    of_graph = nodes.split([graph.n_nodes for graph in graphs])
    contrastive, ranking = [], []
    for at, graph in enumerate(graphs):
        others = torch.cat([h for i, h in enumerate(of_graph) if i != at] or [nodes[:0]])
        closeness = -torch.from_numpy(np.argsort(graph.rankings, axis=1)).float()
        order = closeness.argsort(dim=1, descending=True)
        sorted_nodes = of_graph[at][order]  # (n_queries, n_nodes, dim)
        candidates = torch.cat([sorted_nodes, others.expand(graph.n_queries, *others.shape)], dim=1)
        queries = torch.from_numpy(graph.queries).to(nodes.dtype)[:, :, None]  # (n_queries, dim, 1)
        logs = (candidates @ queries).squeeze(2) / temperature
        contrastive.append(-logs.log_softmax(1)[:, 0].mean())
        own = logs[:, : graph.n_nodes]
        pairs = torch.nn.functional.softplus(own[:, None, :] - own[:, :, None])
        ranking.append((pairs * torch.ones_like(pairs).triu(1)).sum((1, 2)).mean())
    return torch.stack(contrastive).mean(), torch.stack(ranking).mean()


def plain(nodes, graphs: Sequence[RecordGraph], batch: Batch):
    """Equation 8 as published."""
    contrastive, ranking = published_losses(nodes, graphs, SETTINGS.loss.temperature)
    return contrastive + SETTINGS.loss.alpha * ranking


def ours(nodes, graphs: Sequence[RecordGraph], batch: Batch):
    """Equation 8 by gsum."""
    return losses(nodes, batch, SETTINGS.loss).total


def nothing(nodes, graphs: Sequence[RecordGraph], batch: Batch):
    """A loss that costs nothing, so that the encoder alone is measured."""
    return nodes.sum()


BY_DGL = {"gsum, layers of DGL": (ours, True)} if find_spec("dgl") else {}
SIDES = {"published": (plain, True), **BY_DGL, "gsum": (ours, True)}
ALONE = {"published, losses alone": (plain, False), "gsum, losses alone": (ours, False)}
EVERY = SIDES | ALONE | {"encoder alone": (nothing, True)}


def with_dgl(encoder: Encoder) -> Encoder:
    """Replace the layers of a GAT by those of DGL with the same weights, for graphs of DGL."""
    os.environ.setdefault("DGLBACKEND", "pytorch")  # unset, the import writes ~/.dgl/config.json
    from dgl.nn.pytorch import GATConv

    for at, own in enumerate(encoder.network.convs):
        _, heads, n_outputs = own.attn_l.shape
        layer = GATConv(own.fc.in_features, n_outputs, heads, attn_drop=own.dropout.p)
        layer.load_state_dict(own.state_dict())
        layer.register_forward_hook(lambda layer, given, nodes: nodes.flatten(1))
        encoder.network.convs[at] = layer
    return encoder


def epoch(graphs: Sequence[RecordGraph], side: str) -> tuple[float, np.ndarray]:
    """Forward and backward over all graphs: the sum of the losses, and all gradients.

    Without the encoder the nodes are their features, and gradients are theirs.
    """
    import torch

    loss_of, encodes = EVERY[side]
    encoder = new_encoder(SETTINGS.encoder, graphs[0].features.shape[1])
    encoder = (with_dgl(encoder) if side in BY_DGL else encoder).train()
    weights, total = list(encoder.parameters()), 0.0
    torch.manual_seed(0)  # the same dropout for every side
    for first in range(0, len(graphs), SETTINGS.batch_graphs):
        drawn = graphs[first : first + SETTINGS.batch_graphs]
        batch = batch_of(drawn, SETTINGS.encoder)
        if side in BY_DGL:
            import dgl

            edges = tuple(batch.graph.edges)
            batch = replace(batch, graph=dgl.graph(edges, num_nodes=batch.graph.n_nodes))
        if encodes:
            nodes = encoder(batch)
        else:
            nodes = batch.features.clone().requires_grad_()
            weights = [nodes]
        loss = loss_of(nodes, drawn, batch)
        loss.backward()
        total += loss.item()
    return total, np.concatenate([weight.grad.numpy().ravel() for weight in weights])


def child(side: str, home: Path | None, corpus: str) -> int:
    """Bytes that an epoch takes at most beyond what the process held before."""
    graphs = recorded(home, corpus) if home else generated()
    epoch(graphs[:2], side)  # imports and thread pools are not measured
    before = peak_bytes()
    epoch(graphs, side)
    return peak_bytes() - before


def in_child(side: str, home: Path | None, corpus: str) -> int:
    """`child` in a new process."""
    command = [sys.executable, "-m", "benchmarks.gor_training", "--child", side, "--corpus", corpus]
    command += ["--home", str(home)] if home else []
    found = subprocess.run(command, capture_output=True, text=True, check=False)
    if found.returncode:
        raise RuntimeError(f"epoch by '{side}' failed:\n{found.stderr}")
    return int(found.stdout)


def measure(rounds: int = ROUNDS, home: Path | None = None, corpus: str = "qmsum") -> Measurement:
    """Seconds and peak memory of an epoch's forward and backward, and of its parts."""
    graphs = recorded(home, corpus) if home else generated()
    with torch_threads(1):
        (loss, slopes), (our_loss, our_slopes) = (
            epoch(graphs, side) for side in ("published", "gsum")
        )
        seconds = take_turns({side: partial(epoch, graphs, side) for side in EVERY}, rounds)
    peaks = {side: in_child(side, home, corpus) for side in EVERY}
    apart = abs(loss - our_loss) / abs(loss)
    turned = np.linalg.norm(slopes - our_slopes) / np.linalg.norm(slopes)
    share = median_ratio(seconds["encoder alone"], seconds["gsum"])
    n_nodes = statistics.median(graph.n_nodes for graph in graphs)
    return Measurement(
        "Graph of Records: an epoch's forward and backward, gsum beside the plain formulation",
        f"{len(graphs)} graphs, {'of ' + corpus if home else 'generated'}, median {n_nodes:.0f} "
        f"nodes, {graphs[0].n_queries} questions, dimension {graphs[0].features.shape[1]}, batches "
        f"of {SETTINGS.batch_graphs}; 1 thread, medians of {rounds} rounds in turn. Peak: memory "
        "beyond what the process held before, each side a process. Ratio: published over gsum. "
        f"Losses differ by {apart:.0e} and gradients by {turned:.0e}, relative. "
        f"{share:.0%} of gsum's time is the encoder's own.",
        ["", "s", "ratio", "peak, MB", "ratio"],
        [
            row
            for pair in (tuple(SIDES), tuple(ALONE), ("encoder alone",))
            for row in _rows(pair, seconds, peaks)
        ],
    )


def _rows(
    pair: Sequence[str], seconds: dict[str, list[float]], peaks: dict[str, int]
) -> list[list[str]]:
    """A row a side; ratios of times and of peaks are over the last of the pair."""
    return [
        [
            side,
            f"{statistics.median(seconds[side]):.2f}",
            f"{median_ratio(seconds[side], seconds[pair[-1]]):.2f}",
            f"{peaks[side] / 1e6:.0f}",
            f"{peaks[side] / peaks[pair[-1]]:.2f}",
        ]
        for side in pair
    ]


def main() -> None:
    """Print the table."""
    parser = parser_of(__doc__)
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="repetitions")
    parser.add_argument("--home", type=Path, help="a GSUM_HOME whose graphs are taken")
    parser.add_argument("--corpus", default="qmsum", help="which corpus of that home")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.child:
        with torch_threads(1):
            print(child(chosen.child, chosen.home, chosen.corpus))
    else:
        publish("gor_training", measure(chosen.rounds, chosen.home, chosen.corpus), chosen.store)


if __name__ == "__main__":
    main()
