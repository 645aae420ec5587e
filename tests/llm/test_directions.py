"""Directions for JSON in prompts: short, and every field is named and described."""

import json
from typing import Any, Literal

from pydantic import BaseModel, Field

from gsum_assets.corpus.chunk import n_word_pieces
from gsum_assets.graphrag.schemas import extraction_schema
from gsum_assets.graphrag.settings import ExtractionSettings
from gsum_resources.llm.directions import json_directions
from gsum_resources.protocols.results import Entities
from tests.llm.reply_cases import Names


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
    enforced = json_directions(Entities, is_enforced=True).splitlines()[-1]
    assert enforced.startswith('{"entities": [{"name": "…", "type": "…"')
    listed: Any = Names
    assert json_directions(listed).endswith('["<A list at the top>"]')


def test_largest_schema_is_short() -> None:
    schema = extraction_schema(tuple(ExtractionSettings().entity_types), claims=True)
    assert n_word_pieces([json_directions(schema)])[0] < 280  # of its JSON schema: over 700
    assert n_word_pieces([json.dumps(schema.model_json_schema())])[0] > 700
