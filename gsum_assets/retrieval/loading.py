"""The passages of a step's corpus, of which only what is used is read."""

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa

from gsum_assets.corpus.document_names import named_rows, searched_name
from gsum_assets.pipeline.step import Inputs
from gsum_assets.retrieval.collection import Collection
from gsum_assets.retrieval.contexts import best_chunks, top_contexts
from gsum_assets.retrieval.settings import RetrievalSettings
from gsum_assets.retrieval.vectors import gathered, vectors_of
from gsum_resources.engine.threads import ahead
from gsum_resources.store.arrow import pc
from gsum_resources.store.content_hash import hash_texts

MAPPED_FROM = 2**16
"""Chunks from which vectors are kept as one matrix; fewer are read within a second."""

_VECTORS = "vectors"
_PLACES = ("chunk_id", "document_id", "position", "start")


def collection_of(
    inputs: Inputs, with_vectors: bool = True, keep_indexes: bool = False
) -> Collection:
    """Return the collection in the tables `documents`, `chunks` and `chunk_embeddings`.

    `keep_indexes`: indexes of the whole collection are kept for later processes.
    """
    tables = ("documents", "chunks", *(["chunk_embeddings"] if with_vectors else []))
    name = "collection", with_vectors, keep_indexes
    return inputs.derived(name, tables, lambda: _collection(inputs, with_vectors, keep_indexes))


def _collection(inputs: Inputs, with_vectors: bool, keep_indexes: bool) -> Collection:
    documents, chunks = inputs.tables["documents"], inputs.tables["chunks"]
    passages = _passages_of(inputs)
    collection = replace(
        passages,
        document_texts=_late(passages.document_ids, documents, "document_id"),
        chunk_texts=_late(passages.chunk_ids, chunks, "chunk_id"),
        cache=inputs.array_cache if keep_indexes else None,
    )
    return with_vectors_of(inputs, collection) if with_vectors else collection


_last: dict[tuple[str | None, ...], Collection] = {}
"""Passages of the large corpus that this process read last, which takes seconds for each step."""


def _passages_of(inputs: Inputs) -> Collection:
    """Return the passages without texts and vectors, recorded as inputs even if not read again."""
    documents, chunks = inputs.tables["documents"], inputs.tables["chunks"]
    versions = documents.version(), chunks.version()
    key = (inputs.store.root if inputs.store else None, *versions)
    if key in _last:
        return _last[key]
    rows = chunks.columns(_PLACES)
    passages = Collection.from_tables(documents.columns(["document_id"]), rows)
    names = {row["document_id"]: searched_name(row) for row in named_rows(documents)}
    passages = replace(
        passages,
        text_digests=text_digests(passages, rows),
        document_names=[names[document_id] for document_id in passages.document_ids],
    )
    is_large = rows.num_rows >= MAPPED_FROM and None not in key
    if is_large and (documents.version(), chunks.version()) == versions:  # not written meanwhile
        _last.clear()
        _last[key] = passages
    return passages


def with_vectors_of(inputs: Inputs, collection: Collection) -> Collection:
    """Return the collection with its vectors, mapped into memory if there are many."""
    table, ids, cache = inputs.tables["chunk_embeddings"], collection.chunk_ids, inputs.array_cache
    version = table.version()
    if cache is None or version is None or len(ids) < MAPPED_FROM:
        return replace(collection, embeddings=vectors_of(table.get(), ids))
    kept_as = hash_texts([version, "\0".join(ids)])  # of these chunks, in this order
    if arrays := cache.read(_VECTORS, kept_as):
        return replace(collection, embeddings=arrays[_VECTORS])
    with cache.new(_VECTORS, kept_as) as folder:

        def new(shape: tuple[int, int]) -> np.ndarray:
            if folder is None:
                return np.empty(shape, np.float32)
            return np.lib.format.open_memmap(folder / f"{_VECTORS}.npy", "w+", np.float32, shape)

        vectors = gathered(ahead(lambda part: part.get(), table.parts()), ids, new=new)
    vectors.flags.writeable = False
    is_of_version = table.version() == version  # not written meanwhile
    cache.keep_only(_VECTORS, [kept_as] if is_of_version else [])
    return replace(collection, embeddings=vectors)


def contexts_of(inputs: Inputs, k: int) -> pa.Table:
    """Return the `k` best chunks of each question in `rankings`, as rows of `contexts`."""
    rankings = inputs.table("rankings")
    ids = best_chunks(rankings, k)["item_id"].to_pylist()
    return top_contexts(rankings, inputs.tables["chunks"].rows_with("chunk_id", ids), k)


def main_contexts(inputs: Inputs) -> pa.Table:
    """Return `contexts_of` for the k of `[retrieval]`, of a list its main one."""
    settings = RetrievalSettings.model_validate(inputs.settings("retrieval"))
    return contexts_of(inputs, settings.k)


class LateTexts(Sequence[str]):
    """Texts that are read, by their ids, when the first one is used; a slice reads its own only."""

    def __init__(self, ids: Sequence[str], read: Callable[[Sequence[str]], Sequence[str]]) -> None:
        self._ids, self._read = ids, read

    @cached_property
    def _texts(self) -> Sequence[str]:
        return self._read(self._ids)

    def at(self, indices: Sequence[int]) -> Sequence[str]:
        """Return some of the texts, without reading the others."""
        if "_texts" in self.__dict__:
            return [self._texts[index] for index in indices]
        return self._read([self._ids[index] for index in indices])

    def __len__(self) -> int:
        return len(self._ids)

    def __iter__(self) -> Iterator[str]:
        return iter(self._texts)

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice) and "_texts" not in self.__dict__:
            return LateTexts(self._ids[index], self._read)
        return self._texts[index]


def _late(ids: Sequence[str], table: Any, column: str) -> LateTexts:
    def read(wanted: Sequence[str]) -> list[str]:
        if len(wanted) < len(ids):
            rows = table.rows_with(column, wanted)
        else:
            rows = table.columns([column, "text"])
        indices = pc.index_in(pa.array(wanted, pa.string()), rows[column].combine_chunks())
        texts = rows["text"].to_pylist()
        return [texts[index] for index in indices.to_numpy()]

    return LateTexts(ids, read)


def text_digests(collection: Collection, chunks: pa.Table) -> list[str]:
    """Return a digest of each document's text: that of its chunks, and where they start."""
    ids, bounds = collection.chunk_ids, collection.starts.tolist()
    rows = pc.index_in(pa.array(ids, pa.string()), chunks["chunk_id"].combine_chunks())
    starts = chunks["start"].to_numpy()[rows.to_numpy()]
    digests = []
    for first, last in pairwise(bounds):
        digest = hashlib.blake2b("\0".join(ids[first:last]).encode(), digest_size=16)
        digest.update(starts[first:last].tobytes())
        digests.append(digest.hexdigest())
    return digests


def texts_at(texts: Sequence[str], indices: Sequence[int]) -> Sequence[str]:
    """Return some of the texts, of `LateTexts` without reading the others."""
    if isinstance(texts, LateTexts):
        return texts.at(indices)
    return [texts[index] for index in indices]
