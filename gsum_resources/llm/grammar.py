"""Replies whose structure cannot be wrong: a grammar decides which tokens may follow.

The grammar is made of the JSON schema by `llguidance`: it needs no other package and no
compilation ahead (xgrammar brings triton along), knows bounds of lengths and numbers, and is what
llama.cpp and vLLM use. A reply that nears its room, or that repeats itself, is closed: from there
on only tokens are allowed that end strings, lists and objects, wherever the grammar allows one.
"""

import json
import re
from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel

if TYPE_CHECKING:
    import torch

_MOST_ITEMS = 24  # of a list; a reply of more is a loop, or has no room
_CHARS_PER_WORD = 8  # so that no string is longer than the whole text that is wanted
_LEAST_CHARS = 80
_CHARS_PER_TOKEN = 3  # of JSON in English
_STRING = "xxxx"
_FILLED = 0.5  # of the longest that its strings may be: names and dates are short
_LARGEST_INTEGER = 10**9 - 1
_SPARE_TOKENS = 24  # for what is under way when the closing begins
_WORDS_AND_MARKS = re.compile(r"\w+|[^\w\s]")
_LONGEST_PERIOD = 96  # tokens of a sentence or list item that a loop repeats
_LEAST_REPEATED = 36  # tokens; a table's rule or a row of blanks is shorter
_REPEATS = 2


class GrammarError(ValueError):
    """A schema that no grammar can be made of."""


class Repetition:
    """Detects that a text has begun to repeat itself, token by token.

    A greedy model that has said the same three times says it for ever.
    """

    def __init__(self) -> None:
        self._ids: list[int] = []
        self._matched = [0] * (_LONGEST_PERIOD + 1)  # by period: tokens equal to the earlier one
        self.repeated = 0  # tokens at the end that only repeat what is before them

    def read(self, ids: Sequence[int]) -> None:
        """Continue with `ids`."""
        for token in ids:
            self._ids.append(token)
            for period in range(1, min(len(self._ids) - 1, _LONGEST_PERIOD) + 1):
                same = self._ids[-1 - period] == token
                self._matched[period] = self._matched[period] + 1 if same else 0
        loops = (
            n
            for period, n in enumerate(self._matched)
            if n >= max(_REPEATS * period, _LEAST_REPEATED)
        )
        self.repeated = max(loops, default=0)


def repeats_itself(text: str) -> bool:
    """Return whether a text, which may end in half a word, ends in words that it says over and
    over.
    """
    repetition = Repetition()
    repetition.read([hash(word) for word in _WORDS_AND_MARKS.findall(text)[:-1]])
    return repetition.repeated > 0


class Grammars:
    """Grammars over one model's tokens.

    Parameters
    ----------
    tokenizer : a fast one of the transformers library.
    n_logits : of the model, which may have more than the tokenizer has tokens.
    ends : ids of the tokens that end a turn.
    """

    def __init__(self, tokenizer: Any, n_logits: int, ends: Sequence[int]) -> None:
        import llguidance.hf

        self._tokenizer = tokenizer
        self._n_logits = n_logits
        self._tokens = llguidance.hf.from_tokenizer(tokenizer, n_logits, list(ends))

    def mask(self, schema: type[BaseModel], max_words: int, start: int, room: int) -> "GrammarMask":
        """Return a logits processor for one reply.

        Parameters
        ----------
        max_words : length of the wanted text, in words.
        start : tokens of the prompt.
        room : most tokens of the reply.

        Raises
        ------
        GrammarError
            If no grammar can be made of the schema.
        """
        import llguidance

        bounded = bounded_schema(schema, max_words)
        grammar = llguidance.LLMatcher.grammar_from_json_schema(
            bounded,
            overrides={
                "whitespace_flexible": False,
                "item_separator": ", ",
                "key_separator": ": ",
            },
        )
        matcher = llguidance.LLMatcher(self._tokens, grammar)
        if matcher.is_error():
            raise GrammarError(
                f"no grammar can be made of the schema '{schema.__name__}' "
                f"({matcher.get_error()}); set structured_output to 'prompt' in gsum.toml"
            )
        shortest = json.dumps(_skeleton(bounded, bounded))
        closing = 2 * len(self._tokenizer(shortest)["input_ids"]) + _SPARE_TOKENS
        return GrammarMask(matcher, self._closers, self._n_logits, start, room - closing)

    @cached_property
    def _closers(self) -> "list[torch.Tensor]":
        """Tokens that end a string; a list or an object; begin a list; end a value before another.

        Only the last may hold a comma: after one, a list goes on. None may open an object: a list
        that has to be there stays empty.
        """
        import torch

        texts = self._tokenizer.batch_decode([[i] for i in range(len(self._tokenizer))])
        texts = [text.strip() for text in texts] + [""] * (self._n_logits - len(texts))
        return [
            torch.tensor([text[:1] in first and set(text) <= rest for text in texts])
            for first, rest in (
                ({'"'}, set('"]}')),
                ({"]", "}"}, set("]}")),
                ({"["}, set("[]")),
                ({","}, set(',"')),
            )
        ]


