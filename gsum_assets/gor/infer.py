"""What a trained network makes of any document's graph, also of one it never saw."""

from collections.abc import Sequence

import numpy as np

from gsum_assets.gor.gnn import Encoder, new_encoder, node_embeddings
from gsum_assets.gor.graphs import NO_SOURCE, RecordGraph, side_by_side
from gsum_assets.gor.settings import TrainingSettings
from gsum_resources.checkpoints import Checkpoint
from gsum_resources.embedding.processor import torch_threads


def load_encoder(content: bytes, embedding_model: str, dimension: int) -> Encoder:
    """The network of a checkpoint, for embeddings of that model and length.

    Raises
    ------
    CheckpointError
        If it was trained on other embeddings, or its weights do not fit its settings.
    """
    checkpoint = Checkpoint.from_bytes(content)
    checkpoint.require(embedding_model, dimension)
    settings = TrainingSettings.model_validate(checkpoint.settings)
    return new_encoder(settings.encoder, dimension).with_arrays(checkpoint.weights)


def infer(encoder: Encoder, graphs: Sequence[RecordGraph], threads: int = 1) -> list[np.ndarray]:
    """Node embeddings of each graph, float32 `(n_nodes, dim)`.

    A graph is taken alone, so its embeddings do not depend on the graphs beside it.
    """
    import torch

    with torch_threads(threads), torch.inference_mode():
        return [
            node_embeddings(encoder, side_by_side([graph], encoder.settings.direction)).numpy()
            for graph in graphs
        ]


def source_mrr(
    graphs: Sequence[RecordGraph], nodes: Sequence[np.ndarray], chunks_only: bool = False
) -> float:
    """Mean reciprocal rank of the chunk that a question was asked of, over all questions.

    Parameters
    ----------
    nodes : node embeddings of each graph, as `infer` gives them, or the graphs' own features.
    chunks_only : rank among the chunks, without the responses.

    Returns
    -------
    0 to 1; equal scores count against the source. NaN where no question has a source.
    """
    reciprocal = [np.empty(0)]
    for graph, embeddings in zip(graphs, nodes, strict=True):
        asked = np.flatnonzero(graph.sources != NO_SOURCE)
        scores = graph.queries[asked] @ embeddings.T  # (n_queries, n_nodes)
        own = scores[np.arange(len(asked)), graph.sources[asked]]
        rivals = graph.kinds == "chunk" if chunks_only else np.full(graph.n_nodes, True)
        reciprocal.append(1 / (scores[:, rivals] >= own[:, None]).sum(1))
    every = np.concatenate(reciprocal)
    return float(every.mean()) if len(every) else float("nan")
