"""Input of every baseline: a collection of documents cut into chunks, and questions.

The scope of a question is one document or all of them. Retrievers are built for a scope, so that
document frequencies and ranges of scores of one meeting do not depend on the others.
"""

from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar

import numpy as np
import pyarrow as pa

from gsum_assets.retrieval.vectors import vectors_of
from gsum_resources.store.array_cache import ArrayCache
from gsum_resources.store.arrow import pc, rows_at
from gsum_resources.store.lazy import Kept

Value = TypeVar("Value")


@dataclass(frozen=True, eq=False)
class Collection:
    """Documents and their chunks, documents ordered by id, chunks by document and position.

    Attributes
    ----------
    document_ids, document_texts : `(n_documents,)`.
    chunk_ids, chunk_texts : `(n_chunks,)`.
    starts : index of each document's first chunk, then `n_chunks`, `(n_documents + 1,)`.
    embeddings : unit vectors of the chunks, `(n_chunks, dim)`, or None if not needed.
    cache : where indexes of the whole collection are kept; None: they are computed each time.
    text_digests : digest of the text of each document, `(n_documents,)`, by which an index that is
        kept is found without the texts; None: by the texts.
    document_names : titles, names of files and dates, `(n_documents,)`; empty: not searched.
    """

    document_ids: Sequence[str]
    document_texts: Sequence[str]
    chunk_ids: Sequence[str]
    chunk_texts: Sequence[str]
    starts: np.ndarray
    embeddings: np.ndarray | None = None
    cache: ArrayCache | None = None
    text_digests: Sequence[str] | None = None
    document_names: Sequence[str] = ()

    @classmethod
    def from_tables(
        cls,
        documents: pa.Table,
        chunks: pa.Table,
        chunk_embeddings: pa.Table | None = None,
    ) -> "Collection":
        """Return the collection in the tables, whose rows may have any order.

        Documents without a chunk are left out. Tables without `text` give one without texts.

        Raises `ValueError` if a chunk has no document, or embeddings are given and a chunk has
        none.
        """
        keys = ("document_id", "position")
        order = pc.sort_indices(chunks.select(keys), [(key, "ascending") for key in keys])
        chunks = rows_at(chunks, order)
        owners = chunks["document_id"].to_pylist()
        document_ids, starts = np.unique(np.array(owners, dtype=object), return_index=True)
        texts = dict(zip(documents["document_id"].to_pylist(), _texts_of(documents), strict=True))
        orphans = [document_id for document_id in document_ids if document_id not in texts]
        if orphans:
            raise ValueError(
                f"chunks: {len(orphans)} documents are not in `documents` (first: "
                f"'{orphans[0]}'); materialize documents and chunks together"
            )
        chunk_ids = chunks["chunk_id"].to_pylist()
        vectors = None if chunk_embeddings is None else vectors_of(chunk_embeddings, chunk_ids)
        return cls(
            document_ids=list(document_ids),
            document_texts=[texts[document_id] for document_id in document_ids],
            chunk_ids=chunk_ids,
            chunk_texts=_texts_of(chunks),
            starts=np.append(starts, len(owners)).astype(np.int64),
            embeddings=vectors,
        )

    @cached_property
    def by_id(self) -> dict[str, np.ndarray]:
        """By level, the indices of documents and chunks in the alphabetical order of their ids."""
        levels = {"document": self.document_ids, "node": self.chunk_ids}
        return {level: alphabetical(ids) for level, ids in levels.items()}

    def cosines(self, vector: np.ndarray) -> np.ndarray:
        """Return the similarities of all chunks to a question's unit vector, `(n_chunks,)`."""
        assert self.embeddings is not None
        vectors = self.embeddings
        return self._kept.get("cosines", vector.tobytes(), lambda: vectors @ vector)

    def derived(self, name: Hashable, make: Callable[[], Value]) -> Value:
        """Return what `make` computes from the collection alone, once while this object lives.

        `name` includes all settings on which the value depends.
        """
        return self._kept.get(name, None, make)

    @cached_property
    def _kept(self) -> Kept:
        return Kept()

    def names_of(self, chunks: Sequence[int]) -> list[str]:
        """Return the names of the documents of some chunks, each once."""
        owners: list[int] = np.unique(np.searchsorted(self.starts, chunks, "right") - 1).tolist()
        return [self.document_names[owner] for owner in owners] if self.document_names else []

    def document(self, index: int) -> "Collection":
        """Return the collection with only document number `index`."""
        first, last = int(self.starts[index]), int(self.starts[index + 1])
        return Collection(
            document_ids=[self.document_ids[index]],
            document_texts=self.document_texts[index : index + 1],
            chunk_ids=self.chunk_ids[first:last],
            chunk_texts=self.chunk_texts[first:last],
            starts=np.array([0, last - first]),
            embeddings=None if self.embeddings is None else self.embeddings[first:last],
        )


def alphabetical(ids: Sequence[str]) -> np.ndarray:
    """Return the indices of ids in their alphabetical order."""
    return pc.sort_indices(pa.array(ids, pa.string())).to_numpy()


def _texts_of(rows: pa.Table) -> list[str]:
    has_texts = "text" in rows.column_names
    return rows["text"].to_pylist() if has_texts else [""] * rows.num_rows


@dataclass(frozen=True, eq=False)
class Questions:
    """Questions about a collection.

    Attributes
    ----------
    ids, texts : `(n_questions,)`; texts are the search queries.
    document_ids : the document of each question, or None for the whole collection.
    embeddings : unit vectors of the texts, `(n_questions, dim)`, or None if not needed.
    """

    ids: Sequence[str]
    texts: Sequence[str]
    document_ids: Sequence[str | None]
    embeddings: np.ndarray | None = None

    @classmethod
    def from_tables(
        cls, queries: pa.Table, query_embeddings: pa.Table | None = None
    ) -> "Questions":
        """Return the questions of the table `queries`, with vectors if they are given.

        Raises `ValueError` if vectors are given and a question has none.
        """
        ids, of = queries["query_id"].to_pylist(), query_embeddings
        return cls(
            ids=ids,
            texts=queries["retrieval_text"].to_pylist(),
            document_ids=queries["document_id"].to_pylist(),
            embeddings=None if of is None else vectors_of(of, ids, "query"),
        )

    def __len__(self) -> int:
        return len(self.ids)

    def take(self, indices: Sequence[int]) -> "Questions":
        """Return the questions at `indices`, in that order."""
        ids, texts = [self.ids[i] for i in indices], [self.texts[i] for i in indices]
        document_ids = [self.document_ids[i] for i in indices]
        vectors = None if self.embeddings is None else self.embeddings[list(indices)]
        return Questions(ids, texts, document_ids, vectors)


def scopes(questions: Questions, collection: Collection) -> Iterator[tuple[list[int], Collection]]:
    """Yield the indices of questions that search the same texts, ascending, and those texts.

    Questions about a document that is not in the collection are in no group.
    """
    groups: dict[str | None, list[int]] = {}
    for index, document_id in enumerate(questions.document_ids):
        groups.setdefault(document_id, []).append(index)
    index_of = {document_id: i for i, document_id in enumerate(collection.document_ids)}
    for document_id, members in groups.items():
        if document_id is None:
            if collection.chunk_ids:
                yield members, collection
        elif document_id in index_of:
            yield members, collection.document(index_of[document_id])
