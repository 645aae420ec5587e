"""Context scores of the previous run, so that lists that have not changed are not scored again.

Next to the table's file there is a digest of its scores, of the scorer and of every document's
text. The id of a chunk is a hash of its text.
"""

import hashlib
from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from gsum_assets.lightpal.lists import CandidateLists, Lists, indices_of, of_level
from gsum_assets.lightpal.notes import read_note, write_note
from gsum_assets.retrieval.collection import Collection
from gsum_assets.tables import TABLES
from gsum_resources.content_hash import hash_texts
from gsum_resources.parquet_store import ParquetStore, Partition

_TABLE = TABLES["lightpal.context_scores"]
_IDS = ("level", "passage_id", "candidate_id")
_NOTE = "scored.json"


def note_scores(
    store: ParquetStore, corpus: str, rows: pa.Table, collection: Collection, scorer: str
) -> None:
    """Store what `rows`, to be stored next, were computed from.

    Parameters
    ----------
    rows : rows of `lightpal.context_scores`.
    scorer : identity of the scorer.
    """
    record = {
        "scores": _digest(rows["score"]),
        "scorer": scorer,
        "documents": _digests(collection),
    }
    write_note(store, _TABLE, corpus, _NOTE, record)


def known_scores(
    store: ParquetStore, corpus: str, lists: Lists, collection: Collection, scorer: str
) -> Mapping[str, np.ndarray]:
    """Return the stored scores that are still valid, float64 `(n, k)` by level; NaN: none."""
    record = read_note(store, _TABLE, corpus, _NOTE)
    if record is None or record["scorer"] != scorer:
        return {}
    rows, _ = store.read(_TABLE, [Partition(corpus)], [*_IDS, "score"], as_dictionaries=_IDS)
    if _digest(rows["score"]) != record["scores"]:
        return {}
    before, now = record["documents"], _digests(collection)
    same = np.array([before.get(name) == digest for name, digest in now.items()], bool)
    is_same = {"document": same, "node": np.ones(len(collection.chunk_ids), bool)}
    return {
        level: _known(of_level(rows, level), one, is_same[level]) for level, one in lists.items()
    }


def _known(rows: pa.Table, lists: CandidateLists, is_same: np.ndarray) -> np.ndarray:
    """Return the scores of lists whose texts are the same and in the same order, `(n, k)`.

    Parameters
    ----------
    rows : earlier rows of a level, in stored order.
    is_same : whether each passage has the text that it had then.
    """
    n, k = lists.indices.shape
    known = np.full((n, k), np.nan)
    if not k or rows.num_rows % k:
        return known
    owners = indices_of(rows["passage_id"], lists.ids).reshape(-1, k)
    others = indices_of(rows["candidate_id"], lists.ids).reshape(-1, k)
    kept = np.flatnonzero((owners >= 0).all(axis=1) & (owners == owners[:, :1]).all(axis=1))
    owner = owners[kept, 0]
    is_equal = (others[kept] == lists.indices[owner]).all(axis=1)
    kept, owner = kept[is_equal], owner[is_equal]
    is_valid = is_same[owner] & is_same[lists.indices[owner]].all(axis=1)
    values = rows["score"].to_numpy().reshape(-1, k)
    known[owner[is_valid]] = values[kept[is_valid]]
    return known


def _digests(collection: Collection) -> dict[str, str]:
    """Return a digest of the text of each document."""
    ids, texts = collection.document_ids, collection.document_texts
    return {name: hash_texts([text]) for name, text in zip(ids, texts, strict=True)}


def _digest(scores: pa.ChunkedArray) -> str:
    digest: Any = hashlib.blake2b(digest_size=16)
    digest.update(np.ascontiguousarray(scores.to_numpy()))
    return digest.hexdigest()
