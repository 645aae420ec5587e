"""BERTScore F1 of answers by the `bert-score` package, with a memo by text."""

from collections import defaultdict
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from gsum_assets.graphs.bertscore import ScoreMemo
from gsum_resources.embedding.encoder import resolve_device, without_progress_bars
from gsum_resources.embedding.model_files import (
    PACKAGED,
    model_folder,
    read_json,
    transformer_folder,
)
from gsum_resources.embedding.processor import physical_cores, torch_threads
from gsum_resources.embedding.token_embeddings import LocalTokenEmbedder
from gsum_resources.store.content_hash import hash_texts

if TYPE_CHECKING:
    from torch import Tensor
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

    _Embedded = tuple[Tensor, Tensor, Tensor]  # of a text: vectors, mask, weights

_ALGORITHM = "bertscore-f1-2"  # increase it when scores of the same texts may change
_BATCH = 32  # answers between two notes of progress, and with token vectors in memory (13 MB)
_REFERENCES = 256  # cached over all methods, in as much memory
_DECIMALS = 6  # the last bits of a matrix product depend on the number of threads

Answered = tuple[str, Sequence[str]]  # an answer, and its references


@dataclass(frozen=True)
class PackageScorer:
    """The `bert-score` package without idf weights and without rescaling.

    Every text is embedded alone, references once for all methods, and every pair is matched alone:
    in larger batches the padding takes part in each maximum.

    Attributes
    ----------
    model : "packaged" (all-MiniLM-L6-v2), a folder, or an id on the Hugging Face hub.
    layer : layer of the output, from 1, the package's `num_layers`; None is the last.
    device : "auto" uses the GPU if there is one.
    threads : answers compared in parallel, each on one torch thread; None: the physical cores.
    """

    model: str = PACKAGED
    layer: int | None = None
    device: str = "auto"
    threads: int | None = None

    @property
    def identity(self) -> str:
        """Name of everything that determines the scores: weights and layer, not the device."""
        return LocalTokenEmbedder(self.model, self.layer).identity

    def best_f1(self, answered: Sequence[Answered]) -> np.ndarray:
        """Return F1 of each answer and its most similar reference, `(n_answers,)`.

        Texts are truncated to the model's maximum length; a blank one has 0.

        Raises
        ------
        ValueError
            If the model has no such layer, or the package would mistake its architecture.
        ModelNotFoundError
            If the model is neither a folder nor on the hub.
        """
        from torch import set_num_threads

        workers = ThreadPoolExecutor(
            self.threads or physical_cores(), initializer=set_num_threads, initargs=(1,)
        )
        with torch_threads(1), workers:
            return np.array(list(workers.map(self._best, answered)))

    def _best(self, answered: Answered) -> float:
        from bert_score.utils import greedy_cos_idf

        answer, references = answered
        references = [text for text in references if text.strip()]
        if not answer.strip() or not references:  # the package rejects blank texts
            return 0.0
        embedded = self._embed(answer)
        pairs = ((*self._reference(text), *embedded) for text in references)
        match: Any = greedy_cos_idf  # changes its arguments in place
        return max(float(match(*(tensor.clone() for tensor in pair))[2]) for pair in pairs)

    @cached_property
    def _reference(self) -> "Callable[[str], _Embedded]":
        return lru_cache(maxsize=_REFERENCES)(self._embed)

    def _embed(self, text: str) -> "_Embedded":
        from bert_score.utils import get_bert_embedding

        model, tokenizer, weights = self._package
        vectors, mask, of_tokens = get_bert_embedding(
            [text], model, tokenizer, weights, device=resolve_device(self.device)
        )
        return vectors.cpu(), mask.cpu(), of_tokens

    @cached_property
    def _package(self) -> "tuple[PreTrainedModel, PreTrainedTokenizerBase, dict[int, float]]":
        """Model, tokenizer, and a weight for each token: 0 for the special tokens of a text."""
        from bert_score.utils import get_model, get_tokenizer

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
            model: Any = get_model(str(folder), self.layer or n_layers)
            tokenizer = get_tokenizer(str(folder))
        weights = defaultdict(lambda: 1.0)
        weights |= {tokenizer.sep_token_id: 0.0, tokenizer.cls_token_id: 0.0}
        return model.to(resolve_device(self.device)), tokenizer, weights


def bertscore_f1(
    answered: Sequence[Answered],
    scorer: PackageScorer,
    memo: ScoreMemo,
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
