"""`MemoizedScorer`: asks a scorer for nothing that it, or another process, was told before."""

import threading
from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass, field
from itertools import chain, compress

import numpy as np

from gsum_resources.content_hash import framed_text, hash_framed, hash_texts
from gsum_resources.embedding_ledger import Batch, Meter, OnBatch
from gsum_resources.memo import Memo
from gsum_resources.parquet_store import ParquetStore
from gsum_resources.protocols import OnRow, PassageScorer

_SAVE_EVERY_S = 10.0  # besides rows under way, all that a killed run loses


class MemoizedScorer:
    """A `PassageScorer` that scores each pair once, or each row where pairs cannot stand alone.

    The memo holds float64, so that what was remembered equals what was computed to the last bit.
    A pair without a score (NaN), and a row with such a pair, are not remembered.

    Attributes
    ----------
    n_scored, n_remembered : pairs that the scorer within gave a score, and the memo.
    """

    def __init__(self, scorer: PassageScorer, store: ParquetStore) -> None:
        self._scorer = scorer
        self._on_progress: Callable[[int, int], None] = lambda done, total: None
        self._on_batch: OnBatch = lambda batch: None
        self._on_failure: Callable[[str], None] = lambda document_id: None
        self._memo = Memo(store, "context_scores", scorer.identity)
        self.n_scored = self.n_remembered = 0

    @property
    def identity(self) -> str:
        """That of the scorer within."""
        return self._scorer.identity

    @property
    def is_pairwise(self) -> bool:
        """That of the scorer within."""
        return self._scorer.is_pairwise

    def reporting(
        self,
        on_progress: Callable[[int, int], None],
        on_batch: OnBatch,
        on_failure: Callable[[str], None],
    ) -> "MemoizedScorer":
        """Return the same scorer and memo, counting anew.

        Parameters
        ----------
        on_progress : hears how many passages with new pairs are done, and of how many.
        on_batch : hears what each batch of new pairs took; its `n_texts` are pairs.
        on_failure : hears "", which stands for the corpus, for each pair that got no score.
        """
        told = copy(self)
        told._on_progress, told._on_batch, told._on_failure = on_progress, on_batch, on_failure
        told.n_scored = told.n_remembered = 0
        return told

    def score(
        self,
        contexts: Sequence[str],
        candidates: Sequence[Sequence[str]],
        on_row: OnRow | None = None,
    ) -> list[np.ndarray]:
        """Return the scores in nats per token, float64 `(n_candidates,)` a context; NaN where there is
        none.

        Raises
        ------
        ModelUnavailableError
            If the scorer within does. What it told before is remembered.
        """
        keys = self._keys(contexts, candidates)
        values = self._memo.get(key for row in keys for key in row)
        for row_keys, texts in zip(keys, candidates, strict=True):
            pairs = 1 if self.is_pairwise else len(texts)
            self.n_remembered += pairs * sum(key in values for key in row_keys)
        asks = self._asks(contexts, candidates, keys, values)

        def tell(row: int) -> None:
            if on_row:
                on_row(row, _joined(keys[row], values))

        for row in sorted(set(range(len(keys))) - {row for ask in asks for row in ask.rows}):
            tell(row)
        if asks:
            self._ask(asks, values, tell)
        return [_joined(row_keys, values) for row_keys in keys]

    def _keys(
        self, contexts: Sequence[str], candidates: Sequence[Sequence[str]]
    ) -> list[list[bytes]]:
        """Return the keys of each row: one a pair, or one for the row as a whole."""
        framed: dict[str, bytes] = {}  # a text stands in many rows
        for text in chain(contexts, chain.from_iterable(candidates)):
            if text not in framed:
                framed[text] = framed_text(hash_texts([text]))
        keys = []
        for context, row in zip(contexts, candidates, strict=True):
            head, of_row = framed[context], [framed[text] for text in row]
            if self.is_pairwise:
                keys.append([hash_framed(head + one) for one in of_row])
            else:
                keys.append([hash_framed(head + b"".join(of_row))] if of_row else [])
        return keys

    def _asks(
        self,
        contexts: Sequence[str],
        candidates: Sequence[Sequence[str]],
        keys: list[list[bytes]],
        values: dict[bytes, bytes],
    ) -> "list[_Ask]":
        """What is still to be asked, each pair or row once."""
        asks: dict[str | bytes, _Ask] = {}
        for row, (context, texts) in enumerate(zip(contexts, candidates, strict=True)):
            missing = [place for place, key in enumerate(keys[row]) if key not in values]
            if not missing:
                continue
            ask = asks.setdefault(context if self.is_pairwise else keys[row][0], _Ask(context))
            ask.rows.append(row)
            for place in missing:
                ask.candidates[keys[row][place]] = [texts[place]] if self.is_pairwise else texts
        return list(asks.values())

    def _ask(
        self, asks: "list[_Ask]", values: dict[bytes, bytes], tell: Callable[[int], None]
    ) -> None:
        """Put the scorer's answers into `values` and, as they come, into the memo."""
        unsaved = _Unsaved(self._scorer)
        lock = threading.Lock()
        heard = 0

        def hear(nth: int, scores: np.ndarray) -> None:
            nonlocal heard
            with lock:
                values.update(unsaved.add(asks[nth], scores))
                n_missing = int(np.isnan(scores).sum())
                self.n_scored += len(scores) - n_missing
                for _ in range(n_missing):
                    self._on_failure("")
                if unsaved.meter.seconds >= _SAVE_EVERY_S:
                    self._save(unsaved)
                heard += 1
                self._on_progress(heard, len(asks))
                for row in asks[nth].rows:
                    tell(row)

        texts = [[text for part in ask.candidates.values() for text in part] for ask in asks]
        try:
            self._scorer.score([ask.context for ask in asks], texts, hear)
        finally:
            self._save(unsaved)

    def _save(self, unsaved: "_Unsaved") -> None:
        values, batch = unsaved.take()
        self._memo.put(values)
        if batch.n_texts:
            self._on_batch(batch)


