"""`MemoizedScorer`: scores only pairs that this or another process has not scored before."""

from collections.abc import Callable, Mapping, Sequence
from copy import copy
from functools import cache, partial
from itertools import chain

import numpy as np

from gsum_resources.embedding.memoized import Meter, OnBatch
from gsum_resources.engine.blocks import LOCAL, Engine, Movable
from gsum_resources.protocols.models import OnRow, PassageScorer
from gsum_resources.store.content_hash import framed_text, hash_framed, hash_texts
from gsum_resources.store.memo import Memo
from gsum_resources.store.parquet_store import ParquetStore

_SAVE_EVERY_S = 10.0  # a killed run loses at most this, besides rows in progress
_ROWS_PER_THREAD = 4  # of a block: passages with their candidates, seconds of work each

_Pending = tuple[str, dict[bytes, Sequence[str]]]
"""A passage with the texts that are scored together and have no score yet, by key."""


class MemoizedScorer:
    """A `PassageScorer` that scores each pair once, or each row if pairs depend on each other.

    The memo stores float64, so that memoized scores equal computed ones to the last bit. A pair
    without a score (NaN), and a row with such a pair, are not stored.

    `engine` scores the blocks of new pairs, if the scorer is `Movable`. Attribute `n_scored`:
    number of pairs scored by the wrapped scorer.
    """

    def __init__(self, scorer: PassageScorer, store: ParquetStore, engine: Engine = LOCAL) -> None:
        self._scorer = scorer
        self._engine = engine
        self._on_progress: Callable[[int, int], None] = lambda done, total: None
        self._on_batch: OnBatch = lambda batch: None
        self._on_failure: Callable[[str], None] = lambda document_id: None
        self._memo = Memo(store, "context_scores", scorer.identity)
        self.n_scored = 0

    @property
    def identity(self) -> str:
        """Identity of the wrapped scorer."""
        return self._scorer.identity

    @property
    def is_pairwise(self) -> bool:
        """Whether the wrapped scorer is pairwise."""
        return self._scorer.is_pairwise

    def reporting(
        self,
        on_progress: Callable[[int, int], None],
        on_batch: OnBatch,
        on_failure: Callable[[str], None],
    ) -> "MemoizedScorer":
        """Return a copy with callbacks and a count from zero that shares the scorer and the memo.

        `on_progress` is called with the number of passages scored, and of those with new pairs;
        `on_batch` with the cost of each batch of new pairs; `on_failure` with "" for each pair
        without a score.
        """
        scorer = copy(self)
        scorer._on_progress, scorer._on_batch = on_progress, on_batch
        scorer._on_failure = on_failure
        scorer.n_scored = 0
        return scorer

    def score(
        self, contexts: Sequence[str], candidates: Sequence[Sequence[str]]
    ) -> list[np.ndarray]:
        """Return scores in nats per token, `(n_candidates,)` per context; NaN if missing."""
        groups = [
            [[text] for text in row] if self.is_pairwise else [row] * bool(row)
            for row in candidates
        ]
        keys = _keys(contexts, groups)
        values = self._memo.get(key for row in keys for key in row)
        if pending := self._pending(contexts, groups, keys, values):
            self._score_pending(pending, values)
        joined = (b"".join(values[key] for key in of_row) for of_row in keys)
        return [np.frombuffer(scores, np.float64).copy() for scores in joined]

    def _pending(
        self,
        contexts: Sequence[str],
        groups: Sequence[Sequence[Sequence[str]]],
        keys: Sequence[Sequence[bytes]],
        values: Mapping[bytes, bytes],
    ) -> list[_Pending]:
        """Return the missing groups, each once; pairs of one passage together."""
        pending: dict[str | bytes, _Pending] = {}
        for context, of_row, its_keys in zip(contexts, groups, keys, strict=True):
            each = zip(its_keys, of_row, strict=True)
            if missing := {key: group for key, group in each if key not in values}:
                together = context if self.is_pairwise else its_keys[0]
                pending.setdefault(together, (context, {}))[1].update(missing)
        return list(pending.values())

    def _score_pending(self, pending: list[_Pending], values: dict[bytes, bytes]) -> None:
        """Score what is missing; store results in `values` and, as they arrive, in the memo."""
        unsaved: dict[bytes, bytes] = {}
        meter, n_pairs, n_done = Meter(self._scorer), 0, 0  # since the last time they were saved

        def save() -> None:
            nonlocal meter, n_pairs
            self._memo.put(unsaved)
            unsaved.clear()
            if n_pairs:
                self._on_batch(meter.batch(n_pairs))
            meter, n_pairs = Meter(self._scorer), 0

        def on_scores(nth: int, scores: np.ndarray) -> None:
            nonlocal n_pairs, n_done
            _, groups = pending[nth]
            ends = np.cumsum([len(texts) for texts in groups.values()])[:-1]
            for key, of_key in zip(groups, np.split(scores.astype(np.float64), ends), strict=True):
                values[key] = of_key.tobytes()
                if not np.isnan(of_key).any():
                    unsaved[key] = values[key]
            n_missing = int(np.isnan(scores).sum())
            for _ in range(n_missing):
                self._on_failure("")
            self.n_scored += len(scores) - n_missing
            n_pairs += len(scores)
            n_done += 1
            if meter.seconds >= _SAVE_EVERY_S:
                save()
            self._on_progress(n_done, len(pending))

        texts = [[text for group in groups.values() for text in group] for _, groups in pending]
        try:
            self._score([context for context, _ in pending], texts, on_scores)
        finally:
            save()

    def _score(
        self, contexts: Sequence[str], candidates: Sequence[Sequence[str]], on_row: OnRow
    ) -> None:
        """Score rows by the engine where that is possible; call `on_row` with each."""
        if not (self._engine.spreads and isinstance(self._scorer, Movable)):
            self._scorer.score(contexts, candidates, on_row)
            return
        threads = self._engine.threads
        size = _ROWS_PER_THREAD * (threads or 1)
        starts = range(0, len(contexts), size)
        scores = self._engine.map_blocks(
            partial(_score_of, self._scorer.unloaded(threads)),
            ((contexts[i : i + size], candidates[i : i + size]) for i in starts),
            step="passages scored",
            model=self.identity,
        )
        for row, values in enumerate(chain.from_iterable(scores)):
            on_row(row, values)


def _keys(contexts: Sequence[str], groups: Sequence[Sequence[Sequence[str]]]) -> list[list[bytes]]:
    """Return the key of each group of candidates that are scored together, row by row."""
    framed = cache(lambda text: framed_text(hash_texts([text])))  # a text occurs in many rows
    return [
        [hash_framed(framed(context) + b"".join(map(framed, group))) for group in row]
        for context, row in zip(contexts, groups, strict=True)
    ]


def _score_of(
    scorer: PassageScorer,
) -> Callable[[tuple[Sequence[str], Sequence[Sequence[str]]]], list[np.ndarray]]:
    """Return the function that scores a block: contexts, and the candidates of each."""
    return lambda block: scorer.score(*block)
