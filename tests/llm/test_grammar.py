"""A model that says anything at all, and replies whose structure is right all the same."""

import json
from typing import Any, Literal

import jsonschema
import pytest
from pydantic import BaseModel, Field

from gsum_assets.corpus.chunk import n_word_pieces
from gsum_assets.evaluation.judges.verdicts import CRITERIA, Rating, pairwise_verdict
from gsum_assets.graphrag.schemas import Report, extraction_schema
from gsum_assets.graphrag.settings import ExtractionSettings
from gsum_assets.jerr.prompts import Extraction, Keywords, LookUp, Pause
from gsum_resources.llm.directions import json_directions
from gsum_resources.llm.grammar import (
    Grammars,
    RequestError,
    n_repeated,
    repeats_itself,
    reply_schema,
)
from gsum_resources.protocols.results import Entities
from tests.llm.test_transformers_local import END, write_tokenizer

EXTRACTION = extraction_schema(("person", "place"), True)
SCHEMAS = (
    *(pairwise_verdict(CRITERIA), Rating, Report, EXTRACTION),
    *(Extraction, Keywords, LookUp, Pause),
)
ROOM = 1200


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory: pytest.TempPathFactory) -> Any:
    words = ['"}', '"]', '", "', "],", "},", '",', '"},', "}, ", '[{"', "[]", "the ", " \\", "\n"]
    return write_tokenizer(tmp_path_factory.mktemp("tokens"), words)


def babble(tokenizer: Any, schema: type[BaseModel], seed: int, room: int = ROOM) -> str:
    """Return the reply of a model with random logits under the grammar."""
    import torch

    end = tokenizer.convert_tokens_to_ids(END)
    n = len(tokenizer) + 3  # a model may have more logits than tokens
    mask = Grammars(tokenizer, n, [end]).mask(schema, max_words=30, start=2, room=room)
    generator = torch.Generator().manual_seed(seed)
    ids = torch.zeros((1, 2), dtype=torch.long)
    for _ in range(room):
        scores = mask(ids, torch.rand((1, n), generator=generator))
        ids = torch.cat([ids, scores.argmax(1, keepdim=True)], 1)
        if ids[0, -1] == end:
            return tokenizer.decode(ids[0, 2:-1])
    raise AssertionError(f"no end: {tokenizer.decode(ids[0, 2:])}")


@pytest.mark.parametrize("schema", SCHEMAS, ids=lambda schema: schema.__name__)
@pytest.mark.parametrize("seed", [1, 2])
def test_random_text_satisfies_the_schema_within_its_limit(tokenizer, schema, seed):
    reply = json.loads(babble(tokenizer, schema, seed))
    jsonschema.validate(reply, reply_schema(schema, max_words=30))
    assert list(reply) == list(schema.model_fields)  # those with a default too


def test_reply_near_its_limit_is_closed(tokenizer):
    class Deep(BaseModel):
        lists: list[list[str]]
        number: int
        choice: Literal["yes", "no"]
        name: str = Field(min_length=3)

    for room in (130, 200, 400):
        assert Deep.model_validate_json(babble(tokenizer, Deep, 5, room))


def test_schema_bounds_are_kept_and_missing_ones_added():
    class Bounded(BaseModel):
        short: str = Field(default="", max_length=7)
        long: str
        few: list[int] = Field(max_length=2)
        many: list[str] = Field(default_factory=list)

    schema = reply_schema(Bounded, max_words=100)
    properties = schema["properties"]
    assert (properties["short"]["maxLength"], properties["long"]["maxLength"]) == (7, 800)
    assert (properties["few"]["maxItems"], properties["many"]["maxItems"]) == (2, 24)
    assert schema["required"] == ["short", "long", "few", "many"]


