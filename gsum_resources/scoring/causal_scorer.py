"""`CausalScorer`: how well one passage predicts another, by a local causal language model.

A passage is processed once for all its candidates, which continue from its keys and values (KV
cache).
"""

import copy
from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from gsum_resources.embedding.batches import equal_form_batches
from gsum_resources.embedding.processor import physical_cores, single_threaded_pool
from gsum_resources.llm.causal_weights import CausalWeights
from gsum_resources.protocols.models import OnRow, ScorerUnavailableError
from gsum_resources.scoring import SEPARATOR
from gsum_resources.settings.schema import ScorerSettings

if TYPE_CHECKING:
    import torch

VERSION = "1"  # raise it with every change of what is scored, so that memos expire

# Logits take vocabulary x 2 to 4 bytes a token: 8,192 tokens over 150,000 words are 2.5 GB in
# bfloat16. On a CPU each candidate runs alone: batches were not faster, and round differently.
_BATCH_TOKENS = {"cuda": 8192, "cpu": 1}
_PLAIN = {"add_special_tokens": False, "verbose": False}


class CausalScorer:
    """A `PassageScorer` of the transformers library, loaded on first use.

    The score is the mean over the candidate's tokens of log P(token | passage, "\\n\\n", the tokens
    before), in nats. Of a passage the end is used, of a candidate the beginning, each of at most
    half of the model's context in tokens; the separator belongs to the passage's half. Blank texts
    get NaN.

    On a CPU, `threads` passages run in parallel (default: the physical cores), on one thread each,
    and a score does not depend on the other candidates, not even in its last bit.

    Raises `SettingsError` if there is no such folder; from `score`, if the model cannot be loaded.
    """

    is_pairwise = True

    def __init__(self, settings: ScorerSettings, threads: int | None = None) -> None:
        self._settings = settings
        self._threads = threads
        self._weights = CausalWeights(settings)

    @property
    def identity(self) -> str:
        """The hub id, or a digest of the weights and the tokenizer."""
        return f"{self._settings.backend}-{VERSION}/{self._weights.identity}"

    def unloaded(self, threads: int | None) -> "CausalScorer":
        """Return an equal scorer without weights, for another process."""
        return CausalScorer(self._settings, threads)

    def score(
        self,
        contexts: Sequence[str],
        candidates: Sequence[Sequence[str]],
        on_row: OnRow | None = None,
    ) -> list[np.ndarray]:
        """Return the log-probability of each candidate per token, in nats."""
        of_text = self._token_ids({*contexts, *(text for row in candidates for text in row)})
        passages = [of_text[context] for context in contexts]
        following = [[of_text[text] for text in row] for row in candidates]
        threads = (self._threads or physical_cores()) if self._weights.device == "cpu" else 1
        scores = []
        with single_threaded_pool(threads) as pool:
            for row in pool.map(self._row, passages, following):
                scores.append(row)
                if on_row:
                    on_row(len(scores) - 1, row)
        return scores

    def _token_ids(self, texts: set[str]) -> dict[str, np.ndarray]:
        """Return the token ids of each text, without special tokens; none for a blank text."""
        stripped = [text.strip() for text in texts]
        ids = self._weights.tokenizer(stripped, **_PLAIN)["input_ids"] if texts else []
        return {text: np.asarray(i, np.int64) for text, i in zip(texts, ids, strict=True)}

    @cached_property
    def _around(self) -> tuple[np.ndarray, np.ndarray]:
        """Token ids before and after a passage: special tokens, the separator."""
        tokenizer = self._weights.tokenizer
        plain, framed = tokenizer("a", **_PLAIN)["input_ids"], tokenizer("a")["input_ids"]
        before = framed[: framed.index(plain[0])]
        behind = tokenizer(SEPARATOR, **_PLAIN)["input_ids"]
        return np.asarray(before, np.int64), np.asarray(behind, np.int64)

    def _row(self, context: np.ndarray, candidates: Sequence[np.ndarray]) -> np.ndarray:
        """Return the scores of a passage's candidates, all given as token ids."""
        import torch

        weights = self._weights
        before, behind = self._around
        half = weights.context // 2
        room = max(1, half - len(before) - len(behind))
        prefix = np.concatenate([before, context[-room:], behind])
        scores = np.full(len(candidates), np.nan)
        lengths = np.array([min(half, len(ids)) for ids in candidates], np.int64)
        wanted = np.flatnonzero(lengths) if len(context) else []
        if not len(wanted):
            return scores
        batches = equal_form_batches(lengths[wanted], half, _BATCH_TOKENS[weights.device])
        try:
            with torch.inference_mode():
                ids = self._tensor(prefix[None, :-1])
                read = weights.network.base_model(input_ids=ids, use_cache=True)
                for run_length, batch in batches:
                    rows = wanted[batch]
                    chosen = [candidates[i][:half] for i in rows]
                    values = self._batch(prefix, read.past_key_values, chosen, run_length)
                    scores[rows] = values / lengths[rows]
        except torch.OutOfMemoryError:
            raise ScorerUnavailableError(
                f"{len(prefix):,} tokens of a passage and {lengths.max():,} of its candidate do "
                f"not fit into the memory of the {weights.device} with the model "
                f"'{weights.name}'; set a smaller model in [scorer] of gsum.toml"
            ) from None
        return scores

    def _batch(
        self, prefix: np.ndarray, cache: Any, candidates: Sequence[np.ndarray], run_length: int
    ) -> np.ndarray:
        """Return the summed log-probabilities of candidates after `prefix`, `(n_candidates,)`."""
        from torch.nn.functional import cross_entropy

        # Each row begins with the prefix's last token, which predicts the candidate's first.
        ids = np.zeros((len(candidates), run_length), np.int64)
        mask = np.zeros((len(candidates), len(prefix) - 1 + run_length), np.int64)
        ids[:, 0] = prefix[-1]
        for row, candidate in enumerate(candidates):
            ids[row, 1 : len(candidate)] = candidate[:-1]
            mask[row, : len(prefix) - 1 + len(candidate)] = 1
        row_cache = copy.deepcopy(cache)
        row_cache.batch_repeat_interleave(len(candidates))
        # Padding is on the right: positions follow from the length of the cache.
        logits = self._weights.network(
            input_ids=self._tensor(ids),
            attention_mask=self._tensor(mask),
            past_key_values=row_cache,
        ).logits  # (n_candidates, run_length, vocabulary)
        sums = [
            -cross_entropy(row[: len(words)].float(), self._tensor(words), reduction="sum").item()
            for row, words in zip(logits, candidates, strict=True)
        ]
        return np.array(sums)

    def _tensor(self, values: np.ndarray) -> "torch.Tensor":
        import torch

        return torch.from_numpy(values).to(self._weights.device)
