"""Candidates of the previous run, so that unchanged passages are not compared again.

Next to the table's file there is a list of its documents with a digest of the compared chunks of
each. If the list is missing or belongs to another file, all passages are compared.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from gsum_assets.graphs.nearest import Neighbours
from gsum_assets.graphs.nearest_again import Before, Lists
from gsum_assets.lightpal.lists import Numbered, matrix_of, of_level
from gsum_assets.lightpal.notes import read_note, write_note
from gsum_assets.retrieval.collection import Collection
from gsum_assets.tables import TABLES
from gsum_resources.content_hash import content_hash
from gsum_resources.parquet_store import ParquetStore, Partition

_TABLE = TABLES["lightpal.candidates"]
_LIST = "compared.json"
_COLUMNS = ("level", "passage_id", "candidates", "similarities")


@dataclass(frozen=True)
class Earlier:
    """Candidates, and digests of the documents that they were computed from.

    Attributes
    ----------
    rows : `level`, `passage_id`, `candidates` and `similarities`.
    digests : digest of every document that had a chunk.
    """

    rows: pa.Table
    digests: Mapping[str, str]

    def before(self, collection: Collection) -> Before | None:
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
        return Before(chunks, documents, np.flatnonzero(is_fresh))


def read_earlier(store: ParquetStore, corpus: str) -> Earlier | None:
    """Return the stored candidates of a corpus; None if they cannot be reused."""
    partition = Partition(corpus)
    record = _read_note(store, corpus)
    if record is None:
        return None
    rows, hashes = store.read(_TABLE, [partition], _COLUMNS)
    is_known = hashes.get(partition) == record["rows"] and "candidates" in rows.column_names
    return Earlier(rows, record["documents"]) if is_known else None  # or of an older gsum


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


def _lists(rows: pa.Table, level: str, ids: Sequence[str], is_fresh: np.ndarray) -> Lists | None:
    """Return the lists of one level, by the current indices of passages."""
    rows, passages = of_level(rows, level), Numbered(ids)
    if not rows.num_rows:
        return None
    owners = passages.indices_of(rows["passage_id"])
    known = slice(None) if (owners >= 0).all() else owners >= 0  # a slice copies nothing
    others = passages.find(matrix_of(rows["candidates"]))
    others[is_fresh[others]] = -1  # -1 stays -1
    width = others.shape[1]
    indices = np.full((len(ids), width), -1, np.int32)
    similarities = np.zeros((len(ids), width), np.float32)
    indices[owners[known]] = others[known]
    similarities[owners[known]] = matrix_of(rows["similarities"])[known]
    return Lists(Neighbours(indices, similarities), width == rows.num_rows - 1)
