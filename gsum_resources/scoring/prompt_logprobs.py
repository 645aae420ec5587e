"""`ServedScorer`: how well one passage predicts another, by a server's language model.

`POST /completions` with `echo` and `logprobs` repeats the tokens of the prompt, each with its
log-probability: vLLM and SGLang do, and llama-cpp-python. Chat endpoints do not.
"""

import logging
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Any

import numpy as np

from gsum_resources.endpoint import Endpoint, EndpointError
from gsum_resources.protocols import OnRow, ScorerUnavailableError
from gsum_resources.scoring import SEPARATOR
from gsum_resources.settings import ScorerSettings

VERSION = "1"  # raise it with every change of what is asked or counted, so that memos expire

_BYTES_PER_TOKEN = 2
_BYTES_PER_COUNT = 4  # of a token where a server does not count
_SEPARATOR_TOKENS = 4  # at most: tokenizers may part it otherwise where nothing follows
_REFUSAL = re.compile(r"echo|logprob", re.IGNORECASE)

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class _Prompt:
    """Tokens of a prompt with their log-probabilities, the first of which may be None."""

    tokens: list[str]
    log_probabilities: list[float]


@dataclass(frozen=True)
class _Pair:
    """A candidate to be scored.

    Attributes
    ----------
    row, place : of the passage, and of the candidate among its candidates.
    opening : the passage and the separator.
    opening_tokens : what the server makes of `opening`.
    candidate : what goes on from there.
    """

    row: int
    place: int
    opening: str
    opening_tokens: list[str]
    candidate: str


