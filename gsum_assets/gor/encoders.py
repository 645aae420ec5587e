"""The graph networks (paper, 2.1, A.4, A.7) as torch modules.

Every graph has a self-loop at each node, so that isolated nodes keep their features (A.4).
Importing torch takes seconds, so import this module inside functions only.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import batch_norm, normalize

from gsum_assets.gor.graphs import RecordGraph
from gsum_assets.gor.methods import EncoderForm
from gsum_assets.graphs import convolutions
from gsum_assets.graphs.convolutions import MessageGraph
from gsum_resources.embedding.processor import torch_threads
from gsum_resources.store.checkpoints import Checkpoint, CheckpointError


@dataclass(frozen=True)
class Batch:
    """Several graphs joined into one, with all their questions.

    Attributes
    ----------
    features : embeddings of the nodes' texts, `(n_nodes, dim)`.
    queries : embeddings of the questions, `(n_queries, dim)`.
    rankings : for each graph its nodes by question, best first, `(n_queries, n_nodes)` of that
        graph.
    """

    graph: MessageGraph
    features: Tensor
    queries: Tensor
    rankings: Sequence[Tensor]


def batch_of(graphs: Sequence[RecordGraph], form: EncoderForm) -> Batch:
    """Join several graphs, at least one, for a network."""
    firsts = np.cumsum([0, *(graph.n_nodes for graph in graphs)])
    edges = [message_edges(graph, form) + n for graph, n in zip(graphs, firsts, strict=False)]
    return Batch(
        graph=MessageGraph(torch.from_numpy(np.concatenate(edges, axis=1)), int(firsts[-1])),
        features=torch.from_numpy(np.concatenate([graph.features for graph in graphs])),
        queries=torch.from_numpy(np.concatenate([graph.queries for graph in graphs])),
        rankings=[torch.from_numpy(graph.rankings) for graph in graphs],
    )


def message_edges(record: RecordGraph, form: EncoderForm) -> np.ndarray:
    """Return the edges along which messages go and the self-loops, int64 `(2, n_messages)`."""
    edges = record.edges
    if form.direction == "to_retrieved":
        edges = edges[::-1]
    elif form.direction == "both":
        edges = np.unique(np.concatenate([edges, edges[::-1]], axis=1), axis=1)
    return np.concatenate([edges, np.tile(np.arange(record.n_nodes), (2, 1))], axis=1)


class Encoder(nn.Module):
    """A graph network of a form; `dimension` is the length of input and output embeddings."""

    def __init__(self, form: EncoderForm, dimension: int) -> None:
        super().__init__()
        self.form = form
        self.dimension = dimension
        self.network: nn.Module | None = None
        if form.name == "sgc":
            self.network = Hops(form, dimension)
        elif form.name != "none":
            self.network = Layers(form, dimension)
        is_residual = form.residual and self.network is not None
        self.gate = nn.Parameter(torch.tensor(form.gate)) if is_residual else None

    def forward(self, batch: Batch) -> Tensor:
        """Return node embeddings, `(n_nodes, dim)`."""
        nodes = batch.features
        if self.network is None:
            return nodes
        state = self.network(batch.graph, nodes)
        if self.gate is not None:
            state = nodes + self.gate * state
        return normalize(state) if self.form.unit_length else state

    def arrays(self) -> dict[str, np.ndarray]:
        """Return weights and running statistics by name, to be stored in a checkpoint."""
        return {name: array.detach().numpy().copy() for name, array in self.state_dict().items()}


class Layers(nn.Module):
    """Layers with dropout, batch norm and PReLU; their outputs are combined by the maximum.

    The heads of GAT are concatenated between layers, and averaged in each layer's output.
    """

    def __init__(self, form: EncoderForm, dimension: int) -> None:
        super().__init__()
        self.dimension = dimension
        width = dimension * (form.heads if form.name == "gat" else 1)
        inputs = [dimension, *[width] * (form.layers - 1)]
        self.convs = nn.ModuleList(convolution(form, n, dimension) for n in inputs)
        self.norms = nn.ModuleList(NodeNorm(width) for _ in inputs)
        self.activations = nn.ModuleList(nn.PReLU(width) for _ in inputs)
        self.dropout = nn.Dropout(form.dropout)

    def forward(self, graph: MessageGraph, nodes: Tensor) -> Tensor:
        """Return `(n_nodes, dim)` of `(n_nodes, dim)`."""
        outputs = []
        for conv, norm, activation in zip(self.convs, self.norms, self.activations, strict=True):
            nodes = conv(graph, self.dropout(nodes))  # (n_nodes, heads * dim)
            nodes = activation(norm(nodes))
            outputs.append(nodes.unflatten(1, (-1, self.dimension)).mean(1))  # over heads
        return torch.stack(outputs, -1).max(-1).values


class Hops(nn.Module):
    """SGC (Wu et al., 2019): propagation steps without nonlinearity, then one linear layer."""

    def __init__(self, form: EncoderForm, dimension: int) -> None:
        super().__init__()
        self.dropout = nn.Dropout(form.dropout)
        self.conv = convolutions.SGConv(dimension, dimension, form.layers)

    def forward(self, graph: MessageGraph, nodes: Tensor) -> Tensor:
        """Return `(n_nodes, dim)` of `(n_nodes, dim)`."""
        return self.conv(graph, self.dropout(nodes))


class NodeNorm(nn.BatchNorm1d):
    """Batch norm over nodes; a single node, which has no variance, uses the running statistics."""

    def forward(self, input: Tensor) -> Tensor:
        """Return `(n_nodes, dim)` of `(n_nodes, dim)`."""
        if len(input) > 1:
            return super().forward(input)
        return batch_norm(input, self.running_mean, self.running_var, self.weight, self.bias)


def convolution(form: EncoderForm, n_inputs: int, dimension: int) -> nn.Module:
    """Return a message passing layer from `n_inputs` to `dimension` features (GAT: per head)."""
    if form.name == "gat":
        dropout = form.dropout if form.attention_dropout is None else form.attention_dropout
        return convolutions.GATConv(n_inputs, dimension, form.heads, dropout)
    if form.name == "gcn":
        return convolutions.GraphConv(n_inputs, dimension)
    if form.name == "gin":
        perceptron = nn.Sequential(
            nn.Linear(n_inputs, dimension), nn.ReLU(), nn.Linear(dimension, dimension)
        )
        # epsilon starts at -1 because the self-loop already adds the node itself
        return convolutions.GINConv(perceptron, epsilon=-1)
    return convolutions.SAGEConv(n_inputs, dimension)


def new_encoder(form: EncoderForm, dimension: int, seed: int = 0) -> Encoder:
    """Return a network with initial weights drawn with `seed`, in evaluation mode."""
    with seeded(seed):
        return Encoder(form, dimension).eval()


@contextmanager
def seeded(seed: int) -> Iterator[None]:
    """Seed torch's random generator within the context, and restore its state afterwards."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        yield


