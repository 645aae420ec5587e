"""Candidates after a change: only what the change may affect is compared again.

A passage is unchanged if its vector is. Its list loses the passages that are gone and gains those
that are new and near enough. What is left is the new list, if enough of it precedes every passage
that was not in the old one; otherwise the passage is compared with all others, as new ones are. The
result is that of comparing all pairs, if the old lists were.

The rows do not say which vectors they were computed from; a file beside them does, the basis.
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
_COLUMNS = ("level", "passage_number", "candidates", "similarities")
_BASIS = "basis.npz"
_MOST_CHANGED = 0.25  # share of changed chunks above which all are compared
_AT_ONCE = 2**16  # vectors whose digests are computed at a time


class Basis(NamedTuple):
    """What stored candidates were computed from, by chunk in the order of that collection.

    Attributes
    ----------
    chunks, documents : number of each chunk and of its document, int64 `(n,)`.
    digests : digest of its vector, int64 `(n,)`.
    is_exact : whether all pairs were compared; otherwise an approximate index chose them.
    """

    chunks: np.ndarray
    documents: np.ndarray
    digests: np.ndarray
    is_exact: bool

    @classmethod
    def of(cls, collection: Collection, is_exact: bool) -> "Basis":
        """Return the basis of candidates that are computed from a collection with vectors."""
        vectors = collection.embeddings
        assert vectors is not None
        documents = Numbered(collection.document_ids).numbers
        digests = [
            hashes_of(vectors[first : first + _AT_ONCE].view(np.int32).astype(np.int64))
            for first in range(0, len(vectors), _AT_ONCE)
        ]
        return cls(
            Numbered(collection.chunk_ids).numbers,
            np.repeat(documents, np.diff(collection.starts)),
            np.concatenate([np.empty(0, np.int64), *digests]),
            is_exact,
        )

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
        basis = cls(file["chunks"], file["documents"], file["digests"], bool(file["is_exact"]))
        return basis, earlier.columns(_COLUMNS)

    def write(self, inputs: Inputs, rows: pa.Table) -> None:
        """Store the basis of `rows`, which are stored next; after a kill in between none counts."""
        if inputs.store is None:
            return
        partition, file = Partition(inputs.corpus), io.BytesIO()
        version = version_of({partition: content_hash(rows, _TABLE.ignored_by_hash)})
        np.savez(file, version=np.array(version), **self._asdict())
        inputs.store.replace_file(inputs.store.path(_TABLE, partition, _BASIS), file.getvalue())


class Updated(NamedTuple):
    """Candidates after a change.

    Attributes
    ----------
    rows : rows of `lightpal.candidates`.
    basis : what they were computed from.
    of_chunks : candidates of the chunks, with indices or numbers.
    n_compared : number of chunks that were compared with all others.
    """

    rows: pa.Table
    basis: Basis
    of_chunks: Neighbours
    n_compared: int


def updated_candidates(
    collection: Collection, n: int, basis: Basis, earlier: tuple[Basis, pa.Table] | None
) -> Updated | None:
    """Return the `n` candidates of each passage; None if all must be compared, or are in less time.

    Parameters
    ----------
    basis : of the collection; if exact neighbours are wanted, approximate ones do not count.
    earlier : basis and rows of the earlier run, see `Basis.read`.
    """
    if earlier is None:
        return None
    then, rows = earlier
    if basis.is_exact and not then.is_exact:
        return None
    assert collection.embeddings is not None
    chunks, documents = Numbered(collection.chunk_ids), Numbered(collection.document_ids)
    is_new = _are_new(chunks.find(then.chunks), basis.digests, then.digests)
    if is_new.mean() > _MOST_CHANGED:
        return None
    lengths, owners = np.diff(collection.starts), documents.find(then.documents)
    n_then = np.bincount(owners[owners >= 0], minlength=len(lengths))
    n_kept = np.add.reduceat(~is_new, collection.starts[:-1], dtype=np.int64)
    is_changed = (n_kept != lengths) | (n_kept != n_then)
    of_documents = _Lists(rows, "document", documents, is_changed, n)
    of_chunks = _Lists(rows, "node", chunks, is_new, n)
    if not (of_documents.are_usable and of_chunks.are_usable):
        return None
    of_documents.update(Comparison(collection.embeddings, collection.starts))
    n_compared = of_chunks.update(Comparison(collection.embeddings, np.arange(len(is_new) + 1)))
    tables = [
        rows_of_level("document", documents, *of_documents.lists),
        rows_of_level("node", chunks, *of_chunks.lists),
    ]
    basis = basis._replace(is_exact=then.is_exact)
    return Updated(pa.concat_tables(tables), basis, of_chunks.lists, n_compared)


def _are_new(indices: np.ndarray, digests: np.ndarray, then: np.ndarray) -> np.ndarray:
    """Return which chunks are new, have another vector, or follow others than before, `(n,)`.

    Parameters
    ----------
    indices : where each chunk of then is now, or -1.
    """
    same = np.flatnonzero(indices >= 0)
    same = same[digests[indices[same]] == then[same]]
    earlier = np.full(len(digests), -1)
    earlier[indices[same]] = same
    # equally similar ones are in the order of the collection
    return (earlier < 0) | (earlier < np.maximum.accumulate(earlier))


class _Lists:
    """Candidates of one level, by the passages of now; those of changed ones do not count.

    Parameters
    ----------
    rows : rows of `lightpal.candidates` by the earlier run.
    passages, is_changed : passages of now, and whether each is new or changed, `(n_passages,)`.
    n : number of candidates.

    Attributes
    ----------
    are_usable : whether the earlier lists were long enough.
    lists : numbers and similarities of the candidates, `(n_passages, k)`.
    """

    def __init__(
        self, rows: pa.Table, level: str, passages: Numbered, is_changed: np.ndarray, n: int
    ) -> None:
        rows = rows.filter(pc.equal(rows["level"], level))
        self._passages, self._is_changed = passages, is_changed
        self._k = min(n, len(is_changed) - 1)
        numbers, similarities = matrix_of(rows["candidates"]), matrix_of(rows["similarities"])
        self._width = numbers.shape[1]
        self._are_complete = self._width == rows.num_rows - 1
        self.are_usable = self._width >= max(1, self._k) or self._are_complete
        stored = rows["passage_number"].to_numpy()
        owners = passages.find(stored)
        stays = owners >= 0
        stays[stays] = ~is_changed[owners[stays]]
        source = np.zeros(len(is_changed), np.int64)
        source[owners[stays]] = np.flatnonzero(stays)
        numbers, similarities = numbers[source], similarities[source]
        if self._width < self._k:  # of a smaller corpus: all lists change
            added = (0, 0), (0, self._k - self._width)
            numbers, similarities = np.pad(numbers, added), np.pad(similarities, added)
        gone, listed = pa.array(stored[~stays]), pa.array(numbers.ravel())
        is_gone = pc.is_in(listed, value_set=gone).to_numpy(zero_copy_only=False)
        self._loses = is_gone.reshape(numbers.shape).any(axis=1) & ~is_changed
        self._numbers, self._similarities = numbers, similarities
        self.lists = Neighbours(self._numbers[:, : self._k], self._similarities[:, : self._k])

    def update(self, comparison: Comparison) -> int:
        """Bring the lists up to date; return how many passages were compared with all."""
        changed = np.flatnonzero(self._is_changed)
        ends = -np.inf if self._are_complete else self._similarities[:, self._width - 1]
        bounds = np.where(self._is_changed, np.inf, ends).astype(np.float32)
        due = self._merge(*comparison.reaching(changed, bounds))
        if len(due):
            self._put(due, comparison.nearest_of_groups(due, self._k))
        return len(due)

    def _put(self, passages: np.ndarray, lists: Neighbours) -> None:
        """Replace the lists of some passages."""
        self.lists.indices[passages] = self._passages.numbers[lists.indices]
        self.lists.similarities[passages] = lists.similarities

    def _merge(self, gained: Pairs, values: np.ndarray) -> np.ndarray:
        """Replace lists that gain or lose; return the passages to compare with all, ascending.

        Parameters
        ----------
        gained : pairs of a changed passage and one whose list it may enter.
        values : their similarities, `(n_pairs,)`.
        """
        is_touched, is_due = self._loses.copy(), self._is_changed.copy()
        is_touched[gained.columns] = True
        touched = np.flatnonzero(is_touched)
        listed = self._passages.find(self._numbers[touched, : self._width])
        listed[(listed >= 0) & self._is_changed[listed]] = -1
        similarities = self._similarities[touched, : self._width]
        row, column = np.nonzero(listed >= 0)
        rows = np.concatenate([row, np.searchsorted(touched, gained.columns)])
        order = np.argsort(rows, kind="stable")
        rows = rows[order]
        columns = np.concatenate([listed[row, column], gained.rows])[order]
        values = np.concatenate([similarities[row, column], values.astype(np.float32)])[order]
        is_certain = np.ones(len(touched), bool)
        if not self._are_complete:  # enough precede the end of the list, and so all not listed
            last, end = listed[rows, -1], similarities[rows, -1]  # last: -1 if it is gone
            precedes = (values > end) | ((values == end) & (columns <= last))
            is_certain = np.bincount(rows, precedes, len(touched)) >= self._k
        chosen, number = is_certain[rows], np.cumsum(is_certain) - 1
        pairs = Pairs(number[rows[chosen]], columns[chosen])
        certain, n = touched[is_certain], len(is_due)
        self._put(certain, best(pairs, values[chosen], len(certain), self._k, n))
        is_due[touched[~is_certain]] = True
        return np.flatnonzero(is_due)
