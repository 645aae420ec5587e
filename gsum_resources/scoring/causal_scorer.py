"""`CausalScorer`: how well one passage predicts another, by a local causal language model.

A passage is processed once for all its candidates, which continue from its keys and values (KV
cache).
"""

import copy
from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from gsum_resources.embedding.batches import equal_form_batches, filled_up
from gsum_resources.embedding.processor import physical_cores, single_threaded_pool
from gsum_resources.llm.causal_weights import CausalWeights
from gsum_resources.protocols.models import OnRow, ScorerUnavailableError
from gsum_resources.scoring import SEPARATOR
from gsum_resources.settings.schema import ScorerSettings

if TYPE_CHECKING:
    import torch

VERSION = "1"  # raise it with every change of what is scored, so that memos expire

# Logits take vocabulary x 2 to 4 bytes a token: 8,192 tokens over 150,000 words are 2.5 GB in
# bfloat16. On a CPU, batches of several candidates were not faster.
_BATCH_TOKENS = {"cuda": 8192, "cpu": 512}
_PLAIN = {"add_special_tokens": False, "verbose": False}


class CausalScorer:
    """A `PassageScorer` of the transformers library, loaded on first use.

    The score is the mean over the candidate's tokens of log P(token | passage, "\\n\\n", the tokens
    before), in nats. Of a passage the end is used, of a candidate the beginning, each of at most
    half of the model's context in tokens; the separator belongs to the passage's half. Blank texts
    get NaN.

    Batches are formed by `equal_form_batches`, so that the score of a pair does not depend on other
    pairs, on a CPU not even in its last bit. There, several passages run in parallel, on one thread
    each: threads that share a matrix product wait for each other, on a busy machine ten times as
    long as they compute.

    Parameters
    ----------
    settings : `model` is a folder or a hub id, `version` is part of the identity.
    batch_tokens : maximum number of tokens in a batch, padding included; None: a default for the
        device.
    threads : number of passages that run in parallel on a CPU; None: the physical cores available
        to the process.

    Raises
    ------
    SettingsError
        If there is no such folder; from `score`, if the model cannot be loaded.
    """

    is_pairwise = True

    def __init__(
        self, settings: ScorerSettings, batch_tokens: int | None = None, threads: int | None = None
    ) -> None:
        self._settings = settings
        self._backend = settings.backend
        self._threads = threads
        self._weights = CausalWeights(settings)
        self._batch_tokens = batch_tokens

    @property
    def identity(self) -> str:
        """The hub id, or a digest of the weights and the tokenizer."""
        return f"{self._backend}-{VERSION}/{self._weights.identity}"

    def unloaded(self, threads: int | None) -> "CausalScorer":
        """Return an equal scorer without weights, for another process."""
        return CausalScorer(self._settings, self._batch_tokens, threads)

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
        nonblank = [text for text in texts if text.strip()]
        stripped = [text.strip() for text in nonblank]
        ids = self._weights.tokenizer(stripped, **_PLAIN)["input_ids"] if nonblank else []
        blank = {text: np.zeros(0, np.int64) for text in texts}
        return blank | {t: np.asarray(i, np.int64) for t, i in zip(nonblank, ids, strict=True)}

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

        before, behind = self._around
        half = self._weights.context // 2
        room = max(1, half - len(before) - len(behind))
        prefix = np.concatenate([before, context[-room:], behind])
        scores = np.full(len(candidates), np.nan)
        wanted = [i for i, ids in enumerate(candidates) if len(ids) and len(context)]
        if not wanted:
            return scores
        cut = [candidates[i][:half] for i in wanted]
        lengths = np.array([len(ids) for ids in cut], np.int64)
        batch_tokens = self._batch_tokens or _BATCH_TOKENS[self._weights.device]
        try:
            with torch.inference_mode():
                cache = self._read(prefix[:-1])
                for run_length, batch in equal_form_batches(lengths, half, batch_tokens):
                    chosen = [cut[i] for i in batch]
                    values = self._batch(prefix, cache, chosen, run_length)
                    scores[[wanted[i] for i in batch]] = values / lengths[batch]
        except torch.OutOfMemoryError:
            raise ScorerUnavailableError(
                f"{len(prefix):,} tokens of a passage and {lengths.max():,} of its candidate do "
                f"not fit into the memory of the {self._weights.device} with the model "
                f"'{self._weights.name}'; set a smaller model in [scorer] of gsum.toml"
            ) from None
        return scores

    def _read(self, prefix: np.ndarray) -> Any:
        """Return the keys and values of `prefix`, without computing logits."""
        ids = self._tensor(prefix[None])
        return self._weights.network.base_model(input_ids=ids, use_cache=True).past_key_values

    def _batch(
        self, prefix: np.ndarray, cache: Any, candidates: Sequence[np.ndarray], run_length: int
    ) -> np.ndarray:
        """Return the summed log-probabilities of candidates after `prefix`, `(n_candidates,)`."""
        n_rows = len(candidates)
        if self._weights.device == "cpu":
            n_rows, _ = filled_up(n_rows, run_length, "float32", threads=1)
        # Each row begins with the prefix's last token, which predicts the candidate's first.
        ids = np.zeros((n_rows, run_length), np.int64)
        mask = np.zeros((n_rows, len(prefix) - 1 + run_length), np.int64)
        mask[:, : len(prefix)] = 1
        for row in range(n_rows):  # rows beyond the candidates repeat them
            candidate = candidates[row % len(candidates)]
            ids[row, 0] = prefix[-1]
            ids[row, 1 : len(candidate)] = candidate[:-1]
            mask[row, len(prefix) : len(prefix) - 1 + len(candidate)] = 1
        row_cache = copy.deepcopy(cache)
        if n_rows > 1:
            row_cache.batch_repeat_interleave(n_rows)
        # Padding is on the right: positions follow from the length of the cache.
        logits = self._weights.network(
            input_ids=self._tensor(ids),
            attention_mask=self._tensor(mask),
            past_key_values=row_cache,
        ).logits  # (rows, run_length, vocabulary)
        rows = zip(logits, candidates, strict=False)  # without the repeated rows
        return np.array([self._log_probability(row, candidate) for row, candidate in rows])

    def _log_probability(self, logits: "torch.Tensor", candidate: np.ndarray) -> float:
        """Return the sum over the candidate's tokens, nats, for logits `(run_length, n_words)`."""
        import torch

        return -torch.nn.functional.cross_entropy(
            logits[: len(candidate)].float(), self._tensor(candidate), reduction="sum"
        ).item()

    def _tensor(self, values: np.ndarray) -> "torch.Tensor":
        import torch

        return torch.from_numpy(values).to(self._weights.device)
