"""Small mistakes of form are repaired if unambiguous, and nothing is invented."""

import json
from typing import Annotated, Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, RootModel

from gsum_assets.graphrag.schemas import Report, extraction_schema
from gsum_assets.jerr.schemas import Extraction, LookUp
from gsum_resources.llm.replies import StructureError, coerced, read
from gsum_resources.protocols.results import PartialAnswer, Score


class Thing(BaseModel):
    model_config = ConfigDict(extra="forbid")
    text: str
    score: int = Field(default=5, ge=1, le=10)
    share: int = Field(default=0, ge=0, le=100)
    number: int = 0
    weight: float = 1.0
    is_good: bool = False
    kind: Literal["answer 1", "answer 2", "neither"] = "neither"
    lines: list[str] = Field(default_factory=list)
    references: list[int] = Field(default_factory=list)
    maybe: int | None = None
    long_name: str = ""
    exact: int = Field(default=3, strict=True, ge=1, le=5)


def field_of(name: str, value: Any) -> Any:
    text = json.dumps({"text": "t", name: value} if name != "text" else {"text": value})
    return getattr(read(text, Thing, truncated=False).value, name)


@pytest.mark.parametrize(
    ("name", "said", "meant"),
    [
        ("text", None, ""),
        ("text", 1984, "1984"),
        ("text", True, "true"),
        ("text", ["One.", "Two."], "One. Two."),
        ("text", {"statement": "One."}, "One."),
        ("long_name", None, ""),
        ("lines", None, []),
        ("lines", "One.", ["One."]),
        ("lines", "- One.\n- Two.", ["One.", "Two."]),
        ("lines", ["One.", None, 2], ["One.", "2"]),
        ("score", 7.5, 8),
        ("score", 7.0, 7),
        ("score", "7", 7),
        ("score", "7.4", 7),
        ("score", "80%", 8),
        ("score", "8/10", 8),
        ("score", "4 out of 5", 8),
        ("score", "Score: 8/10", 8),
        ("score", 12, 10),
        ("score", 0, 1),
        ("score", "7 (very relevant)", 7),
        ("score", [7], 7),
        ("score", None, 5),
        ("share", "80%", 80),
        ("share", "80 percent", 80),
        ("share", "8/10", 80),
        ("share", -3, 0),
        ("number", "[1]", 1),
        ("number", "passage 1", 1),
        ("number", "passage-1", 1),
        ("number", "p1", 1),
        ("number", "-1", -1),
        ("number", "1,234", 1234),
        ("weight", "2.5", 2.5),
        ("is_good", "yes", True),
        ("is_good", "TRUE", True),
        ("is_good", "No.", False),
        ("is_good", 1, True),
        ("kind", "Answer 1", "answer 1"),
        ("kind", "ANSWER_2.", "answer 2"),
        ("references", "[1]", [1]),
        ("references", "passages 1 and 2", [1, 2]),
        ("references", ["[1]", "passage 3", 2.0], [1, 3, 2]),
        ("references", 4, [4]),
        ("maybe", None, None),
        ("maybe", "4", 4),
        ("exact", 4, 4),
    ],
)
def test_small_mistake_is_repaired(name: str, said: Any, meant: Any) -> None:
    found = field_of(name, said)
    assert (found, type(found)) == (meant, type(meant))


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("text", {"a": "x", "b": "y"}),
        ("text", [{"a": 1}]),
        ("score", "between 6 and 8"),
        ("score", "1-10"),
        ("score", "seven"),
        ("score", "8/10 or 9/10"),
        ("score", ""),
        ("score", [7, 8]),
        ("is_good", "maybe"),
        ("is_good", None.__class__.__name__),
        ("kind", "answer 3"),
        ("kind", "answer 1 or answer 2"),
        ("references", "none"),
        ("references", ["first", "second"]),
        ("exact", 4.5),
        ("exact", "4"),
    ],
)
def test_ambiguous_or_unreadable_values_are_rejected(name: str, said: Any) -> None:
    with pytest.raises(StructureError, match=name):
        field_of(name, said)


def test_names_of_fields() -> None:
    for name in ("Long Name", "longName", "LONG-NAME", "long_name"):
        assert field_of("text", "t") == "t"
        said = json.dumps({"Text": "t", name: "x", "nobody": ["asked"]})
        found = read(said, Thing, truncated=False).value
        assert (found.text, found.long_name) == ("t", "x")
    # the exact name counts
    said = '{"Text": "no", "text": "yes", "extra": 1}'
    assert read(said, Thing, truncated=False).value.text == "yes"