def load_encoder(content: bytes, embedding_model: str, dimension: int) -> Encoder:
    """Return the network of a checkpoint, if it was trained on embeddings of this model and length.

    Raises `CheckpointError` if it was trained on other embeddings or has a form that no longer
    exists, or its weights do not fit its form.
    """
    checkpoint = Checkpoint.from_bytes(content)
    checkpoint.require(embedding_model, dimension)
    try:
        encoder = new_encoder(EncoderForm(**checkpoint.settings["encoder"]), dimension)
        weights = checkpoint.weights.items()
        encoder.load_state_dict({name: torch.from_numpy(array.copy()) for name, array in weights})
    except (TypeError, RuntimeError) as error:  # of unknown settings; of arrays that do not fit
        raise CheckpointError(
            f"checkpoint: its settings or weights are of another version of gsum ({error}); "
            "materialize gor/model again"
        ) from error
    return encoder


def embed_nodes(encoder: Encoder, graphs: Sequence[RecordGraph]) -> list[np.ndarray]:
    """Return the node embeddings of each graph for retrieval, float32 `(n_nodes, dim)`.

    Graphs are encoded one by one, so that embeddings do not depend on other graphs.
    """
    vectors = []
    encoder.eval()
    with torch_threads(1), torch.inference_mode():
        for record in graphs:
            nodes = encoder(batch_of([record], encoder.form))
            vectors.append((normalize(nodes) if encoder.form.cosine else nodes).numpy())
    return vectors
