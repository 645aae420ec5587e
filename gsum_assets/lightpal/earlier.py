"""Candidates of the previous run, so that unchanged passages are not compared again.

Their basis has a digest of the compared chunks of each document.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from gsum_assets.graphs.nearest_again import Before, Lists
from gsum_assets.lightpal.lists import Numbered, matrix_of, of_level
from gsum_assets.pipeline.tables import TABLES
from gsum_assets.retrieval.collection import Collection
from gsum_resources.engine.threads import in_threads
from gsum_resources.store.arrow import pc
from gsum_resources.store.earlier import Earlier, read_basis
from gsum_resources.store.parquet_store import ParquetStore, Partition

_COLUMNS = ("level", "passage_id", "passage_number", "candidates", "similarities")
_RECALL = b"recall"
_NUMBERS_AT_ONCE = 2**16  # lists that are searched for removed passages at once


class Carried(NamedTuple):
    """Earlier lists by the passages of now, in their order.

    Attributes
    ----------
    before : the lists with indices of the passages of now.
    numbers : by level the numbers of the listed passages, int64 `(n, width)`; rows of passages that
        had no list are arbitrary.
    recall : measured recall of approximate neighbours; None: they are exact.
    """

    before: Before
    numbers: Mapping[str, np.ndarray]
    recall: float | None = None


def carried_lists(earlier: Earlier, collection: Collection) -> Carried | None:
    """Return the stored candidates that are still valid for `collection`; None without any."""
    stored = earlier.with_basis(_COLUMNS)
    if stored is None:
        return None
    rows, basis = stored
    is_fresh = ~is_as_before(basis, collection.digests)
    lengths = np.diff(collection.starts)
    documents = _lists(rows, "document", collection.document_ids, is_fresh)
    chunks = _lists(rows, "node", collection.chunk_ids, np.repeat(is_fresh, lengths))
    if documents is None or chunks is None:
        return None
    (of_documents, document_numbers), (of_chunks, chunk_numbers) = documents, chunks
    return Carried(
        Before(of_chunks, of_documents, np.flatnonzero(is_fresh)),
        {"document": document_numbers, "node": chunk_numbers},
        _recall_of(basis),
    )


def basis_of(digests: Mapping[str, str], recall: float | None = None) -> pa.Table:
    """Return the basis of rows that depend on the documents with these digests.

    Parameters
    ----------
    recall : measured recall of approximate neighbours; None: they are exact.
    """
    basis = pa.table({"document_id": list(digests), "digest": list(digests.values())})
    return basis if recall is None else basis.replace_schema_metadata({_RECALL: repr(recall)})


def is_as_before(basis: pa.Table, digests: Mapping[str, str]) -> np.ndarray:
    """Return whether each document has the digest that it has in a basis, `(n_documents,)`."""
    before = dict(zip(*(column.to_pylist() for column in basis.columns), strict=True))
    return np.array([before.get(name) == digest for name, digest in digests.items()], bool)


def read_recall(store: ParquetStore, corpus: str) -> float | None:
    """Return the measured recall of the stored candidates; None if they are exact."""
    table = TABLES["lightpal.candidates"]
    footer = store.provenance(table, Partition(corpus))
    basis = read_basis(store, table, corpus, footer.content_hash) if footer else None
    return _recall_of(basis) if basis else None


def _recall_of(basis: pa.Table) -> float | None:
    recall = basis.schema.metadata.get(_RECALL)
    return None if recall is None else float(recall)


def _lists(
    rows: pa.Table, level: str, ids: Sequence[str], is_fresh: np.ndarray
) -> tuple[Lists, np.ndarray] | None:
    """Return the lists of one level by the passages of now, and the numbers in them."""
    rows, passages = of_level(rows, level), Numbered(ids)
    if not rows.num_rows:
        return None
    owners = passages.indices_of(rows["passage_id"])
    is_known = owners >= 0
    is_gone = ~is_known
    is_gone[is_known] = is_fresh[owners[is_known]]
    gone = rows["passage_number"].to_numpy()[is_gone]
    numbers = _of_now(matrix_of(rows["candidates"]), owners, len(ids))
    similarities = _of_now(matrix_of(rows["similarities"]), owners, len(ids))
    has_list = np.zeros(len(ids), bool)
    has_list[owners[is_known]] = True

    def neighbours_of(items: np.ndarray) -> np.ndarray:
        neighbours = passages.find(numbers[items])
        neighbours[is_fresh[neighbours]] = -1  # -1 stays -1
        return neighbours

    loses = _have_any(numbers, gone) & has_list
    is_complete = numbers.shape[1] == rows.num_rows - 1
    return Lists(similarities, loses, neighbours_of, is_complete), numbers


def _of_now(values: np.ndarray, owners: np.ndarray, n: int) -> np.ndarray:
    """Return rows by the passages that own them, `(n, width)`; a negative owner is left out."""
    of_now = np.zeros((n, values.shape[1]), values.dtype)
    is_known = owners >= 0
    of_now[owners[is_known]] = values if is_known.all() else values[is_known]
    return of_now


def _have_any(numbers: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """Return which rows have one of the wanted numbers, `(n,)`."""
    has_any, values = np.zeros(len(numbers), bool), pa.array(wanted)

    def look(first: int) -> None:
        block = numbers[first : first + _NUMBERS_AT_ONCE]
        is_wanted = pc.is_in(pa.array(block.ravel()), value_set=values)
        has_any[first : first + len(block)] = is_wanted.to_numpy(False).reshape(block.shape).any(1)

    if len(wanted) and numbers.size:
        in_threads(look, range(0, len(numbers), _NUMBERS_AT_ONCE))
    return has_any
