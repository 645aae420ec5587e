"""Candidates of the previous run, so that unchanged passages are not compared again.

Next to the table's file there is a list of its documents with a digest of the compared chunks of
each. If the list is missing or belongs to another file, all passages are compared.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from gsum_assets.graphs.nearest_again import Before, Lists
from gsum_assets.lightpal.lists import Numbered, matrix_of, of_level
from gsum_assets.lightpal.notes import read_note, write_note
from gsum_assets.pipeline.tables import TABLES
from gsum_assets.retrieval.collection import Collection
from gsum_resources.engine.threads import in_threads
from gsum_resources.store.arrow import pc
from gsum_resources.store.content_hash import content_hash
from gsum_resources.store.parquet_store import ParquetStore, Partition

_TABLE = TABLES["lightpal.candidates"]
_LIST = "compared.json"
_COLUMNS = ("level", "passage_id", "passage_number", "candidates", "similarities")
_NUMBERS_AT_ONCE = 2**16  # lists that are searched for removed passages at once


class Carried(NamedTuple):
    """Earlier lists by the passages of now, in their order.

    Attributes
    ----------
    before : the lists with indices of the passages of now.
    numbers : by level the numbers of the listed passages, int64 `(n, width)`; rows of passages that
        had no list are arbitrary.
    """

    before: Before
    numbers: Mapping[str, np.ndarray]


@dataclass(frozen=True)
class Earlier:
    """Candidates, and digests of the documents that they were computed from.

    Attributes
    ----------
    rows : `level`, `passage_id`, `passage_number`, `candidates` and `similarities`.
    digests : digest of every document that had a chunk.
    recall : measured recall of approximate neighbours; None: they are exact.
    """

    rows: pa.Table
    digests: Mapping[str, str]
    recall: float | None = None

    def carried(self, collection: Collection) -> Carried | None:
        """Return the candidates that are still valid for `collection`; None if there are none."""
        if not self.rows.num_rows:
            return None
        now = collection.digests
        is_fresh = np.array([self.digests.get(name) != digest for name, digest in now.items()])
        lengths = np.diff(collection.starts)
        documents = _lists(self.rows, "document", collection.document_ids, is_fresh)
        chunks = _lists(self.rows, "node", collection.chunk_ids, np.repeat(is_fresh, lengths))
        if documents is None or chunks is None:
            return None
        (of_documents, document_numbers), (of_chunks, chunk_numbers) = documents, chunks
        return Carried(
            Before(of_chunks, of_documents, np.flatnonzero(is_fresh)),
            {"document": document_numbers, "node": chunk_numbers},
        )


def read_earlier(store: ParquetStore, corpus: str) -> Earlier | None:
    """Return the stored candidates of a corpus; None if they cannot be reused."""
    partition = Partition(corpus)
    record = _read_note(store, corpus)
    if record is None:
        return None
    rows, hashes = store.read(_TABLE, [partition], _COLUMNS)
    is_known = hashes.get(partition) == record["rows"] and "candidates" in rows.column_names
    if not is_known:  # or of an older gsum
        return None
    return Earlier(rows, record["documents"], record.get("recall"))


def note(
    store: ParquetStore,
    corpus: str,
    rows: pa.Table,
    collection: Collection,
    recall: float | None = None,
) -> None:
    """Store the digests of the documents from which `rows`, to be stored next, were computed.

    Parameters
    ----------
    recall : measured recall of approximate neighbours; None: they are exact.
    """
    record = {"rows": content_hash(rows, _TABLE.measured), "documents": collection.digests}
    if recall is not None:
        record["recall"] = recall
    write_note(store, _TABLE, corpus, _LIST, record)


def read_recall(store: ParquetStore, corpus: str) -> float | None:
    """Return the measured recall of the stored candidates; None if they are exact."""
    return (_read_note(store, corpus) or {}).get("recall")


def _read_note(store: ParquetStore, corpus: str) -> dict[str, Any] | None:
    """Return what was noted of the stored candidates; None if nothing was."""
    known = store.provenance(_TABLE, Partition(corpus))
    record = read_note(store, _TABLE, corpus, _LIST)
    return record if known and record and record["rows"] == known.content_hash else None


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
