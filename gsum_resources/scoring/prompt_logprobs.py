"""`ServedScorer`: how well one passage predicts another, by a served language model.

`POST /completions` with `echo` and `logprobs` returns the tokens of the prompt with their
log-probabilities: supported by vLLM, SGLang and llama-cpp-python, but not by chat endpoints.
"""

import logging
import math
import re
from collections.abc import Sequence
from functools import partial
from itertools import takewhile
from typing import Any, NamedTuple

import numpy as np

from gsum_resources.endpoint import Endpoint, EndpointError
from gsum_resources.protocols.models import OnRow, ScorerUnavailableError
from gsum_resources.scoring import SEPARATOR
from gsum_resources.settings.schema import ScorerSettings

VERSION = "1"  # raise it with every change of requests or counting, so that memos expire

_BYTES_PER_TOKEN = 2
_BYTES_PER_COUNT = 4  # bytes per token if a server does not count tokens
_SEPARATOR_TOKENS = 4  # at most: tokenizers may split it differently at the end of a text
_REFUSAL = re.compile(r"echo|logprob", re.IGNORECASE)

_log = logging.getLogger(__name__)


class _Prompt(NamedTuple):
    """Tokens of a prompt with their log-probabilities; the first may be None."""

    tokens: list[str]
    log_probabilities: list[float]


class _Pair(NamedTuple):
    """A passage and a candidate to score; `opening` is the passage and the separator."""

    row: int
    column: int
    opening: str
    opening_tokens: list[str]
    candidate: str


class ServedScorer:
    """A `PassageScorer` served over HTTP.

    The score is the mean over the candidate's tokens of log P(token | passage, "\\n\\n", the tokens
    before), in nats. The candidate's tokens are those after the passage's own, for which the
    passage is requested alone, once, since positions that servers report include special tokens.

    A prompt has the last `max_tokens` bytes of UTF-8 of the passage and the first of the candidate,
    at two bytes per token. Blank texts and pairs that the server rejects get NaN, the latter with a
    warning.
    """

    is_pairwise = True

    def __init__(self, settings: ScorerSettings, endpoint: Endpoint) -> None:
        self._settings = settings
        self._endpoint = endpoint
        self._name = f"scorer '{settings.model}' at {settings.base_url}"
        self.usd_per_million_tokens = settings.usd_per_million_tokens
        self.tokens_read = 0

    @property
    def identity(self) -> str:
        """Backend, model, version and window."""
        settings = self._settings
        version = f"/version={settings.version}" if settings.version else ""
        window = f"window={settings.max_tokens}"
        return f"openai_compatible-{VERSION}/{settings.model}{version}/{window}"

    def score(
        self,
        contexts: Sequence[str],
        candidates: Sequence[Sequence[str]],
        on_row: OnRow | None = None,
    ) -> list[np.ndarray]:
        """Return the log-probability of each candidate per token, in nats."""
        scores = [np.full(len(row), np.nan) for row in candidates]
        at_once = self._settings.max_concurrent  # passages whose requests are sent together
        for start in range(0, len(contexts), at_once):
            rows = range(len(contexts))[start : start + at_once]
            try:
                pairs = self._pairs(rows, contexts, candidates)
                self._endpoint.map(self._score_pair, pairs, partial(_store, scores, pairs))
            finally:
                if on_row:
                    for row in rows:
                        on_row(row, scores[row])
        return scores

    def _pairs(
        self, rows: range, contexts: Sequence[str], candidates: Sequence[Sequence[str]]
    ) -> list[_Pair]:
        """Return the pairs of these rows to score; the tokens of the passages are requested."""
        most = self._settings.max_tokens // 2 * _BYTES_PER_TOKEN
        nonblank = [row for row in rows if contexts[row].strip()]
        end, beginning = slice(-most, None), slice(most)
        openings = [_bytes_of(contexts[row].strip(), end) + SEPARATOR for row in nonblank]
        prompts = self._endpoint.map(self._read, openings)
        return [
            _Pair(row, column, opening, prompt.tokens, _bytes_of(candidate.strip(), beginning))
            for row, opening, prompt in zip(nonblank, openings, prompts, strict=True)
            for column, candidate in enumerate(candidates[row])
            if prompt and candidate.strip()
        ]

    async def _score_pair(self, pair: _Pair) -> float:
        """Return the score in nats per token, or NaN."""
        prompt = await self._read(pair.opening + pair.candidate)
        if prompt is None:
            return math.nan
        both = zip(pair.opening_tokens, prompt.tokens, strict=False)
        first = sum(1 for _ in takewhile(lambda tokens: tokens[0] == tokens[1], both))
        if first < len(pair.opening_tokens) - _SEPARATOR_TOKENS:
            self._warn(pair.opening + pair.candidate, "its tokens differ from the prompt")
            return math.nan
        while first < len(prompt.tokens) and prompt.tokens[first].isspace():  # the separator
            first += 1
        values = prompt.log_probabilities[first:]
        score = math.fsum(values) / len(values) if values else math.nan
        return score if math.isfinite(score) else math.nan

    async def _read(self, prompt: str) -> _Prompt | None:
        """Return the server's tokens of a prompt, or None if it rejects the prompt."""
        body = {"model": self._settings.model, "prompt": prompt, "temperature": 0}
        body |= {"max_tokens": 1, "echo": True, "logprobs": 1}  # 1: the minimum of all servers
        try:
            answer = await self._endpoint.post("/completions", body, 1, self._prompt)
        except EndpointError as error:
            reason = str(error).replace(self._settings.base_url, "")
            if not self.tokens_read and _REFUSAL.search(reason):
                raise self._unable(reason) from None
            self._warn(prompt, str(error))
            return None
        counted = len(prompt.encode("utf-8", "replace")) // _BYTES_PER_COUNT
        self.tokens_read += answer.tokens_in if answer.tokens_in is not None else counted
        return answer.value

    def _prompt(self, reply: Any) -> _Prompt:
        """Return the tokens of a reply that repeat the prompt."""
        logprobs = reply["choices"][0].get("logprobs") or {}
        tokens, values = logprobs.get("tokens") or [], logprobs.get("token_logprobs") or []
        if len(tokens) != len(values):
            raise ValueError("not as many log-probabilities as tokens")
        written = (reply.get("usage") or {}).get("completion_tokens")
        n = len(tokens) - (1 if written is None else written)
        if n < 2 or None in values[1:n]:
            raise self._unable("its answer does not contain them")
        return _Prompt(tokens[:n], values[:n])

    def _unable(self, reason: str) -> ScorerUnavailableError:
        return ScorerUnavailableError(
            f"{self._name} returns no log-probabilities of a prompt ({reason}); use a server that "
            "answers POST /completions with echo and logprobs, such as vLLM, or set backend in "
            "[scorer] of gsum.toml to 'transformers_local' or 'unigram'"
        )

    def _warn(self, prompt: str, why: str) -> None:
        shown = " ".join(prompt[-40:].split())
        _log.warning("%s: no score of the prompt that ends in '%s': %s", self._name, shown, why)


def _store(scores: list[np.ndarray], pairs: list[_Pair], nth: int, score: float) -> None:
    scores[pairs[nth].row][pairs[nth].column] = score


def _bytes_of(text: str, positions: slice) -> str:
    """Return the characters that lie whole within these bytes of a text."""
    return text.encode("utf-8", "replace")[positions].decode("utf-8", "ignore")
