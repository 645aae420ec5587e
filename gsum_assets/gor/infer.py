"""What a trained network makes of any document's graph, also of one it never saw."""

from collections.abc import Sequence

import numpy as np

from gsum_assets.gor.gnn import Encoder, new_encoder, node_embeddings
from gsum_assets.gor.graphs import RecordGraph, side_by_side
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
    """Node embeddings of each graph as they are searched, float32 `(n_nodes, dim)`.

    A graph is taken alone, so its embeddings do not depend on the graphs beside it.
    """
    import torch
    from torch.nn.functional import normalize

    settings = encoder.settings
    with torch_threads(threads), torch.inference_mode():
        found = (node_embeddings(encoder, side_by_side([g], settings.direction)) for g in graphs)
        return [(normalize(nodes) if settings.cosine else nodes).numpy() for nodes in found]