class ServedScorer:
    """A `PassageScorer` served over HTTP.

    The score is the mean over the candidate's tokens of log P(token | passage, "\\n\\n", the tokens
    before), in nats. Which tokens are the candidate's is told by asking for the passage alone
    first, one request a passage: those that follow the passage's own. The positions that servers
    tell (`text_offset`) are of no use: vLLM counts special tokens in, and a character of several
    tokens once for each.

    A prompt takes `max_tokens` at most, at two bytes of UTF-8 a token (a cautious rule: English
    has four or five, Chinese two to three): the last `max_tokens` bytes of the passage and the
    first of the candidate. Blank texts get NaN, and so does a pair that the server rejects; the
    log tells why.

    Parameters
    ----------
    settings : model and `max_tokens`.
    endpoint : the server of these settings.

    Attributes
    ----------
    tokens_read : by the server so far, as it counts them, or a token for four bytes.
    """

    is_pairwise = True

    def __init__(self, settings: ScorerSettings, endpoint: Endpoint) -> None:
        self._settings = settings
        self._endpoint = endpoint
        self._name = f"scorer '{settings.model}' at {settings.base_url}"
        self.tokens_read = 0

    @property
    def identity(self) -> str:
        """Backend, model, version and window."""
        settings = self._settings
        parts = [f"openai_compatible-{VERSION}", settings.model]
        parts += [f"version={settings.version}"] if settings.version else []
        return "/".join([*parts, f"window={settings.max_tokens}"])

    @property
    def usd_per_million_tokens(self) -> float:
        """The price that the settings tell."""
        return self._settings.usd_per_million_tokens

    def score(
        self,
        contexts: Sequence[str],
        candidates: Sequence[Sequence[str]],
        on_row: OnRow | None = None,
    ) -> list[np.ndarray]:
        """Return the log-probability of each candidate per token, nats, float64 `(n_candidates,)` a
        context.

        Raises
        ------
        SettingsError
            If the variable that should hold the key does not.
        ScorerUnavailableError
            If the server refuses the key or the model, is away, or tells no log-probabilities of
            a prompt. What was scored before has gone to `on_row`.
        """
        scores = [np.full(len(row), np.nan) for row in candidates]
        at_once = self._settings.max_concurrent  # so that passages are asked for all together
        for start in range(0, len(contexts), at_once):
            rows = range(start, min(start + at_once, len(contexts)))
            try:
                self._score_rows(rows, contexts, candidates, scores)
            finally:
                if on_row:
                    for row in rows:
                        on_row(row, scores[row])
        return scores

    def _score_rows(
        self,
        rows: range,
        contexts: Sequence[str],
        candidates: Sequence[Sequence[str]],
        scores: list[np.ndarray],
    ) -> None:
        """Put what the server says of these rows into `scores`."""
        most = self._settings.max_tokens // 2 * _BYTES_PER_TOKEN
        asked = [row for row in rows if contexts[row].strip()]
        openings = [_end(contexts[row].strip(), most) + SEPARATOR for row in asked]
        read = self._endpoint.map(self._read, openings)
        pairs = [
            _Pair(row, place, opening, prompt.tokens, _beginning(candidate.strip(), most))
            for row, opening, prompt in zip(asked, openings, read, strict=True)
            for place, candidate in enumerate(candidates[row])
            if prompt and candidate.strip()
        ]

        def keep(nth: int, score: float) -> None:
            scores[pairs[nth].row][pairs[nth].place] = score

        self._endpoint.map(self._score_pair, pairs, keep)

    async def _score_pair(self, pair: _Pair) -> float:
        """Return nats per token, or NaN."""
        prompt = await self._read(pair.opening + pair.candidate)
        if prompt is None:
            return math.nan
        both = zip(pair.opening_tokens, prompt.tokens, strict=False)
        first = sum(1 for _ in takewhile(lambda tokens: tokens[0] == tokens[1], both))
        if first < len(pair.opening_tokens) - _SEPARATOR_TOKENS:
            self._warn(pair.opening + pair.candidate, "it reads another prompt than it was sent")
            return math.nan
        while first < len(prompt.tokens) and prompt.tokens[first].isspace():  # of the separator
            first += 1
        values = prompt.log_probabilities[first:]
        score = math.fsum(values) / len(values) if values else math.nan
        return score if math.isfinite(score) else math.nan

    async def _read(self, prompt: str) -> _Prompt | None:
        """What the server makes of a prompt, or None where it rejects it."""
        body = {"model": self._settings.model, "prompt": prompt, "temperature": 0}
        body |= {"max_tokens": 1, "echo": True, "logprobs": 1}  # the least that all servers take
        try:
            answer = await self._endpoint.post("/completions", body, 1, self._prompt)
        except EndpointError as error:
            failure = error
        else:
            counted = len(prompt.encode("utf-8", "replace")) // _BYTES_PER_COUNT
            self.tokens_read += answer.tokens_in if answer.tokens_in is not None else counted
            return answer.value
        told = str(failure).replace(self._settings.base_url, "")
        if not self.tokens_read and _REFUSAL.search(told):
            raise self._unable(told)
        self._warn(prompt, str(failure))
        return None

    def _prompt(self, reply: Any) -> _Prompt:
        """Return the part of a reply that repeats the prompt."""
        told = reply["choices"][0].get("logprobs") or {}
        tokens, values = told.get("tokens") or [], told.get("token_logprobs") or []
        if len(tokens) != len(values):
            raise ValueError("not as many log-probabilities as tokens")
        written = (reply.get("usage") or {}).get("completion_tokens")
        n = len(tokens) - (1 if written is None else written)
        if n < 2 or None in values[1:n]:
            raise self._unable("it answers, and leaves them out")
        return _Prompt(tokens[:n], values[:n])

    def _unable(self, told: str) -> ScorerUnavailableError:
        return ScorerUnavailableError(
            f"{self._name} gives no log-probabilities of a prompt ({told}); take a server that "
            "answers POST /completions with echo and logprobs, such as vLLM, or set backend in "
            "[scorer] of gsum.toml to 'transformers_local' or 'unigram'"
        )

    def _warn(self, prompt: str, why: str) -> None:
        shown = " ".join(prompt[-40:].split())
        _log.warning("%s: no score of the prompt that ends in '%s': %s", self._name, shown, why)


def _end(text: str, max_bytes: int) -> str:
    return text.encode("utf-8", "replace")[-max_bytes:].decode("utf-8", "ignore")


def _beginning(text: str, max_bytes: int) -> str:
    return text.encode("utf-8", "replace")[:max_bytes].decode("utf-8", "ignore")
