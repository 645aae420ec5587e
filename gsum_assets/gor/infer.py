"""Node embeddings by a trained network, also for documents that it was not trained on."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from pydantic import ValidationError

from gsum_assets.gor.graphs import RecordGraph
from gsum_assets.gor.settings import TrainingSettings
from gsum_resources.embedding.processor import torch_threads
from gsum_resources.store.checkpoints import Checkpoint, CheckpointError

if TYPE_CHECKING:
    from gsum_assets.gor.encoders import Encoder


def load_encoder(content: bytes, embedding_model: str, dimension: int) -> "Encoder":
    """Return the network of a checkpoint, if it was trained on embeddings of this model and length.

    Raises
    ------
    CheckpointError
        If it was trained on other embeddings or with settings that no longer exist, or its
        weights do not fit its settings.
    """
    from gsum_assets.gor.encoders import new_encoder

    checkpoint = Checkpoint.from_bytes(content)
    checkpoint.require(embedding_model, dimension)
    try:
        settings = TrainingSettings.model_validate(checkpoint.settings)
    except ValidationError as error:
        names = ", ".join(f"'{'.'.join(map(str, detail['loc']))}'" for detail in error.errors())
        raise CheckpointError(
            f"checkpoint: its settings are of another version of gsum ({names}); materialize "
            "gor/model again"
        ) from error
    return new_encoder(settings.encoder, dimension).load_arrays(checkpoint.weights)


def infer(
    encoder: "Encoder", graphs: Sequence[RecordGraph], threads: int = 1, device: str = "cpu"
) -> list[np.ndarray]:
    """Return the node embeddings of each graph for retrieval, float32 `(n_nodes, dim)`.

    Graphs are encoded one by one, so that embeddings do not depend on other graphs.

    Parameters
    ----------
    threads : CPU threads of torch and dgl.
    device : torch device; devices other than the CPU need a matching build of dgl.
    """
    import torch
    from torch.nn.functional import normalize

    settings, vectors = encoder.settings, []
    encoder.to(device).eval()
    with torch_threads(threads), torch.inference_mode():
        for record in graphs:
            graph = record.as_dgl(settings.direction, settings.neighbours).to(device)
            nodes = encoder(graph, graph.ndata["feat"])
            vectors.append((normalize(nodes) if settings.cosine else nodes).cpu().numpy())
    return vectors