class GrammarMask:
    """Logits of tokens that the grammar does not allow become minus infinity.

    Parameters
    ----------
    matcher : of llguidance, at the beginning of the reply.
    closers : masks `(n_logits,)` of tokens that end something, the most wanted first.
    start : tokens of the prompt.
    until : tokens of the reply after which it is closed.
    """

    def __init__(
        self,
        matcher: Any,
        closers: "list[torch.Tensor]",
        n_logits: int,
        start: int,
        until: int,
    ) -> None:
        self._matcher = matcher
        self._closers = closers
        self._n_logits = n_logits
        self._start = self._read = start
        self._until = until
        self._repetition = Repetition()

    def __call__(self, input_ids: "torch.Tensor", scores: "torch.Tensor") -> "torch.Tensor":
        """Return logits `(1, n_logits)` to those of allowed tokens, of the same shape."""
        import torch

        said = input_ids[0, self._read :].tolist()
        self._read = input_ids.shape[1]
        if said:
            self._matcher.consume_tokens(said)
            self._repetition.read(said)
        allowed = self._allowed()
        if self._read - self._start >= self._until or self._repetition.repeated:
            self._until = 0  # once begun, the closing goes on
            allowed = next((a for c in self._closers if (a := allowed & c).any()), allowed)
        return scores.masked_fill(~allowed.to(scores.device), -torch.inf)

    def _allowed(self) -> "torch.Tensor":
        import numpy as np
        import torch

        bits = np.frombuffer(self._matcher.compute_logit_bias(), np.uint8)
        return torch.from_numpy(bits[: self._n_logits] > 0)


def bounded_schema(
    schema: type[BaseModel], max_words: int, room: int | None = None
) -> dict[str, Any]:
    """Return the JSON schema with every field required, no others, and a bound for each length.

    A field with a default is required, so that a model that forgets fields is asked for each.

    Parameters
    ----------
    max_words : length of the wanted text, in words.
    room : tokens that the reply should end within. A server's grammar closes no reply that nears
        its room, so that the bounds have to: lists have fewer items, then strings fewer characters.
    """
    described = schema.model_json_schema()
    chars, items = max(_LEAST_CHARS, _CHARS_PER_WORD * max_words), _MOST_ITEMS
    if room is not None:
        fitting = 0
        for items in range(_MOST_ITEMS, 0, -1):
            form = json.dumps(_skeleton(described, described, items))
            n_strings = max(1, form.count(f'"{_STRING}"'))
            left = room * _CHARS_PER_TOKEN - len(form)
            if (fitting := int(left / n_strings / _FILLED)) >= _LEAST_CHARS:
                break
        chars = min(chars, max(fitting, _LEAST_CHARS // 2))
    return _bounded(described, chars, items)


def _bounded(part: dict[str, Any], chars: int, items: int) -> dict[str, Any]:
    bounded = {name: value for name, value in part.items() if name != "default"}
    for name in part.keys() & {"$defs", "properties"}:
        bounded[name] = {key: _bounded(value, chars, items) for key, value in part[name].items()}
    if "anyOf" in part:
        bounded["anyOf"] = [_bounded(value, chars, items) for value in part["anyOf"]]
    kind = part.get("type")
    if kind == "array":
        bounded["items"] = _bounded(part.get("items", {}), chars, items)
        most = max(items, part.get("minItems", 0))
        bounded["maxItems"] = min(part.get("maxItems", most), most)
    elif kind == "object" and "properties" in part:
        bounded |= {"additionalProperties": False, "required": list(part["properties"])}
    elif kind == "string" and not part.keys() & {"enum", "const", "pattern", "format"}:
        bounded["maxLength"] = min(part.get("maxLength", chars), chars)
    elif kind == "integer" and not part.keys() & {"enum", "const"}:
        bounded.setdefault("minimum", -_LARGEST_INTEGER)
        bounded.setdefault("maximum", _LARGEST_INTEGER)
    return bounded


def _skeleton(part: dict[str, Any], whole: dict[str, Any], items: int = 1) -> Any:
    """Return a value with `items` items in each list and the shortest strings."""
    if "$ref" in part:
        return _skeleton(whole["$defs"][part["$ref"].rpartition("/")[2]], whole, items)
    if choices := part.get("enum") or [part[key] for key in ("const",) if key in part]:
        return max(choices, key=lambda choice: len(str(choice)))
    if "anyOf" in part:
        values = [_skeleton(choice, whole, items) for choice in part["anyOf"]]
        return max(values, key=lambda value: len(json.dumps(value)))
    if part.get("type") == "array":
        count = max(min(items, part.get("maxItems", items)), part.get("minItems", 0))
        return [_skeleton(part["items"], whole, items)] * count
    if part.get("type") == "object":
        fields = part.get("properties", {})
        return {name: _skeleton(value, whole, items) for name, value in fields.items()}
    return "x" * max(len(_STRING), part.get("minLength", 0))