def test_required_field_is_never_invented() -> None:
    with pytest.raises(StructureError, match="text: Field required"):
        read('{"lines": []}', Thing, truncated=False)
    with pytest.raises(StructureError, match="facts: Input should be a valid list"):
        read('{"facts": null, "elements": []}', Extraction, truncated=False)
    with pytest.raises(StructureError, match="score"):
        read('{"score": null}', Score, truncated=False)
    with pytest.raises(StructureError, match="helpfulness: Field required"):
        read('{"answer": "x"}', PartialAnswer, truncated=False)


def test_bare_list_becomes_an_object_with_one_list() -> None:
    assert read("[2, 1]", LookUp, truncated=False).value == LookUp(references=[2, 1])
    assert read('```json\n["[2]"]\n```', LookUp, truncated=False).value.references == [2]
    # a mark among prose is no list
    with pytest.raises(StructureError, match="array"):
        read("As [1] says, all is well.", LookUp, truncated=False)
    with pytest.raises(StructureError, match="array"):
        read('["fact"]', Extraction, truncated=False)  # two lists are required


def test_object_within_prose_is_repaired() -> None:
    assert read('Sure: {"Score": "8/10"}!', Score, truncated=False).value.score == 8
    with pytest.raises(StructureError, match="2 different"):
        read('{"Score": "8/10"} or {"Score": "9/10"}', Score, truncated=False)


def test_bounds_and_items_at_the_top_level() -> None:
    class Scores(RootModel[list[Annotated[int, Field(ge=1, le=3)]]]):
        """A list at the top."""

    assert read('["2", 7]', Scores, truncated=False).value.root == [2, 3]


def finding(n: int, **fields: Any) -> dict:
    return {"summary": f"s{n}", "explanation": "e", "references": [n]} | fields


def test_list_keeps_valid_items_if_most_are_valid() -> None:
    report = {"title": "t", "summary": "s", "rating": 7.5}
    bad = [{"summary": "alone"}, {"summary": "x", "explanation": "y", "references": "none"}]
    good = [finding(n) for n in range(3)]
    found = read(json.dumps(report | {"findings": [*bad, *good]}), Report, truncated=False)
    assert [one.summary for one in found.value.findings] == ["s0", "s1", "s2"]
    assert found.value.rating == 8
    assert found.slips == (
        "findings, explanation: Field required",
        "findings, references: Input should be a valid integer, unable to parse string as an "
        "integer",
    )
    with pytest.raises(StructureError, match=r"findings\.0\.explanation"):
        read(json.dumps(report | {"findings": [*bad, *good[:2]]}), Report, truncated=False)


def test_dropped_items_are_counted_by_kind() -> None:
    schema = extraction_schema(("person",), False)
    entities = [{"name": f"Lin {i}", "type": "person", "description": None} for i in range(3)]
    ends = [("Lin 1", "Lin 1"), ("Lin 2", "lin 2"), *[("Lin 1", f"Lin {i}") for i in (0, 2, 3)]]
    related = [{"source": a, "target": b, "description": "so"} for a, b in ends]
    text = json.dumps({"entities": entities, "relationships": related})
    found = read(text, schema, truncated=False)
    assert len(found.value.relationships) == 3  # type: ignore[attr-defined]
    assert [one.description for one in found.value.entities] == [""] * 3  # type: ignore[attr-defined]
    assert found.slips == ("2 of relationships: is related to itself; name two entities",)


def test_valid_values_are_unchanged() -> None:
    def shout(text: str) -> str:
        return text.upper()

    class Loud(BaseModel):
        text: Annotated[str, AfterValidator(shout)]

    assert read('{"text": "a"}', Loud, truncated=False).value.text == "A"
    valid = Thing(text="80%", lines=["- One."])
    assert read(valid.model_dump_json(), Thing, truncated=False) == (valid, ())


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner),
    max_leaves=10,
)


@given(st.dictionaries(st.sampled_from([*Thing.model_fields, "Text", "x"]), JSON_VALUES))
def test_any_value_is_repaired_or_rejected(value: dict) -> None:
    assert set(coerced(value, Thing)[0]) <= set(Thing.model_fields)
    try:
        found = read(json.dumps(value), Thing, truncated=False).value
    except StructureError:
        return
    assert "text" in {name.lower() for name in value}
    assert Thing.model_validate(found.model_dump()) == found
