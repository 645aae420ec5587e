"""BERTScore F1 of answers, equal to that of the `bert-score` package, with a memo by text."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from gsum_assets.graphs.bertscore import bertscore
from gsum_resources.embedding.model_files import PACKAGED
from gsum_resources.embedding.processor import torch_threads
from gsum_resources.embedding.token_embeddings import LocalTokenEmbedder, TokenVectors
from gsum_resources.store.content_hash import hash_texts
from gsum_resources.store.locked_property import locked_property
from gsum_resources.store.memo import Memo

_ALGORITHM = "bertscore-f1-4"  # increase it when scores of the same texts may change
_BATCH = 128  # answers embedded together, between two notes of progress; their vectors take 50 MB
_KEPT = 2**29  # bytes of references' vectors, kept for all methods: of 1,000 long ones
_DECIMALS = 5  # the last bits of a matrix product depend on the number of threads

Answered = tuple[str, Sequence[str]]  # an answer, and its references


@dataclass(frozen=True)
class LocalBertScorer:
    """BERTScore without idf weights and without rescaling, as `bert-score` with `batch_size=1`.

    Attributes
    ----------
    model : "packaged" (all-MiniLM-L6-v2), a folder, or an id on the Hugging Face hub.
    layer : layer of the output, from 1, the package's `num_layers`; None is the last.
    device : "auto" uses the GPU if there is one.
    threads : of torch; None: the physical cores.
    """

    model: str = PACKAGED
    layer: int | None = None
    device: Literal["auto", "cpu", "cuda"] = "auto"
    threads: int | None = None
    _kept: dict[str, TokenVectors] = field(default_factory=dict, init=False, compare=False)

    @locked_property
    def _embedder(self) -> LocalTokenEmbedder:
        return LocalTokenEmbedder(self.model, self.layer, self.device, self.threads)

    @property
    def identity(self) -> str:
        """Name of everything that determines the scores: weights and layer, not the device."""
        return self._embedder.identity

    def best_f1(self, answered: Sequence[Answered]) -> np.ndarray:
        """Return F1 of each answer and its most similar reference, `(n_answers,)`.

        Texts are truncated to the model's maximum length; a blank one has 0.

        Raises
        ------
        ValueError
            If the model has no such layer.
        ModelNotFoundError
            If the model is neither a folder nor on the hub.
        """
        references = self._references({text: None for _, texts in answered for text in texts})
        answers = self._embedder.embed_tokens([answer for answer, _ in answered])
        with torch_threads(1):  # the products of one pair are small
            return np.array(
                [
                    bertscore([references[text] for text in texts], [answer]).f1.max()
                    for answer, (_, texts) in zip(answers, answered, strict=True)
                ],
                np.float64,
            )

    def _references(self, texts: dict[str, None]) -> dict[str, TokenVectors]:
        """Return vectors by text; those of the first texts, up to `_KEPT`, are computed once."""
        fresh = [text for text in texts if text not in self._kept]
        vectors = dict(zip(fresh, self._embedder.embed_tokens(fresh), strict=True))
        known = self._kept | vectors
        if sum(kept.vectors.nbytes for kept in known.values()) <= _KEPT:
            self._kept.update(vectors)
        return known


def bertscore_f1(
    answered: Sequence[Answered],
    scorer: LocalBertScorer,
    memo: Memo,
    on_progress: Callable[[int, int], None],
) -> np.ndarray:
    """Return F1 of each answer, the maximum over its references, float64 `(n_answers,)`.

    Parameters `answered`: answers with at least one reference each; `on_progress`: called with
    (answers scored, answers to score), without those in the memo.
    """
    keys = [
        bytes.fromhex(hash_texts([_ALGORITHM, scorer.identity, answer[0], *answer[1]]))
        for answer in answered
    ]
    known = memo.get(keys)
    missing = {key: answer for key, answer in zip(keys, answered, strict=True) if key not in known}
    pending = list(missing.items())
    for start in range(0, len(pending), _BATCH):
        batch = pending[start : start + _BATCH]
        scores = np.round(scorer.best_f1([answer for _, answer in batch]), _DECIMALS)
        fresh = {key: score.tobytes() for (key, _), score in zip(batch, scores, strict=True)}
        memo.put(fresh)
        known.update(fresh)
        on_progress(start + len(batch), len(pending))
    return np.array([np.frombuffer(known[key])[0] for key in keys])
