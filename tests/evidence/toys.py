"""Toy passages with vectors that are known by hand, and networks with weights set by hand."""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from gsum_assets.evidence.network import Network
from gsum_assets.evidence.scope import ScopeIndex
from gsum_assets.evidence.sentence_index import SentenceIndex
from gsum_assets.pipeline.embed import vector_column
from gsum_assets.pipeline.tables import TABLES
from gsum_assets.retrieval.collection import Collection
from gsum_assets.retrieval.words import Words


def axis(*values: float) -> np.ndarray:
    """Return a unit vector along these values."""
    return np.array(values, np.float32) / np.linalg.norm(values)


def tables(
    texts: dict[str, Sequence[str]], vectors: np.ndarray
) -> tuple[pa.Table, pa.Table, pa.Table]:
    """Return `documents`, `chunks` and `chunk_embeddings`; chunks are named `<document>-<n>`."""
    rows = [
        {"chunk_id": f"{document_id}-{position:05}", "document_id": document_id}
        | {"position": position, "text": text, "n_tokens": 10}
        for document_id, own in texts.items()
        for position, text in enumerate(own)
    ]
    documents = {"document_id": list(texts), "text": [" ".join(own) for own in texts.values()]}
    chunks = pa.Table.from_pylist(rows)
    embedded = chunks.select(["chunk_id"]).append_column("embedding", vector_column(vectors))
    return pa.table(documents), chunks, embedded


def sentences(rows: Sequence[tuple[str, int, str, int]], vectors: Sequence[np.ndarray]) -> pa.Table:
    """Return `evidence.sentences` from passage, position, speaker and words of each."""
    if not rows:
        return TABLES["evidence.sentences"].empty()
    names = ("chunk_id", "position", "speaker", "n_words")
    table = pa.table(dict(zip(names, zip(*rows, strict=True), strict=True)))
    return table.append_column("embedding", vector_column(np.stack(vectors)))


def index_of(texts: dict[str, Sequence[str]], vectors: np.ndarray, spoken: pa.Table) -> ScopeIndex:
    """Return the index of toy passages."""
    collection = Collection.from_tables(*tables(texts, vectors))
    return ScopeIndex(collection, SentenceIndex.of_rows(spoken), Words())


def random_units(n: int, dim: int = 8, seed: int = 0) -> np.ndarray:
    """Return random unit vectors, `(n, dim)`."""
    vectors = np.random.default_rng(seed).normal(size=(n, dim)).astype(np.float32)
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def random_network(names: Sequence[str], n_kinds: int, seed: int = 0) -> Network:
    """Return two networks of width 4 with random weights."""
    draw = np.random.default_rng(seed).normal
    shapes = {
        "input.weight": (2, 4, len(names)),
        "input.bias": (2, 4),
        "layers.0.weight": (2, 4, (1 + n_kinds) * 4),
        "layers.0.bias": (2, 4),
        "layers.1.weight": (2, 4, (1 + n_kinds) * 4),
        "layers.1.bias": (2, 4),
        "output.weight": (2, 1, 4),
        "output.bias": (2, 1),
    }
    weights = {name: (draw(size=s) / 4).astype(np.float32) for name, s in shapes.items()}
    return Network(names, np.zeros(len(names)), np.ones(len(names)), weights)
