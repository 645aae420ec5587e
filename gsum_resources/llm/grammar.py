"""Grammars that restrict the tokens of structured replies to a JSON schema.

`llguidance` builds the grammar from the JSON schema. A reply that approaches its maximum length, or
that repeats itself, is closed: from there on only tokens are allowed that end strings, lists and
objects, wherever the grammar allows one.
"""

import json
import re
from collections.abc import Sequence
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


class GrammarError(ValueError):
    """A schema without a grammar."""


class Repetition:
    """Detects, token by token, that a text repeats itself.

    A greedy model that has written the same three times will not stop.
    """

    def __init__(self) -> None:
        self._ids: list[int] = []
        # by period: number of tokens equal to the one a period before
        self._matched = [0] * (_LONGEST_PERIOD + 1)
        self.repeated = 0  # tokens at the end that only repeat the text before them

    @property
    def length(self) -> int:
        """Number of tokens that were read."""
        return len(self._ids)

    def read(self, ids: Sequence[int]) -> None:
        """Continue the text with `ids`."""
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
    """Return whether a text, possibly cut inside a word, ends in repeated words."""
    repetition = Repetition()
    repetition.read([hash(word) for word in _WORDS_AND_MARKS.findall(text)[:-1]])
    return repetition.repeated > 0


class Grammars:
    """Grammars over the tokens of one model, which may have more logits than tokens."""

    def __init__(self, tokenizer: Any, n_logits: int, ends: Sequence[int]) -> None:
        import llguidance.hf

        self._tokenizer = tokenizer
        self._n_logits = n_logits
        self._tokens = llguidance.hf.from_tokenizer(tokenizer, n_logits, list(ends))

    def mask(self, schema: type[BaseModel], max_words: int, start: int, room: int) -> "GrammarMask":
        """Return a logits processor for one reply.

        Raises
        ------
        GrammarError
            If no grammar can be built for the schema.
        """
        import llguidance

        bounded = reply_schema(schema, max_words)
        grammar = llguidance.LLMatcher.grammar_from_json_schema(
            bounded,
            overrides={"whitespace_flexible": False, "item_separator": ", ", "key_separator": ": "},
        )
        matcher = llguidance.LLMatcher(self._tokens, grammar)
        if matcher.is_error():
            raise GrammarError(
                f"no grammar can be built for the schema '{schema.__name__}' "
                f"({matcher.get_error()}); set structured_output to 'prompt' in gsum.toml"
            )
        shortest = json.dumps(_skeleton(bounded, bounded))
        closing = 2 * len(self._tokenizer(shortest)["input_ids"]) + _SPARE_TOKENS
        return GrammarMask(matcher, self._closers, self._n_logits, start, room - closing)

    @cached_property
    def _closers(self) -> "list[torch.Tensor]":
        """Masks of tokens that end a string, that end a list or object, open a list, end a value.

        Only the last may contain a comma, after which a list continues. None may open an object: a
        required list stays empty.
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
    """Sets the logits of tokens that the grammar does not allow to minus infinity.

    Parameters
    ----------
    closers : masks `(n_logits,)` of tokens that end something, in order of preference.
    start : number of tokens of the prompt.
    until : number of tokens of the reply after which it is closed.
    """

    def __init__(
        self, matcher: Any, closers: "list[torch.Tensor]", n_logits: int, start: int, until: int
    ) -> None:
        self._matcher = matcher
        self._closers = closers
        self._n_logits = n_logits
        self._start = start
        self._until = until
        self._repetition = Repetition()

    def __call__(self, input_ids: "torch.Tensor", scores: "torch.Tensor") -> "torch.Tensor":
        """Return the logits `(1, n_logits)`, minus infinity for forbidden tokens."""
        import numpy as np
        import torch

        new_tokens = input_ids[0, self._start + self._repetition.length :].tolist()
        if new_tokens:
            self._matcher.consume_tokens(new_tokens)
            self._repetition.read(new_tokens)
        bits = np.frombuffer(self._matcher.compute_logit_bias(), np.uint8)
        allowed = torch.from_numpy(bits[: self._n_logits] > 0)
        if self._repetition.length >= self._until or self._repetition.repeated:
            self._until = 0  # once begun, the closing continues
            allowed = next((a for c in self._closers if (a := allowed & c).any()), allowed)
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
