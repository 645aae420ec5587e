"""Candidates after a change: only what the change may affect is compared again.

A passage is unchanged if its vector is. Its list loses the passages that are gone and gains those
that are new and near enough. If enough of what is left precedes every passage that was not listed,
it is the new list; otherwise the passage is compared with all others, as new ones are. The result
is that of comparing all pairs, if the old lists were.
"""

import io
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from gsum_assets.graphs.nearest import Comparison, Neighbours, Pairs, best
from gsum_assets.lightpal.candidates import Numbered, hashes_of, matrix_of, rows_of_level
from gsum_assets.pipeline.step import Inputs
from gsum_assets.pipeline.tables import TABLES
from gsum_assets.retrieval.collection import Collection
from gsum_resources.store.arrow import pc
from gsum_resources.store.content_hash import content_hash
from gsum_resources.store.partition import Partition, version_of

_TABLE = TABLES["lightpal.candidates"]
_BASIS = "basis.npz"
_MOST_CHANGED = 0.25  # share of changed chunks above which all are compared
_AT_ONCE = 2**16  # vectors whose digests are computed at a time


class Basis(NamedTuple):
    """What stored candidates were computed from, by chunk in the order of that collection.

    Attributes
    ----------
    documents : number of the chunk's document, int64 `(n,)`.
    digests : digest of its vector, int64 `(n,)`.
    is_exact : whether all pairs were compared; otherwise an approximate index chose them.
    """

    documents: np.ndarray
    digests: np.ndarray
    is_exact: bool

    @classmethod
    def of(cls, collection: Collection, is_exact: bool) -> "Basis":
        """Return the basis of candidates that are computed from a collection with vectors."""
        vectors = collection.embeddings
        assert vectors is not None
        digests = [
            hashes_of(vectors[first : first + _AT_ONCE].view(np.int32).astype(np.int64))
            for first in range(0, len(vectors), _AT_ONCE)
        ]
        documents = Numbered(collection.document_ids).numbers
        owners = np.repeat(documents, np.diff(collection.starts))
        return cls(owners, np.concatenate([np.empty(0, np.int64), *digests]), is_exact)

    @classmethod
    def read(cls, inputs: Inputs) -> "tuple[Basis, pa.Table] | None":
        """Return the basis of the rows of the earlier run, and these; None if either is missing."""
        earlier = inputs.earlier_rows(_TABLE.name)
        if inputs.store is None:
            return None
        path = inputs.store.path(_TABLE, Partition(inputs.corpus), _BASIS)
        try:
            file = np.load(io.BytesIO(inputs.store.fs.cat_file(path)))
        except FileNotFoundError:
            return None
        if str(file["version"]) != earlier.version():
            return None
        columns = ("level", "passage_number", "candidates", "similarities")
        basis = cls(file["documents"], file["digests"], bool(file["is_exact"]))
        return basis, earlier.columns(columns)

    def write(self, inputs: Inputs, rows: pa.Table) -> None:
        """Store the basis of `rows`, which are stored next; after a kill in between none counts."""
        if inputs.store is None:
            return
        partition, file = Partition(inputs.corpus), io.BytesIO()
        version = version_of({partition: content_hash(rows, _TABLE.ignored_by_hash)})
        np.savez(file, version=np.array(version), **self._asdict())
        inputs.store.replace_file(inputs.store.path(_TABLE, partition, _BASIS), file.getvalue())


class Updated(NamedTuple):
    """Rows of `lightpal.candidates` with their basis, and the candidates of the chunks.

    `n_compared` chunks were compared with all others.
    """

    rows: pa.Table
    basis: Basis
    of_chunks: Neighbours
    n_compared: int


def updated_candidates(
    collection: Collection, n: int, basis: Basis, earlier: tuple[Basis, pa.Table] | None
) -> Updated | None:
    """Return the `n` candidates of each passage; None if all must be compared, or are in less time.

    If exact neighbours are wanted, approximate `earlier` ones, by `Basis.read`, do not count.
    """
    if earlier is None:
        return None
    then, rows = earlier
    if basis.is_exact and not then.is_exact:
        return None
    vectors, starts = collection.embeddings, collection.starts
    assert vectors is not None
    chunks, documents = Numbered(collection.chunk_ids), Numbered(collection.document_ids)
    of_documents, of_chunks = (
        rows.filter(pc.equal(rows["level"], level)) for level in ("document", "node")
    )
    indices = chunks.find(of_chunks["passage_number"].to_numpy())
    is_new = _are_new(indices, basis.digests, then.digests)
    if is_new.mean() > _MOST_CHANGED:
        return None
    lengths, owners = np.diff(starts), documents.find(then.documents)
    n_then = np.bincount(owners[owners >= 0], minlength=len(lengths))
    n_kept = np.add.reduceat(~is_new, starts[:-1], dtype=np.int64)
    is_changed = (n_kept != lengths) | (n_kept != n_then)
    tables, updated = [], None
    for level, earlier_rows, passages, changed, groups in (
        ("document", of_documents, documents, is_changed, starts),
        ("node", of_chunks, chunks, is_new, np.arange(len(is_new) + 1)),
    ):
        comparison = Comparison(vectors, groups)
        updated = _updated_lists(earlier_rows, passages, changed, n, comparison)
        if updated is None:
            return None
        tables.append(rows_of_level(level, passages, *updated[0]))
    assert updated is not None
    return Updated(pa.concat_tables(tables), basis._replace(is_exact=then.is_exact), *updated)


