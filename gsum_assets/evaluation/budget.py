"""Prompts within a token budget, in word pieces, or tokens of a model with a short context.

Lengths of texts separated by a blank add up to that of the prompt.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from itertools import islice

import numpy as np

from gsum_assets.corpus.chunk import n_word_pieces
from gsum_resources.llm.directions import schema_in_full
from gsum_resources.llm.tokens import Window
from gsum_resources.protocols.models import LanguageModel, Request

_AMPLE = 4  # maximum number of tokens per word piece, for a text with many numbers
MOST_MARKED = 1000  # passages of a prompt whose marks are measured
CountTokens = Callable[[Sequence[str]], Sequence[int]]
"""Function to the word pieces of each text, or the tokens of a model (a `Window`)."""

# minimum length of a passage, about a sentence: instead of shorter ones fewer passages are shown
_LEAST = 16
# Requested fraction of the room if it is short, and factor by which a text may exceed the requested
# length if there is room: models keep to a number of words only roughly.
_ASKED, _TOLERANCE = 0.85, 1.5

# a word, or a character of a script without blanks, which has up to four pieces
_UNIT = re.compile(r"[^\s\x00-\u052f]|[^\s\u0530-\U0010ffff]{1,20}")
_SENTENCE_END = re.compile(r"[.!?…。！？][\"'”’)\]]*$")
_TITLE = re.compile(r"[A-Z][a-z]{0,2}\.$")  # "Dr." and similar


@dataclass(frozen=True)
class Room:
    """Tokens that a prompt leaves to its passages.

    Attributes
    ----------
    tokens : tokens for their texts and the marks before them.
    mark : tokens of the longest mark before a passage (its number).
    own : tokens of the prompt without passages.
    """

    tokens: int
    mark: int
    own: int = field(default=0, compare=False)

    @property
    def is_too_small(self) -> bool:
        """Whether not even one passage has its minimum."""
        return self.tokens < self.mark + _LEAST


def room_for(
    request: Request,
    n_passages: int,
    prompt_tokens: int,
    count_tokens: CountTokens,
    is_structured: bool = False,
) -> Room:
    """Return the room of `n_passages` in a prompt of at most `prompt_tokens`.

    If tokens are counted for a model, the room is also bounded by its context. `is_structured` is
    whether the prompt has the reply's schema, as long as a server may show it.
    """
    schema = schema_in_full(request.schema) if is_structured and request.schema else ""
    instructions = f"{request.instructions}\n{schema}" if is_structured else request.instructions
    bare = replace(request, passages=(), labels=()).render()
    n_fixed = sum(count_tokens([instructions, bare]))
    left = prompt_tokens - n_fixed
    if isinstance(count_tokens, Window) and (most := count_tokens.room(request)) is not None:
        left = min(left, most)
    return Room(left, _longest_mark(n_passages, count_tokens, request.labels), n_fixed)


def counter_for(model: LanguageModel, prompt_tokens: int) -> CountTokens:
    """Return a counter of word pieces, or of the model's tokens if its context is short.

    Prompts of at most `prompt_tokens` word pieces are the same for all models with enough room.
    """
    window = getattr(model, "window", None)
    ample = _AMPLE * prompt_tokens
    return (
        window
        if isinstance(window, Window) and 0 < (window.context or 0) < ample
        else (n_word_pieces)
    )


@lru_cache(maxsize=1024)  # the same for every question of a corpus
def _longest_mark(n_passages: int, count_tokens: CountTokens, labels: tuple[str, ...]) -> int:
    longest = f" {max(labels, key=len)}" if labels else ""
    marks = [f"\n\n[{i}]{longest}\n" for i in range(1, n_passages + 1)]
    return max(count_tokens(marks), default=0) if marks else 0


structured_room = partial(room_for, is_structured=True)


def lengths(texts: Iterable[str], count_tokens: CountTokens) -> dict[str, int]:
    """Return the number of word pieces of each text."""
    distinct = list(dict.fromkeys(texts))
    return dict(zip(distinct, count_tokens(distinct), strict=True)) if distinct else {}


def n_fitting(sizes: Sequence[int], room: Room) -> int:
    """Return how many of the first passages fit together."""
    return int(
        np.searchsorted(
            np.cumsum(sizes) + room.mark * np.arange(1, len(sizes) + 1), room.tokens, side="right"
        )
    )


def allowances(desired: Sequence[int], room: Room) -> tuple[list[int], float]:
    """Return word pieces of each passage, 0 if left out, and the factor by which texts may exceed.

    If the room is short, all shrink in proportion, but not below a sentence: then the last ones are
    left out instead. `desired` are requested word pieces of each passage, best first; 0: none.
    """
    for n in range(len(desired), 0, -1):
        total = sum(desired[:n])
        free = room.tokens - room.mark * sum(wish > 0 for wish in desired[:n])
        aim = free if total <= free else _ASKED * free
        scale = aim / max(1, total)
        allowed = [min(wish, max(_LEAST, int(scale * wish))) for wish in desired[:n]]
        if sum(allowed) <= aim or n == 1:
            slack = min(_TOLERANCE, max(1.0, free / max(1, sum(allowed))))
            return [*allowed, *[0] * (len(desired) - n)], slack
    return [], 1.0


def cut_to_tokens(text: str, max_tokens: int, count_tokens: CountTokens) -> str:
    """Return the beginning of a text, to the end of a sentence, or of a word and then "…".

    The cut is at the end of a sentence if that keeps at least half of the possible length. At least
    one word is kept.
    """
    if count_tokens([text])[0] <= max_tokens:
        return text
    # each unit has at least one piece, so that no more can fit
    units = list(islice(_UNIT.finditer(text), max(1, max_tokens)))
    sizes = np.cumsum(count_tokens([unit.group() for unit in units]))
    n = max(1, int(np.searchsorted(sizes, max_tokens - 1, side="right")))  # 1 for the "…"
    cut = _first_units(text, units, n)
    while n > 1 and count_tokens([cut])[0] > max_tokens:  # the pieces of a cut word may not add up
        n -= 1
        cut = _first_units(text, units, n)
    return cut


def _first_units(text: str, units: Sequence[re.Match[str]], n: int) -> str:
    for unit in reversed(units[n // 2 : n]):
        if _SENTENCE_END.search(unit.group()) and not _TITLE.match(unit.group()):
            return text[: unit.end()]
    return text[: units[n - 1].end()].rstrip(" ,;:") + "…"
