"""Of a malformed reply, all that is good is kept, and what is not is named."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gsum_assets.graphrag.schemas import Report, extraction_schema
from gsum_assets.jerr.schemas import Extraction
from gsum_resources.llm.replies import salvage, usable
from gsum_resources.protocols.models import Completion, CompletionError
from gsum_resources.protocols.results import PartialAnswer

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
def test_mistakes_around_and_between_items_lose_none(text: str) -> None:
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
        (of(entities=[LIN, entity("Rex", None)]), ["Lin", "Rex"], []),
        (of(entities=[LIN, entity("")]), ["Lin"], ["entities, name: the name holds no letter"]),
        (of(entities=[LIN, entity("***")]), ["Lin"], ["entities, name: the name holds no letter"]),
        (of(entities=[LIN, entity("x" * 10_000)]), ["Lin"], ["entities, name: the name"]),
        (of(entities=[LIN, entity(["Ann"])]), ["Lin", "Ann"], []),
        (
            of(entities=[entity("", "dog"), LIN]),
            ["Lin"],
            ["entities, name: the name holds no letter"],
        ),
        (of(entities=[LIN, "Ann", None, 7]), ["Lin"], ["2 of entities: Input should be"]),
        (of(entities=[LIN, {"name": "Ann"}]), ["Lin"], ["entities, type: Field required"]),
        (of(entities=[LIN], relationships="none"), ["Lin"], ["relationships: Input should be"]),
        (of(entities=[LIN], relationships=None, other=[1]), ["Lin"], []),
        (json.dumps([LIN, ANN]), ["Lin", "Ann"], []),
        (WHOLE[: WHOLE.index('"Ann"') + 3], ["Lin"], []),
        (WHOLE[: WHOLE.index(', {"name": "Ann"') + 1], ["Lin"], []),
        (of(entities=[entity("**李雷**"), entity("<b>محمد</b>")]), ["李雷", "محمد"], []),
        (of(entities=[entity("राम"), entity("Анна & Lin")]), ["राम", "Анна & Lin"], []),
    ],
)
def test_valid_entities_are_kept(text: str, names: list[str], slips: list[str]) -> None:
    found, messages = kept(text)
    assert found[0] == names
    assert len(messages) == len(slips)
    assert all(line.startswith(start) for line, start in zip(messages, slips, strict=True))


@pytest.mark.parametrize(
    ("relationship", "slip"),
    [
        (related("Lin", "LIN"), "relationships: is related to itself"),
        (related("Lin", " **lin**."), "relationships: is related to itself"),
        (related("Lin", ""), "relationships, target: the name holds no letter or digit"),
        (
            related("Lin", "Ann", strength="much"),
            "relationships, strength: Input should be a valid",
        ),
        ({"source": "Lin", "target": "Ann"}, "relationships, description: Field required"),
    ],
)
def test_only_invalid_relationships_are_dropped(relationship: dict, slip: str) -> None:
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
def test_status_of_a_claim(status: Any, taken: str) -> None:
    claim = {"subject": "Lin", "description": "so", "status": status, "object": "-"}
    found, slips = salvage(of(entities=[LIN], claims=[claim]), SCHEMA)
    assert [one.status for one in found.claims] == ([taken] if taken else [])
    assert [one.object for one in found.claims] == ([""] if taken else [])
    assert bool(slips) != bool(taken)


@pytest.mark.parametrize(
    "text",
    ["", " ", "I cannot do that.", "null", "17", '"Lin"', "{}", "[]", '["Lin", "Ann"]', "{", "}{"],
)
def test_empty_text_gives_nothing(text: str) -> None:
    assert salvage(text, SCHEMA)[0] is None


@pytest.mark.parametrize(
    "text",
    ['{"nodes": []}', of(entities=[]), of(entities="Lin"), "<think>{", "\ud800", "[1] says so"],
)
def test_other_json_gives_nothing(text: str) -> None:
    assert salvage(text, SCHEMA)[0] is None


def test_unrequested_claims_are_ignored() -> None:
    found, slips = salvage(WHOLE, extraction_schema(("person", "place"), False))
    assert not hasattr(found, "claims")
    assert slips == []


def test_lone_surrogates_become_replacement_characters() -> None:
    found, _ = salvage(
        '{"entities": [{"name": "L\\ud83d", "type": "person", "description": "\\udc00"}', SCHEMA
    )
    assert (found.entities[0].name, found.entities[0].description) == ("L\ufffd", "\ufffd")


@pytest.mark.parametrize("text", ["{" * 200_000, '{"' * 90_000, "{'" * 90_000, "[" * 200_000])
def test_endless_brackets_terminate(text: str) -> None:
    assert salvage(text, SCHEMA)[0] is None
    assert kept(WHOLE[:-1] + ', "more": ' + text)[0] == ALL


@given(st.integers(0, len(WHOLE)))
def test_truncated_reply_keeps_its_complete_items(length: int) -> None:
    found, _ = kept(WHOLE[:length])
    names = [one["name"] for one in LISTS["entities"]]
    n_whole = sum(
        length >= WHOLE.index(json.dumps(one)) + len(json.dumps(one)) for one in (LIN, ANN, YORK)
    )
    entities = found[0] if found else []
    assert entities == names[: len(entities)]
    assert len(entities) == n_whole


@given(st.text(max_size=200) | st.text(st.sampled_from('{}[]":,\\ nametypientrs1'), max_size=200))
def test_any_text_is_searched(text: str) -> None:
    found, slips = salvage(text, SCHEMA)
    assert found is None or any(vars(found).values())
    assert all(isinstance(line, str) for line in slips)


FINDING = {"summary": "Ann rules.", "explanation": "As [1] says.", "references": [1, 12]}
REPORT = {"title": "Lin", "summary": "All of it.", "rating": 7, "findings": [FINDING, FINDING]}


@given(st.integers(0, len(json.dumps(REPORT))))
def test_truncated_report_keeps_its_complete_findings(length: int) -> None:
    text = json.dumps(REPORT)
    one = json.dumps(FINDING)
    n_whole = text[:length].count(one)
    report, _ = salvage(text[:length], Report)
    assert (report is not None) == bool(n_whole)
    if report is not None:
        assert (report.title, report.summary, report.rating) == ("Lin", "All of it.", 7)
        assert [found.model_dump() for found in report.findings] == [FINDING] * n_whole


@pytest.mark.parametrize("lacking", ["title", "summary", "rating"])
def test_report_without_title_summary_or_rating_is_dropped(lacking: str) -> None:
    text = json.dumps({name: value for name, value in REPORT.items() if name != lacking})
    assert salvage(text[:-1], Report)[0] is None


@pytest.mark.parametrize(
    ("text", "helpfulness"),
    [
        ('{"answer": "Ann rules.", "helpfulness": 80, "answer', 80),
        ('{"answer": "Ann rules.", "helpfulness": "80"', 80),
        ('{"answer": "Ann rules.", "helpfulness": 8', None),  # it may have been 80
        ('{"answer": "Ann rules."', None),
        ('{"helpfulness": 80, "answer": "Ann ru', None),
        ('{"helpfulness": 80, "answer": "Ann rules [1]', None),
        ('{"answer": "<answer>", "helpfulness": 80}', None),  # the form, not filled in
    ],
)
def test_partial_answer_is_kept_whole_or_not_at_all(text: str, helpfulness: int | None) -> None:
    partial, _ = salvage(text, PartialAnswer)
    assert (partial and partial.helpfulness) == helpfulness
    assert partial is None or partial.answer == "Ann rules."


def test_facts_before_the_truncation_are_kept() -> None:
    facts = ["Ann rules York.", "Lin met Ann."]
    text = json.dumps({"facts": [*facts, "Lin left for the North."]})
    found, _ = salvage(text[: text.index("North")], Extraction)
    assert found is not None
    assert (found.facts, found.elements, found.relations) == (facts, [], [])


def test_valid_reply_is_unchanged_and_lists_its_dropped_items() -> None:
    partial = PartialAnswer(answer="a", helpfulness=1)
    reply = Completion("", "m", 1, 1, 0.0, partial)
    assert usable(reply, PartialAnswer) == (partial, "")
    slipped = Completion("", "m", 1, 1, 0.0, partial, slips=("one", "two"))
    assert usable(slipped, PartialAnswer) == (partial, "left out: one; two")


def test_failed_reply_states_its_problem_and_outcome() -> None:
    cut = CompletionError("cut off", "m", text='{"answer": "a", "helpfulness": 5, ')
    partial, problem = usable(cut, PartialAnswer)
    assert partial == PartialAnswer(answer="a", helpfulness=5)
    assert problem == "cut off (what can be read is kept)"
    lost = usable(CompletionError("away", "m"), PartialAnswer)
    assert lost == (None, "away")
    prose = usable(CompletionError("no JSON", "m", text="Well."), PartialAnswer)
    assert prose == (None, "no JSON (nothing of it could be used)")
