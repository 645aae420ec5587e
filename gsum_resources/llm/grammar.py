"""Grammars that restrict the tokens of structured replies to a JSON schema.

`llguidance` builds the grammar from the JSON schema. A reply that approaches its maximum length, or
that repeats itself, is closed: from there on only tokens are allowed that end strings, lists and
objects, wherever the grammar allows one.
"""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel

if TYPE_CHECKING:
    import torch

_MOST_ITEMS = 24  # per list; longer replies are loops, or do not fit
_CHARS_PER_WORD = 8  # no string may be longer than the whole requested text
_LEAST_CHARS = 80
_CHARS_PER_TOKEN = 3  # of JSON in English
_STRING = "xxxx"
_FILLED = 0.5  # mean length of strings relative to their maximum: names and dates are short
_LARGEST_INTEGER = 10**9 - 1
_SPARE_TOKENS = 24  # for incomplete values when the closing begins
_WORDS_AND_MARKS = re.compile(r"\w+|[^\w\s]")
_LONGEST_PERIOD = 96  # tokens of a sentence or list item that a loop repeats
_LEAST_REPEATED = 36  # tokens; a table's rule or a row of blanks is shorter
_REPEATS = 2


class RequestError(ValueError):
    """A request that a local model cannot process."""


def n_repeated(ids: list[int]) -> int:
    """Return how many tokens at the end only repeat those before them; 0 if that is no loop."""
    for period in range(1, min(_LONGEST_PERIOD, len(ids) // 3) + 1):
        n = max(_REPEATS * period, _LEAST_REPEATED)
        if ids[-n:] == ids[-n - period : -period]:
            return n
    return 0


def repeats_itself(text: str) -> bool:
    """Return whether a text, possibly cut inside a word, ends in repeated words."""
    return n_repeated([hash(word) for word in _WORDS_AND_MARKS.findall(text)[:-1]]) > 0


class Grammars:
    """Grammars over the tokens of one model, which may have more logits than tokens."""

    def __init__(self, tokenizer: Any, n_logits: int, ends: Sequence[int]) -> None:
        import llguidance.hf

        self._tokenizer = tokenizer
        self._n_logits = n_logits
        self._tokens = llguidance.hf.from_tokenizer(tokenizer, n_logits, list(ends))

    def mask(self, schema: type[BaseModel], max_words: int, start: int, room: int) -> "GrammarMask":
        """Return a logits processor for a reply of `room` tokens to a prompt of `start` tokens.

        Raises `RequestError` if no grammar can be built for the schema.
        """
        from llguidance import LLMatcher

        bounded = reply_schema(schema, max_words)
        grammar = LLMatcher.grammar_from_json_schema(
            bounded,
            overrides={"whitespace_flexible": False, "item_separator": ", ", "key_separator": ": "},
        )
        matcher = LLMatcher(self._tokens, grammar)
        if matcher.is_error():
            raise RequestError(
                f"no grammar can be built for the schema '{schema.__name__}' "
                f"({matcher.get_error()}); set structured_output to 'prompt' in gsum.toml"
            )
        shortest = json.dumps(_skeleton(bounded, bounded))
        closing = 2 * len(self._tokenizer(shortest)["input_ids"]) + _SPARE_TOKENS
        return GrammarMask(matcher, self._closers, start, room - closing)

    @cached_property
    def _closers(self) -> "list[torch.Tensor]":
        """Masks `(n_logits,)` of tokens that end something, best first; none opens an object."""
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


@dataclass
class GrammarMask:
    """Sets forbidden tokens' logits to minus infinity; after `until` tokens the reply is closed."""

    matcher: Any
    closers: "list[torch.Tensor]"
    start: int
    until: int

    def __call__(self, input_ids: "torch.Tensor", scores: "torch.Tensor") -> "torch.Tensor":
        """Return the logits `(1, n_logits)`, minus infinity for forbidden tokens."""
        import numpy as np
        import torch

        reply = input_ids[0, self.start :].tolist()
        if reply:
            self.matcher.consume_token(reply[-1])
        bits = np.frombuffer(self.matcher.compute_logit_bias(), np.uint8)
        allowed = torch.from_numpy(bits[: scores.shape[1]] > 0)
        if len(reply) >= self.until or n_repeated(reply):
            self.until = 0  # once begun, the closing continues
            allowed = next((a for c in self.closers if (a := allowed & c).any()), allowed)
        return scores.masked_fill(~allowed.to(scores.device), -torch.inf)


def reply_schema(
    schema: type[BaseModel], max_words: int | None = None, room: int | None = None
) -> dict[str, Any]:
    """Return the JSON schema with all fields required and no others, as strict modes need it.

    A field with a default is required, so that models do not omit it.

    Parameters
    ----------
    max_words : requested words, which bound the lengths of lists and strings; None: no bounds.
    room : maximum number of tokens of the reply. A server's grammar does not close a reply, so that
        bounds must limit its length: first lists get fewer items, then strings fewer characters.
    """
    described = schema.model_json_schema()
    if max_words is None:
        return _closed(described, None)
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
    return _closed(described, (chars, items))


def _closed(subschema: dict[str, Any], bounds: tuple[int, int] | None) -> dict[str, Any]:
    """Return a closed schema; `bounds` limit the characters of strings and the items of lists."""
    if "$ref" in subschema:
        return {"$ref": subschema["$ref"]}  # OpenAI's strict mode allows no other keys
    closed = {name: value for name, value in subschema.items() if name != "default"}
    for name in subschema.keys() & {"$defs", "properties"}:
        closed[name] = {key: _closed(value, bounds) for key, value in subschema[name].items()}
    if "anyOf" in subschema:
        closed["anyOf"] = [_closed(value, bounds) for value in subschema["anyOf"]]
    kind = subschema.get("type")
    if kind == "array":
        closed["items"] = _closed(subschema.get("items", {}), bounds)
    elif kind == "object" and "properties" in subschema:
        closed |= {"additionalProperties": False, "required": list(subschema["properties"])}
    if bounds is None:
        return closed
    chars, items = bounds
    if kind == "array":
        most = max(items, subschema.get("minItems", 0))
        closed["maxItems"] = min(subschema.get("maxItems", most), most)
    elif kind == "string" and not subschema.keys() & {"enum", "const", "pattern", "format"}:
        closed["maxLength"] = min(subschema.get("maxLength", chars), chars)
    elif kind == "integer" and not subschema.keys() & {"enum", "const"}:
        closed.setdefault("minimum", -_LARGEST_INTEGER)
        closed.setdefault("maximum", _LARGEST_INTEGER)
    return closed


def _skeleton(subschema: dict[str, Any], root: dict[str, Any], items: int = 1) -> Any:
    """Return a value with `items` items in each list and the shortest strings."""
    if "$ref" in subschema:
        return _skeleton(root["$defs"][subschema["$ref"].rpartition("/")[2]], root, items)
    if choices := [subschema["const"]] if "const" in subschema else subschema.get("enum"):
        return max(choices, key=lambda choice: len(str(choice)))
    if "anyOf" in subschema:
        values = [_skeleton(choice, root, items) for choice in subschema["anyOf"]]
        return max(values, key=lambda value: len(json.dumps(value)))
    if subschema.get("type") == "array":
        count = max(min(items, subschema.get("maxItems", items)), subschema.get("minItems", 0))
        return [_skeleton(subschema["items"], root, items)] * count
    if subschema.get("type") == "object":
        fields = subschema.get("properties", {})
        return {name: _skeleton(value, root, items) for name, value in fields.items()}
    return "x" * max(len(_STRING), subschema.get("minLength", 0))