@dataclass
class _Ask:
    """What is still to be asked about one passage.

    Attributes
    ----------
    rows : that wait for it; more than one where passages are alike.
    candidates : texts by key; of a scorer of whole rows, all of them under one.
    """

    context: str
    rows: list[int] = field(default_factory=list)
    candidates: dict[bytes, Sequence[str]] = field(default_factory=dict)


class _Unsaved:
    """Scores that are not in the memo yet, and what they took."""

    def __init__(self, scorer: PassageScorer) -> None:
        self._scorer = scorer
        self._begin()

    def _begin(self) -> None:
        self._values: dict[bytes, bytes] = {}
        self._n_pairs = 0
        self.meter = Meter(self._scorer)

    def add(self, ask: _Ask, scores: np.ndarray) -> dict[bytes, bytes]:
        """Return the values of all keys of an ask; those without a NaN will be taken."""
        ends = np.cumsum([len(texts) for texts in ask.candidates.values()])[:-1]
        parts = np.split(np.asarray(scores, np.float64), ends)
        values = {key: part.tobytes() for key, part in zip(ask.candidates, parts, strict=True)}
        self._n_pairs += len(scores)
        complete = [not np.isnan(part).any() for part in parts]
        self._values |= dict(compress(values.items(), complete))
        return values

    def take(self) -> tuple[dict[bytes, bytes], Batch]:
        """What is to be remembered, and what it took; empties this."""
        taken = self._values, self.meter.batch(self._n_pairs)
        self._begin()
        return taken


def _joined(keys: Sequence[bytes], values: dict[bytes, bytes]) -> np.ndarray:
    """Return the scores of a row, `(n_candidates,)`."""
    return np.frombuffer(b"".join(values[key] for key in keys), np.float64).copy()