@pytest.mark.parametrize("room", [300, 800, 3000])
def test_bounds_allow_the_longest_usual_reply(room: int):
    class Item(BaseModel):
        name: str
        description: str

    class Lists(BaseModel):
        first: list[Item]
        second: list[Item]

    bounded = reply_schema(Lists, 300, room)
    most = bounded["properties"]["first"]["maxItems"]
    longest = bounded["$defs"]["Item"]["properties"]["name"]["maxLength"]
    item = Item(name="x" * (longest // 2), description="x" * (longest // 2))  # half full
    reply = Lists(first=[item] * most, second=[item] * most).model_dump_json()
    assert room / 2 < len(reply) / 3 <= room  # three characters a token
    assert reply_schema(Lists, 300)["properties"]["first"]["maxItems"] == 24


def test_schema_without_grammar_raises_naming_the_setting(tokenizer):
    class Odd(BaseModel):
        value: str = Field(json_schema_extra={"pattern": "(?=never)x"})

    with pytest.raises(RequestError, match=r"(?s)'Odd'.*structured_output to 'prompt'"):
        babble(tokenizer, Odd, 0)


@pytest.mark.parametrize(
    ("ids", "repeated"),
    [
        (range(200), 0),
        ([*range(50), *[7] * 20], 0),  # a rule across the page
        ([*range(50), *[7] * 60], 36),
        ([*range(50), *[1, 2, 3, 4, 5] * 10], 36),
        ([*range(50), *[*range(100, 120)] * 2], 0),  # a refrain
        ([*range(50), *[*range(100, 120)] * 3], 40),
    ],
)
def test_loop_is_a_threefold_repetition(ids, repeated):
    found = (n_repeated(list(ids)[:end]) for end in range(len(ids) + 1))
    assert next(filter(None, found), 0) == repeated


def test_loop_within_a_reply_closes_it(tokenizer):
    import torch

    end = tokenizer.convert_tokens_to_ids(END)
    mask = Grammars(tokenizer, len(tokenizer), [end]).mask(Keywords, 400, start=0, room=4000)
    a = tokenizer.convert_tokens_to_ids("a")
    ids = torch.zeros((1, 0), dtype=torch.long)
    while not ids.numel() or ids[0, -1] != end:
        scores = torch.zeros((1, len(tokenizer)))
        scores[0, a] = 1  # says nothing else, where that is allowed
        ids = torch.cat([ids, mask(ids, scores).argmax(1, keepdim=True)], 1)
    (keyword,) = Keywords.model_validate_json(tokenizer.decode(ids[0, :-1])).keywords
    assert 36 <= len(keyword) < 50


@pytest.mark.parametrize(
    ("text", "repeats"),
    [
        ("Rust on the hull. " * 20, True),
        ("Rust on the hull. " * 20 + "Rust on th", True),
        ('{"names": ["' + 'a boat", "' * 30, True),
        ("Rust on the hull. " * 20 + "The end.", False),
        (" ".join(f"Boat {i} left the harbour at {i % 24}:00." for i in range(60)), False),
        ("", False),
    ],
)
def test_text_ending_in_a_loop_is_detected(text: str, repeats: bool) -> None:
    assert repeats_itself(text) is repeats


# Directions for JSON in prompts: short, and every field is named and described.


def test_directions_name_and_describe_every_field() -> None:
    class Kind(BaseModel):
        kind: Literal["old", "new"]
        state: Literal["true", "false"]
        is_good: bool
        long_name: str | None = None
        numbers: list[int] = Field(description="Numbers of passages. Never more than three.")
        rank: int = Field(ge=1, le=3, description="How good it is, as far as known.")
        free: dict[str, str] = Field(default_factory=dict)

    form = json_directions(Kind).splitlines()[-1]
    assert form == (
        '{"kind": "<old | new>", "state": "<true | false>", "is_good": <true or false>, '
        '"long_name": "<long name>", "numbers": [<Numbers of passages>], '
        '"rank": <1 to 3: How good it is>, "free": {"<name>": "<name>"}}'
    )
    form = json_directions(Entities).splitlines()[-1]
    assert form.startswith('{"entities": [{"name": "<Name as the text writes it>", "type": ')


def test_largest_schema_is_short() -> None:
    schema = extraction_schema(tuple(ExtractionSettings().entity_types), claims=True)
    assert n_word_pieces([json_directions(schema)])[0] < 280  # of its JSON schema: over 700
    assert n_word_pieces([json.dumps(schema.model_json_schema())])[0] > 700