def _are_new(indices: np.ndarray, digests: np.ndarray, then: np.ndarray) -> np.ndarray:
    """Return which chunks are new, have another vector, or follow others than before, `(n,)`.

    `indices` is where each chunk of then is now, or -1.
    """
    same = np.flatnonzero(indices >= 0)
    same = same[digests[indices[same]] == then[same]]
    earlier = np.full(len(digests), -1)
    earlier[indices[same]] = same
    # equally similar ones are in the order of the collection
    return (earlier < 0) | (earlier < np.maximum.accumulate(earlier))


def _updated_lists(
    rows: pa.Table, passages: Numbered, is_changed: np.ndarray, n: int, comparison: Comparison
) -> tuple[Neighbours, int] | None:
    """Return the lists of one level by number, and how many passages were compared with all.

    None if the earlier lists, in `rows`, are too short. `is_changed` says of each passage whether
    it is new or changed, `(n_passages,)`.
    """
    numbers, similarities = matrix_of(rows["candidates"]), matrix_of(rows["similarities"])
    n_passages, width = len(is_changed), numbers.shape[1]
    k = min(n, n_passages - 1)
    are_complete = width == rows.num_rows - 1  # each passage lists all others
    if width < max(1, k) and not are_complete:
        return None
    stored = rows["passage_number"].to_numpy()
    owners = passages.find(stored)
    stays = owners >= 0
    stays[stays] = ~is_changed[owners[stays]]
    source = np.zeros(n_passages, np.int64)
    source[owners[stays]] = np.flatnonzero(stays)
    numbers, similarities = numbers[source], similarities[source]
    if width < k:  # of a smaller corpus: all lists change
        added = (0, 0), (0, k - width)
        numbers, similarities = np.pad(numbers, added), np.pad(similarities, added)
    lists = Neighbours(numbers[:, :k], similarities[:, :k])

    def replace(some: np.ndarray, nearest: Neighbours) -> None:
        lists.indices[some] = passages.numbers[nearest.indices]
        lists.similarities[some] = nearest.similarities

    ends = -np.inf if are_complete else similarities[:, width - 1]
    bounds = np.where(is_changed, np.inf, ends).astype(np.float32)
    gained, values = comparison.reaching(np.flatnonzero(is_changed), bounds)
    is_gone = pc.is_in(pa.array(numbers.ravel()), value_set=pa.array(stored[~stays]))
    is_touched = is_gone.to_numpy(zero_copy_only=False).reshape(numbers.shape).any(axis=1)
    is_touched &= ~is_changed
    is_touched[gained.columns] = True
    touched = np.flatnonzero(is_touched)
    listed, near = passages.find(numbers[touched, :width]), similarities[touched, :width]
    listed[(listed >= 0) & is_changed[listed]] = -1
    row, column = np.nonzero(listed >= 0)
    all_rows = np.concatenate([row, np.searchsorted(touched, gained.columns)])
    order = np.argsort(all_rows, kind="stable")
    all_rows = all_rows[order]
    columns = np.concatenate([listed[row, column], gained.rows])[order]
    values = np.concatenate([near[row, column], values.astype(np.float32)])[order]
    is_certain = np.ones(len(touched), bool)
    if not are_complete:  # enough precede the end of the list, and so all that are not listed
        last, end = listed[all_rows, -1], near[all_rows, -1]  # last: -1 if gone
        precedes = (values > end) | ((values == end) & (columns <= last))
        is_certain = np.bincount(all_rows, precedes, len(touched)) >= k
    chosen, position = is_certain[all_rows], np.cumsum(is_certain) - 1
    pairs, certain = Pairs(position[all_rows[chosen]], columns[chosen]), touched[is_certain]
    replace(certain, best(pairs, values[chosen], len(certain), k, n_passages))
    is_due = is_changed.copy()
    is_due[touched[~is_certain]] = True
    due = np.flatnonzero(is_due)
    if len(due):
        replace(due, comparison.nearest_of_groups(due, k))
    return lists, len(due)
