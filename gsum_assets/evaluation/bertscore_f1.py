"""BERTScore F1 of answers against their references, remembered by their texts."""

from collections.abc import Callable, Sequence

import numpy as np

from gsum_assets.graphs.bertscore import ScoreMemo, bertscore
from gsum_resources.content_hash import hash_texts
from gsum_resources.token_embeddings import TokenEmbedder

_ALGORITHM = "bertscore-f1-1"  # raise it when scores of the same texts may differ: the memo stays
_BATCH = 256  # answers whose token vectors are in memory together: 100 MB of 256 tokens each
_DECIMALS = 6  # the last bits of a matrix product depend on the number of threads

Answered = tuple[str, Sequence[str]]  # an answer, and its references


def bertscore_f1(
    answered: Sequence[Answered],
    embedder: TokenEmbedder,
    memo: ScoreMemo,
    on_progress: Callable[[int, int], None] | None = None,
) -> np.ndarray:
    """F1 of each answer, the maximum over its references, float64 `(n_answers,)`.

    Equal to the `bert-score` package on the embedder's model, without rescaling. Of a longer text
    than the model takes the beginning counts.

    Parameters
    ----------
    answered : answers with at least one reference each.
    on_progress : called with (answers scored, answers to score) of those not remembered.
    """
    keys = [_key(embedder.identity, answer) for answer in answered]
    known = memo.get(keys)
    missing = {key: one for key, one in zip(keys, answered, strict=True) if key not in known}
    # answers of like length together: less padding
    pending = sorted(missing.items(), key=lambda item: len(item[1][0]))
    for start in range(0, len(pending), _BATCH):
        part = pending[start : start + _BATCH]
        scores = _scores([one for _, one in part], embedder)
        fresh = {key: score.tobytes() for (key, _), score in zip(part, scores, strict=True)}
        memo.put(fresh)
        known.update(fresh)
        if on_progress:
            on_progress(start + len(part), len(pending))
    return np.array([np.frombuffer(known[key])[0] for key in keys])


def _key(model: str, answer: Answered) -> bytes:
    return bytes.fromhex(hash_texts([_ALGORITHM, model, answer[0], *answer[1]]))


def _scores(answered: Sequence[Answered], embedder: TokenEmbedder) -> np.ndarray:
    texts = list(dict.fromkeys(t for answer, references in answered for t in (answer, *references)))
    vectors = dict(zip(texts, embedder.embed_tokens(texts), strict=True))
    best = [
        bertscore([vectors[r] for r in references], [vectors[answer]]).f1.max()
        for answer, references in answered
    ]
    return np.round(np.array(best, dtype=np.float64), _DECIMALS)
