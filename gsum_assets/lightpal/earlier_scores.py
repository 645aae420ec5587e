"""Context scores of the previous run, so that lists that have not changed are not scored again.

Next to the table's file there is its content hash, the scorer and a digest of every document's
text. The id of a chunk is a hash of its text.
"""

from collections.abc import Mapping

import numpy as np
import pyarrow as pa

from gsum_assets.lightpal.lists import CandidateLists, Lists, matrix_of, of_level
from gsum_assets.lightpal.notes import read_note, write_note
from gsum_assets.pipeline.tables import TABLES
from gsum_assets.retrieval.collection import Collection
from gsum_resources.store.content_hash import content_hash, hash_texts
from gsum_resources.store.parquet_store import ParquetStore, Partition

_TABLE = TABLES["lightpal.context_scores"]
_COLUMNS = ("level", "passage_id", "candidates_hash", "scores")
_NOTE = "scored.json"
_PASSAGES_AT_ONCE = 2**14  # copied at once


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
        "rows": content_hash(rows, _TABLE.measured),
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
    rows, hashes = store.read(_TABLE, [Partition(corpus)], _COLUMNS)
    if hashes.get(Partition(corpus)) != record.get("rows"):
        return {}  # of another file, or of an older gsum
    before, now = record["documents"], _digests(collection)
    same = np.array([before.get(name) == digest for name, digest in now.items()], bool)
    is_same = {"document": same, "node": np.ones(len(collection.chunk_ids), bool)}
    return {
        level: _known(of_level(rows, level), near, is_same[level]) for level, near in lists.items()
    }


def _known(rows: pa.Table, lists: CandidateLists, is_same: np.ndarray) -> np.ndarray:
    """Return the scores of lists whose texts are the same and in the same order, `(n, k)`.

    Parameters
    ----------
    rows : earlier rows of a level.
    is_same : whether each passage has the text that it had then.
    """
    scores_of_now = np.full(lists.numbers.shape, np.nan)
    scores, owners = matrix_of(rows["scores"]), lists.passages.indices_of(rows["passage_id"])
    if scores.shape[1] != scores_of_now.shape[1]:
        return scores_of_now
    valid = np.flatnonzero(owners >= 0)
    valid = valid[rows["candidates_hash"].to_numpy()[valid] == lists.hashes[owners[valid]]]
    if not is_same.all():
        valid = valid[is_same[owners[valid]]]
        valid = valid[is_same[lists.indices(owners[valid])].all(axis=1)]
    for first in range(0, len(valid), _PASSAGES_AT_ONCE):
        block = valid[first : first + _PASSAGES_AT_ONCE]
        scores_of_now[owners[block]] = scores[block]
    return scores_of_now


def _digests(collection: Collection) -> dict[str, str]:
    """Return a digest of the text of each document, from those of its chunks if they are known."""
    digests = collection.text_digests or [hash_texts([text]) for text in collection.document_texts]
    return dict(zip(collection.document_ids, digests, strict=True))
