"""The stored nodes of a corpus in memory: loaded once, then searched in milliseconds a question.

A search reads every vector, so that it takes what memory takes to deliver them. Over all documents
it first reads them in half precision, half the bytes, and then scores those that can be among the
best as `rank` does: 100,000 nodes of 384 dimensions take 6 ms instead of 11.
"""

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa

from gsum_assets.gor.variants import WITHOUT_NETWORK
from gsum_assets.retrieval.collection import Collection, Questions
from gsum_assets.retrieval.dense import Dense
from gsum_assets.retrieval.ranking import top
from gsum_assets.tables import TABLES
from gsum_resources.arrow import pc
from gsum_resources.embedding.processor import torch_threads
from gsum_resources.parquet_store import ParquetStore, StoreError

if TYPE_CHECKING:
    import torch

_AFTER_CHUNKS = 1_000_000  # responses follow all passages of their document

# Unit vectors in half precision: 2^-11 of each factor of a product and of the sum, 1.5e-3 in all.
_HALF_ERROR = 2e-3
_ROUNDING = 1e-6  # scores are compared to 6 decimals


class Hit(NamedTuple):
    """A node that a question found; `score` is the inner product, to 6 decimals."""

    node_id: str
    document_id: str
    score: float
    text: str


@dataclass(frozen=True, eq=False)
class NodeIndex:
    """Finds what `rank` finds for a question, without a table for each answer.

    A process that asks many questions keeps it:

        index = NodeIndex.load(ParquetStore("data/warehouse"), "qmsum", "gor")
        hits = index.search(embedder.embed_queries([question])[0], k=6)

    It stays as it was loaded when the tables are made anew; load it again then. As between
    questions ranked alone and together, the last of a score's 6 decimals may differ by one.
    """

    collection: Collection

    @classmethod
    def load(cls, store: ParquetStore, corpus: str, variant: str) -> "NodeIndex":
        """The nodes of a corpus with the embeddings that `variant` ranks them by.

        Raises
        ------
        StoreError
            If a table that it needs holds no row for the corpus and the variant.
        ValueError
            If the variant is `node2vec`, whose vectors are walked anew for each scope.
        """
        if variant == "node2vec":
            raise ValueError(
                "node2vec has no stored vectors; ask by `gsum ask --method node2vec`, or load "
                "another variant"
            )

        own = ["embedding"] if variant in WITHOUT_NETWORK else []
        columns = ["node_id", "document_id", "kind", "position", "text", *own]
        read = partial(_stored, store, corpus, variant)
        nodes = read("gor.record_nodes", columns)
        vectors = nodes if own else read("gor.node_embeddings", ["node_id", "embedding"])
        documents = read("documents", ["document_id", "text"])
        return cls(node_collection(documents, nodes, vectors))

    def search(self, question: np.ndarray, k: int, document_id: str | None = None) -> Sequence[Hit]:
        """The `k` best nodes of one document or of all, best first, equal scores by id.

        Parameters
        ----------
        question : unit vector of the question, `(dim,)`.
        document_id : whose nodes are searched; None searches those of all documents.

        Raises
        ------
        ValueError
            If `k` is less than 1, the document unknown, the vector of another length or not
            finite.
        """
        if k < 1:
            raise ValueError(f"k = {k}: ask for at least 1 node")
        vector = np.asarray(question, np.float32)[None]  # (1, dim)
        scope = self._near(vector, k) if document_id is None else self._document(document_id)
        scores = Dense(scope).scores(Questions([""], [""], [document_id], vector)).nodes
        best: list[int] = top(scores, scope.chunk_ids, k)[0].tolist()
        texts = scope.chunk_texts
        return [
            Hit(scope.chunk_ids[i], scope.document_ids[owner], float(scores[0, i]), texts[i])
            for i, owner in zip(best, _owners(scope, best), strict=True)
        ]

    def _document(self, document_id: str) -> Collection:
        ids = self.collection.document_ids
        place = bisect_left(ids, document_id)
        if place == len(ids) or ids[place] != document_id:
            raise ValueError(
                f"no node of document '{document_id}'; there are {len(ids)} documents, among them "
                f"{', '.join(ids[:5])}"
            )
        return self.collection.document(place)

    def _near(self, vector: np.ndarray, k: int) -> Collection:
        """The nodes that can be among the `k` best, and few others; `vector` is `(1, dim)`.

        Those whose score in half precision is below the k-th highest by no more than both may err.
        """
        import torch

        halves, longest = self._halves
        if vector.shape[1] != halves.shape[1]:
            return self.collection  # scoring them tells what is wrong
        length = float(np.linalg.norm(vector)) or 1.0
        asked = torch.from_numpy((vector[0] / length).astype(np.float16))
        with torch_threads(1):  # several would wait for one another on a busy machine
            scores = torch.mv(halves, asked).float().numpy() * (longest * length)  # (n_nodes,)
        error = _HALF_ERROR * longest * length + _ROUNDING
        depth = min(k, len(scores))
        least = np.partition(scores, len(scores) - depth)[len(scores) - depth] - 2 * error
        return _part(self.collection, np.flatnonzero(~(scores < least)).tolist())  # with the NaN

    @cached_property
    def _halves(self) -> "tuple[torch.Tensor, float]":
        """Embeddings in half precision, over the greatest length among them, and that length."""
        import torch

        vectors = self.collection.embeddings
        assert vectors is not None
        longest = float(np.einsum("nd,nd->n", vectors, vectors).max()) ** 0.5 or 1.0
        return torch.from_numpy((vectors / np.float32(longest)).astype(np.float16)), longest


