"""The context length that a server states when it rejects a request as too long."""

import re
from typing import NamedTuple

_NUMBER = r"(\d[\d,]*)"
_LENGTH = re.compile(
    r"context|must have less|too (?:long|large)|max_new_tokens|exceeds? the maximum", re.IGNORECASE
)
# in the words of OpenAI, vLLM, SGLang, llama.cpp and its Python binding, TGI, LM Studio, Mistral,
# Anthropic and Gemini
_CONTEXTS = (
    rf"> {_NUMBER} maximum",
    rf"limit: \d+ \+ \d+ > {_NUMBER}",
    rf"\+ `?max_new_tokens`? must be <= {_NUMBER}",
    rf"`?inputs`? must have less than {_NUMBER} tokens",
    rf"{_NUMBER} maximum context",
    rf"maximum number of tokens allowed \({_NUMBER}",
    rf'"n_ctx"\s*:\s*{_NUMBER}',
    rf"context (?:length|window|size|limit)(?: is| of| only|:| \(|=|\s)*{_NUMBER}",
)
_PROMPTS = (
    rf"\({_NUMBER} in the messages",
    rf"{_NUMBER} tokens from the input",
    rf"resulted in {_NUMBER} tokens",
    rf"(?:has|passed|contains|Given:) {_NUMBER} (?:`inputs`|input |prompt |draft )?tokens",
    rf"Given: {_NUMBER}",
    rf'"n_prompt_tokens"\s*:\s*{_NUMBER}',
    rf"(?:request|input|input token count|prompt) \({_NUMBER}",
    rf"too long: {_NUMBER} tokens",
    rf"limit: {_NUMBER} \+",
    rf"keep the first {_NUMBER} tokens",
)


class StatedLimit(NamedTuple):
    """Tokens that a model's context holds, and those of the rejected prompt; None: not stated."""

    context: int
    prompt: int | None = None


def stated_limit(answer: str) -> StatedLimit | None:
    """Return the limit in a server's answer; None if it states none."""
    if not _LENGTH.search(answer):
        return None
    context = _first(_CONTEXTS, answer)
    return StatedLimit(context, _first(_PROMPTS, answer)) if context else None


def _first(patterns: tuple[str, ...], text: str) -> int | None:
    matches = (re.search(pattern, text, re.IGNORECASE) for pattern in patterns)
    return next((int(match[1].replace(",", "")) for match in matches if match), None)
