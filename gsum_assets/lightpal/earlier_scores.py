"""Context scores of the previous run, so that lists that have not changed are not scored again.

Their basis has a digest of every document's text. The id of a chunk is a hash of its text.
"""

from collections.abc import Mapping

import numpy as np
import pyarrow as pa

from gsum_assets.lightpal.earlier import is_as_before
from gsum_assets.lightpal.lists import CandidateLists, Lists, matrix_of, of_level
from gsum_assets.retrieval.collection import Collection
from gsum_resources.store.content_hash import hash_texts
from gsum_resources.store.earlier import Earlier

_COLUMNS = ("level", "passage_id", "candidates_hash", "scores")
_PASSAGES_AT_ONCE = 2**14  # copied at once


def known_scores(
    earlier: Earlier, lists: Lists, collection: Collection
) -> Mapping[str, np.ndarray]:
    """Return the stored scores that are still valid, float64 `(n, k)` by level; NaN: none."""
    stored = earlier.with_basis(_COLUMNS)
    if stored is None:
        return {}
    rows, basis = stored
    is_same = {
        "document": is_as_before(basis, text_digests_of(collection)),
        "node": np.ones(len(collection.chunk_ids), bool),
    }
    return {
        level: _known(of_level(rows, level), near, is_same[level]) for level, near in lists.items()
    }


def text_digests_of(collection: Collection) -> dict[str, str]:
    """Return a digest of the text of each document, from those of its chunks if they are known."""
    digests = collection.text_digests or [hash_texts([text]) for text in collection.document_texts]
    return dict(zip(collection.document_ids, digests, strict=True))


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
