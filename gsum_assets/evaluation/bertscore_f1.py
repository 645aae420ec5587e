"""BERTScore F1 of answers by the `bert-score` package, remembered by their texts."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Protocol

import numpy as np

from gsum_assets.graphs.bertscore import ScoreMemo
from gsum_resources.content_hash import hash_texts
from gsum_resources.embedding.encoder import resolve_device, without_progress_bars
from gsum_resources.embedding.model_files import (
    PACKAGED,
    model_folder,
    read_json,
    transformer_folder,
)
from gsum_resources.embedding.processor import torch_threads
from gsum_resources.token_embeddings import LocalTokenEmbedder

if TYPE_CHECKING:
    from bert_score import BERTScorer

_ALGORITHM = "bertscore-f1-2"  # raise it when scores of the same texts may differ: the memo stays
_BATCH = 256  # answers whose token vectors are in memory together: 100 MB of 256 tokens each
_DECIMALS = 6  # the last bits of a matrix product depend on the number of threads

Answered = tuple[str, Sequence[str]]  # an answer, and its references


class PairScorer(Protocol):
    """Compares texts; `PackageScorer` is one."""

    @property
    def identity(self) -> str:
        """What distinguishes this scorer's F1: weights, layer."""
        ...

    def f1(self, pairs: Sequence[tuple[str, str]]) -> np.ndarray:
        """BERTScore F1 of each answer and reference, `(n_pairs,)`."""
        ...


@dataclass(frozen=True)
class PackageScorer:
    """The `bert-score` package without idf weights and without rescaling.

    Every pair is a batch of its own: in larger ones the padding takes part in each maximum, so
    that a score depended on the texts beside it, by 7.5e-5 on 200 answers, and no time was saved.

    Attributes
    ----------
    model : "packaged" (all-MiniLM-L6-v2), a folder, or an id on the Hugging Face hub.
    layer : whose output is taken, from 1, the package's `num_layers`; None is the last.
    device : "auto" takes the GPU where there is one.
    threads : of torch on the processor. A pair is a small product: on a busy machine, threads that
        wait for one another took ten times as long.
    """

    model: str = PACKAGED
    layer: int | None = None
    device: str = "auto"
    threads: int = 1

    @property
    def identity(self) -> str:
        """What distinguishes the scores: weights and layer, not where they are computed."""
        return LocalTokenEmbedder(self.model, self.layer).identity

    def f1(self, pairs: Sequence[tuple[str, str]]) -> np.ndarray:
        """BERTScore F1 of each answer and reference, `(n_pairs,)`; 0 where one is blank.

        Of a longer text than the model takes the beginning counts.

        Raises
        ------
        ValueError
            If the model has no such layer, or the package would take it for another architecture.
        ModelNotFoundError
            If the model is neither a folder nor on the hub.
        """
        scores = np.zeros(len(pairs))
        # the package refuses blank texts
        full = [i for i, texts in enumerate(pairs) if all(text.strip() for text in texts)]
        if full:
            answers, references = map(list, zip(*(pairs[i] for i in full), strict=True))
            with torch_threads(self.threads):
                found = self._package.score(answers, references, batch_size=1)
            scores[full] = np.asarray(found[2])
        return scores

    @cached_property
    def _package(self) -> "BERTScorer":
        from bert_score import BERTScorer

        folder = transformer_folder(model_folder(self.model))
        config = read_json(folder / "config.json")
        if "t5" in str(folder) and config["model_type"] not in ("t5", "mt5"):
            raise ValueError(
                f"[scores] bertscore_model: bert-score takes '{folder}' for a T5 model by the 't5' "
                "in its path; copy the folder to a path without it, and give that"
            )
        n_layers = config["num_hidden_layers"]
        if self.layer is not None and not 1 <= self.layer <= n_layers:
            raise ValueError(
                f"[scores] bertscore_layer = {self.layer}: model '{self.model}' has {n_layers} "
                "layers, from 1; leave it out for the last"
            )
        with without_progress_bars():
            return BERTScorer(
                model_type=str(folder),
                num_layers=self.layer or n_layers,
                device=resolve_device(self.device),
            )


def bertscore_f1(
    answered: Sequence[Answered],
    scorer: PairScorer,
    memo: ScoreMemo,
    on_progress: Callable[[int, int], None] | None = None,
) -> np.ndarray:
    """F1 of each answer, the maximum over its references, float64 `(n_answers,)`.

    Parameters
    ----------
    answered : answers with at least one reference each.
    on_progress : called with (answers scored, answers to score) of those not remembered.
    """
    keys = [_key(scorer.identity, answer) for answer in answered]
    known = memo.get(keys)
    missing = {key: one for key, one in zip(keys, answered, strict=True) if key not in known}
    pending = list(missing.items())
    for start in range(0, len(pending), _BATCH):
        part = pending[start : start + _BATCH]
        scores = _scores([one for _, one in part], scorer)
        fresh = {key: score.tobytes() for (key, _), score in zip(part, scores, strict=True)}
        memo.put(fresh)
        known.update(fresh)
        if on_progress:
            on_progress(start + len(part), len(pending))
    return np.array([np.frombuffer(known[key])[0] for key in keys])


def _key(model: str, answer: Answered) -> bytes:
    return bytes.fromhex(hash_texts([_ALGORITHM, model, answer[0], *answer[1]]))


def _scores(answered: Sequence[Answered], scorer: PairScorer) -> np.ndarray:
    pairs = [(answer, reference) for answer, references in answered for reference in references]
    starts = np.cumsum([0, *(len(references) for _, references in answered)])[:-1]
    return np.round(np.maximum.reduceat(scorer.f1(pairs), starts), _DECIMALS)
