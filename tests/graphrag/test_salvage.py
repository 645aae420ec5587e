"""Of a malformed reply, all that is good is kept, and what is not is told."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gsum_assets.graphrag.salvage import salvage
from gsum_assets.graphrag.schemas import extraction_schema

SCHEMA = extraction_schema(("person", "place"), True)


def entity(name: Any, kind: Any = "person") -> dict:
    return {"name": name, "type": kind, "description": f"all of {name}"[:40]}


def related(source: str, target: str, **fields: Any) -> dict:
    return {"source": source, "target": target, "description": "met"} | fields


LIN, ANN, YORK = entity("Lin"), entity("Ann"), entity("York", "place")
LISTS = {
    "entities": [LIN, ANN, YORK],
    "relationships": [related("Lin", "Ann", strength=7)],
    "claims": [{"subject": "Lin", "description": "Lin met Ann."}],
}
WHOLE = json.dumps(LISTS)


def kept(text: str) -> tuple[list[list[str]], list[str]]:
    """Names of the entities, sources of the relationships and subjects of the claims; the slips."""
    found, slips = salvage(text, SCHEMA)
    if found is None:
        return [], slips
    fields = {"entities": "name", "relationships": "source", "claims": "subject"}
    return [[getattr(x, end) for x in getattr(found, name)] for name, end in fields.items()], slips


def of(**lists: Any) -> str:
    return json.dumps(lists, ensure_ascii=False)


ALL = [["Lin", "Ann", "York"], ["Lin"], ["Lin"]]


@pytest.mark.parametrize(
    "text",
    [
        WHOLE,
        f"As [1] says of {{Lin}}: here you are.\n```json\n{WHOLE}\n```\nAnything else? [2]",
        f"<think>is it {{}}?</think>{WHOLE}",
        f"[{WHOLE}]",
        WHOLE[:-1],
        WHOLE.replace('"claims"', "'claims'").replace("}]}", "},]}"),
        WHOLE + json.dumps({"entities": [entity("Bo")]}),
    ],
)
def test_slips_around_and_between_items_lose_none(text: str) -> None:
    assert kept(text) == (ALL, [])


@pytest.mark.parametrize(
    ("text", "names", "slips"),
    [
        (
            of(entities=[LIN, entity("Rex", "dog")]),
            ["Lin", "Rex"],
            [],
        ),
        (
            of(entities=[entity("Rex", "dog"), entity("Tom", "cat")]),
            ["Rex", "Tom"],
            [],
        ),
        (of(entities=[LIN, entity("Rex", None)]), ["Lin"], ["entities, type: Input"]),
        (of(entities=[LIN, entity("")]), ["Lin"], ["entities, name: a name without letter"]),
        (of(entities=[LIN, entity("***")]), ["Lin"], ["entities, name: a name without letter"]),
        (of(entities=[LIN, entity("x" * 10_000)]), ["Lin"], ["entities, name: a name that is too"]),
        (of(entities=[LIN, entity(["Ann"])]), ["Lin"], ["entities, name: Input should be"]),
        (of(entities=[entity("", "dog"), LIN]), ["Lin"], ["entities, name: a name without letter"]),
        (of(entities=[LIN, "Ann", None, 7]), ["Lin"], ["3 of entities, item: Input should be"]),
        (of(entities=[LIN, {"name": "Ann"}]), ["Lin"], ["entities, type: Field required"]),
        (of(entities=[LIN], relationships="none"), ["Lin"], ["relationships: not a list"]),
        (of(entities=[LIN], relationships=None, other=[1]), ["Lin"], []),
        (json.dumps([LIN, ANN]), ["Lin", "Ann"], []),
        (WHOLE[: WHOLE.index('"Ann"') + 3], ["Lin"], ["entities, "]),
        (WHOLE[: WHOLE.index(', {"name": "Ann"') + 1], ["Lin"], []),
        (of(entities=[entity("**李雷**"), entity("<b>محمد</b>")]), ["李雷", "محمد"], []),
        (of(entities=[entity("राम"), entity("Анна & Lin")]), ["राम", "Анна & Lin"], []),
    ],
)
def test_good_entities_are_kept(text: str, names: list[str], slips: list[str]) -> None:
    found, told = kept(text)
    assert found[0] == names
    assert len(told) == len(slips)
    assert all(line.startswith(start) for line, start in zip(told, slips, strict=True))


@pytest.mark.parametrize(
    ("relationship", "slip"),
    [
        (related("Lin", "LIN"), "relationships, item: related to itself"),
        (related("Lin", " **lin**."), "relationships, item: related to itself"),
        (related("Lin", ""), "relationships, target: a name without letter or digit"),
        (related("Lin", "Ann", strength=11), "relationships, strength: Input should be less"),
        (
            related("Lin", "Ann", strength="much"),
            "relationships, strength: Input should be a valid",
        ),
        ({"source": "Lin", "target": "Ann"}, "relationships, description: Field required"),
    ],
)
def test_bad_relationships_alone_are_left_out(relationship: dict, slip: str) -> None:
    good = related("Ann", "York")
    found, slips = kept(of(entities=[LIN], relationships=[relationship, good]))
    assert found == [["Lin"], ["Ann"], []]
    assert len(slips) == 1
    assert slips[0].startswith(slip)


@pytest.mark.parametrize(
    ("status", "taken"),
    [
        ("true", "true"),
        (True, "true"),
        (" False", "false"),
        ("SUSPECTED", "suspected"),
        ("maybe", ""),
    ],
)
def test_the_status_of_a_claim(status: Any, taken: str) -> None:
    claim = {"subject": "Lin", "description": "so", "status": status, "object": "-"}
    found, slips = salvage(of(entities=[LIN], claims=[claim]), SCHEMA)
    assert [one.status for one in found.claims] == ([taken] if taken else [])
    assert [one.object for one in found.claims] == ([""] if taken else [])
    assert bool(slips) != bool(taken)


@pytest.mark.parametrize(
    "text",
    ["", " ", "I cannot do that.", "null", "17", '"Lin"', "{}", "[]", '["Lin", "Ann"]', "{", "}{"],
)
def test_of_nothing_nothing_is_kept(text: str) -> None:
    assert salvage(text, SCHEMA)[0] is None


@pytest.mark.parametrize(
    "text",
    ['{"nodes": []}', of(entities=[]), of(entities="Lin"), "<think>{", "\ud800", "[1] says so"],
)
def test_of_something_else_nothing_is_kept(text: str) -> None:
    assert salvage(text, SCHEMA)[0] is None


def test_claims_that_are_not_wanted_are_passed_over() -> None:
    found, slips = salvage(WHOLE, extraction_schema(("person", "place"), False))
    assert not hasattr(found, "claims")
    assert slips == []


def test_half_characters_become_the_sign_for_unknown_ones() -> None:
    found, _ = salvage(
        '{"entities": [{"name": "L\\ud83d", "type": "person", "description": "\\udc00"}', SCHEMA
    )
    assert (found.entities[0].name, found.entities[0].description) == ("L\ufffd", "\ufffd")


@pytest.mark.parametrize("text", ["{" * 200_000, '{"' * 90_000, "{'" * 90_000, "[" * 200_000])
def test_brackets_without_end_are_no_trap(text: str) -> None:
    assert salvage(text, SCHEMA)[0] is None
    assert kept(WHOLE[:-1] + ', "more": ' + text)[0] == ALL


@given(st.integers(0, len(WHOLE)))
def test_a_reply_cut_off_anywhere_keeps_its_whole_items(length: int) -> None:
    found, _ = kept(WHOLE[:length])
    names = [one["name"] for one in LISTS["entities"]]
    n_whole = sum(
        length >= WHOLE.index(json.dumps(one)) + len(json.dumps(one)) for one in (LIN, ANN, YORK)
    )
    entities = found[0] if found else []
    assert entities == names[: len(entities)]
    # of an item that is cut off in its last words, the description is cut off as well
    assert n_whole <= len(entities) <= n_whole + 1


@given(st.text(max_size=200) | st.text(st.sampled_from('{}[]":,\\ nametypientrs1'), max_size=200))
def test_any_text_is_looked_through(text: str) -> None:
    found, slips = salvage(text, SCHEMA)
    assert found is None or any(vars(found).values())
    assert all(isinstance(line, str) for line in slips)
