"""The trained state: fitted bases of the features and weights of the encoder, by level.

Documents that are added or changed later are embedded by it without training, and the embeddings
of passages far from them stay the same to the last bit.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from gsum_assets.gae.autoencoder import encode, train
from gsum_assets.gae.graph_edges import edges_of, graph_edges
from gsum_assets.gae.levels import level_vectors, levels, vector_rows
from gsum_assets.gae.node_features import Bases, fitted_bases, node_features
from gsum_assets.gae.settings import GraphSettings, TrainingSettings
from gsum_assets.gae.word_vectors import WordStatistics
from gsum_assets.pipeline.tables import TABLES
from gsum_assets.retrieval.collection import Collection
from gsum_resources.engine.blocks import LOCAL, Engine
from gsum_resources.store.checkpoints import Checkpoint, CheckpointError, learnt_hash

_ENCODER = "gcn"

OnEpoch = Callable[[str, int, float], None]
"""Called with level, number of the epoch from 1, and loss."""


class Model(NamedTuple):
    """The trained state of each level; a level that had a single passage has none.

    Attributes
    ----------
    bases : bases of the features, by level.
    weights : weights of the encoder for `autoencoder.encode`, by level.
    """

    bases: Mapping[str, Bases]
    weights: Mapping[str, Mapping[str, np.ndarray]]

    @property
    def words(self) -> dict[str, WordStatistics]:
        """Statistics of words by level, for `graph_edges`."""
        return {name: bases.words for name, bases in self.bases.items()}

    @property
    def tensors(self) -> dict[str, np.ndarray]:
        """All arrays by name: "node.bases.idf"."""
        bases = {f"{level}.bases": of_level._asdict() for level, of_level in self.bases.items()}
        weights = {f"{level}.encoder": of_level for level, of_level in self.weights.items()}
        return {
            f"{group}.{name}": array
            for group, arrays in {**bases, **weights}.items()
            for name, array in arrays.items()
        }

    @classmethod
    def of(cls, tensors: Mapping[str, np.ndarray]) -> "Model":
        """Return the model of the arrays that `tensors` returned."""
        groups: dict[str, dict[str, dict[str, np.ndarray]]] = {"bases": {}, "encoder": {}}
        for full_name, array in tensors.items():
            level, group, name = full_name.split(".", 2)
            groups[group].setdefault(level, {})[name] = array
        bases = {level: Bases(**arrays) for level, arrays in groups["bases"].items()}
        return cls(bases, groups["encoder"])


def trained_model(
    collection: Collection,
    cites: Mapping[str, Sequence[str]],
    language: str,
    graph: GraphSettings,
    training: TrainingSettings,
    on_epoch: OnEpoch = lambda *_: None,
    engine: Engine = LOCAL,
) -> Model:
    """Return the model of a corpus: bases fitted to its passages, encoders trained on its graph.

    Parameters
    ----------
    collection : with embeddings.
    cites, language, engine : as for `graph_edges`.
    """
    model = Model(fitted_bases(collection, language, graph), {})
    edges = graph_edges(collection, cites, language, graph, model.words, engine)
    rows = node_features(collection, language, graph, model.bases)
    weights = {
        level.name: train(
            level_vectors(rows, level, "gae/node_features"),
            edges_of(edges, level.name, level.ids),
            training,
            lambda epoch, loss, level=level: on_epoch(level.name, epoch, loss),
        )
        for level in levels(collection)
        if level.name in model.bases
    }
    return model._replace(weights=weights)


def model_rows(
    model: Model,
    collection: Collection,
    embedding_model: str,
    graph: GraphSettings,
    training: TrainingSettings,
) -> pa.Table:
    """Return the row of `gae.model`.

    Parameters
    ----------
    collection : the corpus that the model was trained on, with embeddings.
    embedding_model : identity of the embedder of its chunks.
    """
    assert collection.embeddings is not None
    settings = {"graph": graph.model_dump(), "training": training.model_dump()}
    checkpoint = Checkpoint(
        encoder=_ENCODER,
        dimension=collection.embeddings.shape[1],
        embedding_model=embedding_model,
        epochs=training.epochs,
        settings=settings,
        weights=model.tensors,
    )
    row = {
        "encoder": _ENCODER,
        "dimension": checkpoint.dimension,
        "embedding_model": embedding_model,
        "epochs": training.epochs,
        "n_documents": len(collection.document_ids),
        "n_chunks": len(collection.chunk_ids),
        "learnt_from": sorted(map(learnt_hash, collection.document_ids)),
        "settings": json.dumps(settings, sort_keys=True),
        "weights": checkpoint.to_bytes(),
    }
    return pa.Table.from_pylist([row], TABLES["gae.model"].schema)


def load_model(rows: pa.Table, collection: Collection | None = None) -> Model:
    """Return the model of the row of `gae.model`.

    Parameters
    ----------
    collection : passages that it is applied to, with embeddings; None if embeddings are not used.

    Raises
    ------
    CheckpointError
        If there is no model, or it was trained on embeddings of another length.
    """
    if not rows.num_rows:
        raise CheckpointError("gae/model has no row; materialize gae/model")
    checkpoint = Checkpoint.from_bytes(rows["weights"][0].as_py())
    if collection is not None and collection.embeddings is not None and len(collection.chunk_ids):
        dimension = collection.embeddings.shape[1]
        checkpoint.require(checkpoint.embedding_model, dimension, "gae/model")
    return Model.of(checkpoint.weights)


def embeddings(
    model: Model, collection: Collection, edges: pa.Table, features: pa.Table, dim: int
) -> pa.Table:
    """Return the rows of `gae.embeddings`; those of a level without weights are zeros.

    Parameters
    ----------
    edges, features : rows of `gae.graph_edges` and `gae.node_features`.
    dim : length of an embedding.
    """
    tables = []
    for level in levels(collection):
        vectors = np.zeros((len(level.ids), dim), np.float32)
        if weights := model.weights.get(level.name):
            vectors_of_level = level_vectors(features, level, "gae/node_features")
            vectors = encode(weights, vectors_of_level, edges_of(edges, level.name, level.ids))
        tables.append(vector_rows(level.name, level.ids, vectors))
    return pa.concat_tables(tables).combine_chunks()