def node_collection(documents: pa.Table, nodes: pa.Table, vectors: pa.Table) -> Collection:
    """Nodes in the form that the baselines search.

    Parameters
    ----------
    nodes : rows of `gor.record_nodes`.
    vectors : `node_id` and `embedding` of each of them, in any order.
    """
    is_response = pc.cast(pc.equal(nodes["kind"], "response"), pa.int32())
    as_chunks = pa.table(
        {
            "chunk_id": nodes["node_id"],
            "document_id": nodes["document_id"],
            "position": pc.add(nodes["position"], pc.multiply(is_response, _AFTER_CHUNKS)),
            "text": nodes["text"],
        }
    )
    as_embeddings = vectors.select(["node_id", "embedding"])
    return Collection.from_tables(
        documents, as_chunks, as_embeddings.rename_columns(["chunk_id", "embedding"])
    )


def _stored(
    store: ParquetStore, corpus: str, variant: str, name: str, columns: Sequence[str]
) -> pa.Table:
    """The rows of a table that a variant searches."""
    partitions = store.partitions(TABLES[name], corpus)
    wanted = [partition for partition in partitions if partition.method in (None, variant)]
    rows, _ = store.read(TABLES[name], wanted, columns)
    if not rows.num_rows:
        raise StoreError(
            f"'{corpus}' has no rows of '{name}' for '{variant}'; "
            f"run `gsum run {corpus} --methods {variant}`"
        )
    return rows


def _part(collection: Collection, places: list[int]) -> Collection:
    """The chunks at `places`, ascending, with their documents."""
    owners, starts = np.unique(_owners(collection, places), return_index=True)
    assert collection.embeddings is not None
    return Collection(
        document_ids=[collection.document_ids[int(i)] for i in owners],
        document_texts=[collection.document_texts[int(i)] for i in owners],
        chunk_ids=[collection.chunk_ids[i] for i in places],
        chunk_texts=[collection.chunk_texts[i] for i in places],
        starts=np.append(starts, len(places)),
        embeddings=collection.embeddings[places],
    )


def _owners(collection: Collection, places: list[int]) -> list[int]:
    """Which document each of the chunks at `places` belongs to."""
    return (np.searchsorted(collection.starts, places, side="right") - 1).tolist()
