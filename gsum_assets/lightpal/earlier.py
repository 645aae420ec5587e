"""Candidates that were found before, and of which texts: what need not be compared again.

Beside the table's file lies a list of its documents, each with a digest of what was compared of it.
The list may be missing or speak of another file; then all is compared.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from gsum_assets.graphs.nearest import Neighbours
from gsum_assets.graphs.nearest_again import Before, Lists
from gsum_assets.lightpal.lists import places
from gsum_assets.retrieval.collection import Collection
from gsum_assets.tables import TABLES
from gsum_resources.arrow import pc
from gsum_resources.content_hash import content_hash
from gsum_resources.parquet_store import FILE_NAME, ParquetStore, Partition

_TABLE = TABLES["lightpal.candidates"]
_LIST = "compared.json"


@dataclass(frozen=True)
class Earlier:
    """Candidates and what they are of.

    Attributes
    ----------
    rows : `level`, `passage_id`, `candidate_id` and `similarity`, as they were written; ids may be
        dictionaries.
    digests : of every document that had a chunk.
    """

    rows: pa.Table
    digests: Mapping[str, str]

    def before(self, collection: Collection) -> Before | None:
        """What still can be said of the passages that there are now; None: nothing."""
        if not self.rows.num_rows:
            return None
        now = digests(collection)
        is_fresh = np.array([self.digests.get(name) != digest for name, digest in now.items()])
        lengths = np.diff(collection.starts)
        documents = _lists(self.rows, "document", collection.document_ids, is_fresh)
        chunks = _lists(self.rows, "node", collection.chunk_ids, np.repeat(is_fresh, lengths))
        if documents is None or chunks is None:
            return None
        return Before(chunks, documents, np.flatnonzero(is_fresh))


def digests(collection: Collection) -> dict[str, str]:
    """Of each document's chunks and their vectors."""
    assert collection.embeddings is not None
    found = {}
    for place, document_id in enumerate(collection.document_ids):
        chunks = slice(*collection.starts[place : place + 2])
        digest = hashlib.blake2b("\0".join(collection.chunk_ids[chunks]).encode(), digest_size=16)
        digest.update(collection.embeddings[chunks].tobytes())
        found[document_id] = digest.hexdigest()
    return found


def read_earlier(store: ParquetStore, corpus: str) -> Earlier | None:
    """What the store has of a corpus."""
    partition = Partition(corpus)
    known = store.provenance(_TABLE, partition)
    try:
        told = json.loads(store.fs.cat_file(_list_path(store, corpus)))
    except FileNotFoundError:
        return None
    if known is None or told["rows"] != known.content_hash:
        return None
    ids = ("level", "passage_id", "candidate_id")
    rows, hashes = store.read(_TABLE, [partition], [*ids, "similarity"], as_dictionaries=ids)
    return Earlier(rows, told["documents"]) if hashes.get(partition) == told["rows"] else None


def note(store: ParquetStore, corpus: str, rows: pa.Table, collection: Collection) -> None:
    """Leave word of what `rows`, which are about to be stored, were found in."""
    told = {"rows": content_hash(rows, _TABLE.measured), "documents": digests(collection)}
    store.replace_file(_list_path(store, corpus), json.dumps(told).encode())


def _list_path(store: ParquetStore, corpus: str) -> str:
    return store.path(_TABLE, Partition(corpus)).removesuffix(FILE_NAME) + _LIST


def _lists(rows: pa.Table, level: str, ids: Sequence[str], is_fresh: np.ndarray) -> Lists | None:
    """Return the lists of one level, by the places that passages have now."""
    rows = rows.filter(pc.equal(rows["level"], level))
    owners, others = (places(rows[name], ids) for name in ("passage_id", "candidate_id"))
    n_then = len(pc.unique(rows["passage_id"]))
    if not n_then or rows.num_rows % n_then:
        return None
    width = rows.num_rows // n_then
    others = np.where(is_fresh[others], -1, others).reshape(n_then, width)  # -1 stays what it is
    values = rows["similarity"].to_numpy().reshape(n_then, width)
    known = owners[::width] >= 0
    kept = owners[::width][known]
    indices = np.full((len(ids), width), -1, np.int32)
    similarities = np.zeros((len(ids), width), np.float32)
    indices[kept], similarities[kept] = others[known], values[known]
    return Lists(Neighbours(indices, similarities), width == n_then - 1)
