"""Chunks with vectors, and scripted models."""

import random
from collections.abc import Callable, Mapping, Sequence

import numpy as np
import pyarrow as pa

from gsum_assets.pipeline.embed import vector_column
from gsum_resources.protocols.models import Completion, CompletionError, OnReply, Reply, Request
from gsum_resources.store.content_hash import hash_texts

STORIES = (
    "Mrs. Alder sold the orchard behind the mill to the railway company in March. Her brother "
    "opposed the sale of the orchard because the bees lived there.",
    "The railway company built a wooden bridge over the river Tamsel. An engineer called Brandt "
    "warned the company that the wooden bridge would not carry heavy trains.",
    "In winter the wooden bridge broke under a coal train. Two drivers swam to the shore, and the "
    "engineer Brandt was blamed by the newspaper.",
    "The newspaper printed a letter by Mrs. Alder in defence of Brandt. The letter quoted the "
    "warning that the railway company had kept in a drawer.",
    "A judge in the harbour town read the warning aloud. The railway company paid for a stone "
    "bridge and gave the orchard back to Mrs. Alder.",
)


def chunk_table(texts: Mapping[str, Sequence[str]], corpus: str = "toys") -> pa.Table:
    """Rows of `chunks`, as read from the store, from texts by document."""
    rows = [
        {"chunk_id": hash_texts([document_id, text]), "document_id": document_id}
        | {"position": position, "start": 0, "end": len(text), "n_tokens": len(text.split())}
        | {"text": text, "corpus": corpus, "bucket": "00"}
        for document_id, passages in texts.items()
        for position, text in enumerate(passages)
    ]
    table = pa.Table.from_pylist(rows)
    return table.set_column(2, "position", table["position"].cast(pa.int32()))


def embedding_table(chunks: pa.Table, vectors: np.ndarray) -> pa.Table:
    """Rows of `chunk_embeddings`."""
    return chunks.select(["chunk_id", "document_id"]).append_column(
        "embedding", vector_column(vectors)
    )


def shuffled(table: pa.Table, seed: int = 1) -> pa.Table:
    """The same rows in another order."""
    order = list(range(table.num_rows))
    random.Random(seed).shuffle(order)
    return table.take(pa.array(order, pa.int64()))


class Scripted:
    """A language model whose reply to a request is `say(request)`.

    None is a failure, and so is a structured reply that ends before its last brace.
    """

    identity = "scripted"

    def __init__(self, say: Callable[[Request], str | None]) -> None:
        self._say = say
        self.calls: list[list[Request]] = []

    @property
    def requests(self) -> list[Request]:
        return [request for call in self.calls for request in call]

    def complete(self, requests: Sequence[Request], on_reply: OnReply | None = None) -> list[Reply]:
        self.calls.append(list(requests))
        return [self._one(request) for request in requests]

    def _one(self, request: Request) -> Reply:
        text = self._say(request)
        if text is None:
            return CompletionError("the server is tired", self.identity)
        if request.schema and not text.endswith("}"):
            return CompletionError("it was cut off", self.identity, text=text)
        parsed = request.schema.model_validate_json(text) if request.schema else None
        return Completion(text, self.identity, 10, len(text.split()), 0.0, parsed)


class Lookup:
    """An embedder whose vectors are given by text; counts its calls."""

    identity = "lookup"

    def __init__(self, vectors: Mapping[str, Sequence[float]], dimension: int) -> None:
        self._vectors = vectors
        self.dimension = dimension
        self.calls: list[list[str]] = []

    def embed(self, texts: Sequence[str]) -> np.ndarray:
        self.calls.append(list(texts))
        return self.embed_queries(texts)

    def embed_queries(self, texts: Sequence[str]) -> np.ndarray:
        rows = [self._vectors[text] for text in texts]
        return np.array(rows, np.float32).reshape(len(texts), self.dimension)
