"""Replies as servers and models send them, read for every backend alike.

The structured ones are the table of cases in `reply_cases.py`.
"""

import json
from collections.abc import Callable
from typing import Annotated, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import AfterValidator, BaseModel

from gsum_assets.graphrag.schemas import Report, extraction_schema
from gsum_assets.jerr.schemas import Extraction
from gsum_resources.llm.replies import StructureError, correction, has_form, read, salvage, usable
from gsum_resources.llm.replies.coerce import coerced
from gsum_resources.llm.replies.json_text import plain_text
from gsum_resources.llm.replies.reasoning import (
    closes_reasoning,
    opens_reasoning,
    without_reasoning,
)
from gsum_resources.protocols.models import Completion, CompletionError
from tests.llm.reply_cases import (
    ANN,
    BAD_STATUS,
    CHUNK,
    FOUND,
    JSON,
    LIN,
    LISTS,
    REJECTED,
    SCHEMA_FIELDS,
    SELF,
    SYNTAX,
    UNKNOWN,
    WRAPPED,
    YORK,
    Case,
    Note,
    PartialAnswer,
    Thing,
    entity,
    of,
    related,
)


@pytest.mark.parametrize("case", [*FOUND, *SYNTAX, *WRAPPED, *SCHEMA_FIELDS, *LISTS])
def test_reply_is_read(case: Case) -> None:
    found = read(case.text, case.schema, truncated=False)
    assert found.value == case.schema.model_validate(case.content)
    assert len(found.slips) == len(case.slips)
    for slip, start in zip(found.slips, case.slips, strict=True):
        assert slip.startswith(start)
    with pytest.raises(StructureError, match="cut off"):
        read(case.text, case.schema, truncated=True)


@pytest.mark.parametrize("case", REJECTED)
def test_reply_is_rejected_with_a_brief_error(case: Case) -> None:
    with pytest.raises(StructureError, match=case.content) as error:
        read(case.text, case.schema, truncated=False)
    assert len(str(error.value)) < 600
    assert str(error.value) in correction(error.value)


def field_of(name: str, value: Any) -> Any:
    text = json.dumps({"text": "t"} | {name: value})
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


def test_valid_values_are_unchanged() -> None:
    def shout(text: str) -> str:
        return text.upper()

    class Loud(BaseModel):
        text: Annotated[str, AfterValidator(shout)]

    assert read('{"text": "a"}', Loud, truncated=False).value.text == "A"
    valid = Thing(text="80%", lines=["- One."])
    assert read(valid.model_dump_json(), Thing, truncated=False) == (valid, ())


def test_status_is_an_enumeration_for_servers() -> None:
    described = CHUNK.model_json_schema()["$defs"]["QuotedClaim"]["properties"]["status"]
    assert described["enum"] == ["true", "false", "suspected"]


@pytest.mark.parametrize(
    ("text", "has"),
    [
        (JSON, True),
        (f"```json\n{JSON}\n```", False),
        ('{"title": "t"}', False),
        ("[]", False),
        ("No.", False),
    ],
)
def test_reply_shows_whether_the_schema_was_enforced(text: str, has: bool) -> None:
    assert has_form(text, Note) is has


ANSWER = "The boat left at noon."
FINAL = f"<|channel|>final<|message|>{ANSWER}"
QUOTING = "A page that shows <think> and y</think> in its text."


@pytest.mark.parametrize(
    "text",
    [
        ANSWER,
        f"<think>When?\nAt noon.</think>\n\n{ANSWER}",
        f"When? At noon.\n</think>\n\n{ANSWER}",  # the chat template opened it
        f"When?</think>{ANSWER}",
        f"Sure.\n<think>When?</think>\n{ANSWER}",
        f"<think></think>{ANSWER}",
        f"<think>a <think>b</think> c</think>{ANSWER}",
        f"<think>They ask about </think> marks.</think>{ANSWER}",
        f"<think>1</think>\n<think>2</think>\n{ANSWER}",
        f"<thinking>When?</thinking>\n{ANSWER}",
        f"<Thinking>When?</Thinking>\n{ANSWER}",
        f"<reasoning>When?</reasoning>{ANSWER}",
        f"<seed:think>When?</seed:think>{ANSWER}",
        f"[THINK]When?[/THINK]{ANSWER}",
        f"When?[/THINK]{ANSWER}",
        f"◁think▷When?◁/think▷{ANSWER}",
        f"<think>When?</think><answer>{ANSWER}</answer>",
        f"<|channel|>analysis<|message|>When?<|end|><|start|>assistant{FINAL}<|return|>",
        f"<|start|>assistant<|channel|>analysis<|message|>When?<|end|><|start|>assistant{FINAL}",
        f"{FINAL}<|end|>",
        f"<|channel|>final <|constrain|>json<|message|>{ANSWER}",
        f"analysisWhen? At noon.assistantfinal{ANSWER}",  # special tokens were skipped
        f"{ANSWER}\n<think>Was that all?</think>",
    ],
)
def test_reasoning_is_no_part_of_the_answer(text: str) -> None:
    assert without_reasoning(text).strip() == ANSWER
    assert without_reasoning(without_reasoning(text)) == without_reasoning(text)


@pytest.mark.parametrize(
    "text",
    [
        "<think>When? At",
        "<think>",
        "[THINK]When?",
        "<|channel|>analysis<|message|>When? At",
        "<|channel|>commentary<|message|>When?<|end|>",
        "analysisWhen? At",
    ],
)
def test_reply_that_ends_within_its_reasoning_has_no_answer(text: str) -> None:
    assert without_reasoning(text) == ""


@pytest.mark.parametrize(
    "text",
    [
        "The page shows y</think> and braces %s.",
        "It shows <think> and y</think>.",
        "<think> is a mark that the page shows.",
        "Analysis of the page: it shows y</think>.",
    ],
)
def test_answer_that_quotes_a_mark_of_the_prompt_is_kept(text: str) -> None:
    assert without_reasoning(text, QUOTING) == text
    reasoned = f"<think>\nIt shows y</think> there.\n</think>\n{text}"
    assert without_reasoning(reasoned, QUOTING) == text
    assert without_reasoning(f"It shows marks.\n</think>\n\n{text}", QUOTING) == text
    assert not closes_reasoning(text, QUOTING)


def test_template_that_opens_reasoning_is_recognized() -> None:
    assert opens_reasoning("user: Who?\nassistant: <think>\n") == "<think>"
    assert opens_reasoning("What is <think>?\nassistant:") == ""
    assert closes_reasoning("When?</think>Noon.")
    assert not closes_reasoning("<think>When?</think>Noon.")


@pytest.mark.parametrize("language", ["", "text", "markdown", "md"])
def test_fence_around_a_text_is_removed(language: str) -> None:
    assert plain_text(f"```{language}\n{ANSWER}\n```\n") == ANSWER


@pytest.mark.parametrize(
    "text",
    [
        ANSWER,
        f"```python\n{ANSWER}\n```",
        f"Here:\n```\n{ANSWER}\n```",
        "```\na\n```\nb\n```\nc\n```",
    ],
)
def test_other_fences_belong_to_the_text(text: str) -> None:
    assert plain_text(text) == text


@given(st.integers(1, len(JSON) - 1), st.sampled_from(["", "```json\n", "Here it is: "]))
def test_truncated_value_is_never_accepted(length: int, before: str) -> None:
    with pytest.raises(StructureError):
        read(before + JSON[:length], Note, truncated=False)


def test_long_replies() -> None:
    lines = ["{[" * 5] * 10_000
    text = "So: " + json.dumps({"title": "t" * 100_000, "lines": lines})
    assert read(text, Note, truncated=False).value.lines == lines


@given(st.from_type(Note), st.booleans())
def test_every_value_round_trips(note: Note, ascii_only: bool) -> None:
    if note.weight != note.weight or abs(note.weight) == float("inf"):
        return  # JSON has no such number
    text = json.dumps(note.model_dump(), ensure_ascii=ascii_only)
    assert read(text, Note, truncated=False).value == note
    assert read(f"Here:\n```json\n{text}\n```\n", Note, truncated=False).value == note


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


@pytest.mark.parametrize("wrapped", [json.dumps, lambda text: f'[{{"result": {text}}}]'])
def test_valid_minority_of_a_wrapped_reply_is_salvaged(wrapped: Callable[[str], str]) -> None:
    text = json.dumps({"entities": [LIN, 7, 8], "relationships": "none"})
    found, slips = salvage(wrapped(text), CHUNK)
    assert [entity.name for entity in found.entities] == ["Lin"]  # type: ignore[union-attr]
    assert len(slips) == 2


def test_salvage_keeps_a_minority_unless_nothing_remains() -> None:
    content, slips = salvage(of(entities=[LIN], claims=[UNKNOWN, UNKNOWN]), CHUNK)
    assert [entity.name for entity in content.entities] == ["Lin"]  # type: ignore[union-attr]
    assert slips == [BAD_STATUS]
    assert salvage(of(entities=[], relationships=[SELF], claims=[UNKNOWN]), CHUNK)[0] is None


WHOLE_LISTS = {
    "entities": [LIN, ANN, YORK],
    "relationships": [related("Lin", "Ann", strength=7)],
    "claims": [{"subject": "Lin", "description": "Lin met Ann."}],
}
WHOLE = json.dumps(WHOLE_LISTS)


def kept(text: str) -> tuple[list[list[str]], list[str]]:
    """Names of the entities, sources of the relationships and subjects of the claims; the slips."""
    found, slips = salvage(text, CHUNK)
    if found is None:
        return [], slips
    fields = {"entities": "name", "relationships": "source", "claims": "subject"}
    return [[getattr(x, end) for x in getattr(found, name)] for name, end in fields.items()], slips


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
        (of(entities=[LIN, entity("Rex", "dog")]), ["Lin", "Rex"], []),
        (of(entities=[entity("Rex", "dog"), entity("Tom", "cat")]), ["Rex", "Tom"], []),
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
        (related("Lin", "LIN"), "relationships: an entity is related to itself"),
        (related("Lin", " **lin**."), "relationships: an entity is related to itself"),
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
    found: Any
    found, slips = salvage(of(entities=[LIN], claims=[claim]), CHUNK)
    assert [one.status for one in found.claims] == ([taken] if taken else [])
    assert [one.object for one in found.claims] == ([""] if taken else [])
    assert bool(slips) != bool(taken)


@pytest.mark.parametrize(
    "text",
    ["", " ", "I cannot do that.", "null", "17", '"Lin"', "{}", "[]", '["Lin", "Ann"]', "{", "}{"],
)
def test_empty_text_gives_nothing(text: str) -> None:
    assert salvage(text, CHUNK)[0] is None


@pytest.mark.parametrize(
    "text",
    ['{"nodes": []}', of(entities=[]), of(entities="Lin"), "<think>{", "\ud800", "[1] says so"],
)
def test_other_json_gives_nothing(text: str) -> None:
    assert salvage(text, CHUNK)[0] is None


def test_unrequested_claims_are_ignored() -> None:
    found, slips = salvage(WHOLE, extraction_schema(("person", "place"), False))
    assert not hasattr(found, "claims")
    assert slips == []


def test_lone_surrogates_are_replaced_in_salvaged_replies() -> None:
    found: Any
    found, _ = salvage(
        '{"entities": [{"name": "L\\ud83d", "type": "person", "description": "\\udc00"}', CHUNK
    )
    assert (found.entities[0].name, found.entities[0].description) == ("L\ufffd", "\ufffd")


@pytest.mark.parametrize("text", ["{" * 200_000, '{"' * 90_000, "{'" * 90_000, "[" * 200_000])
def test_endless_brackets_terminate(text: str) -> None:
    assert salvage(text, CHUNK)[0] is None
    assert kept(WHOLE[:-1] + ', "more": ' + text)[0] == ALL


@given(st.integers(0, len(WHOLE)))
def test_truncated_reply_keeps_its_complete_items(length: int) -> None:
    found, _ = kept(WHOLE[:length])
    names = [one["name"] for one in WHOLE_LISTS["entities"]]
    n_whole = sum(
        length >= WHOLE.index(json.dumps(one)) + len(json.dumps(one)) for one in (LIN, ANN, YORK)
    )
    entities = found[0] if found else []
    assert entities == names[: len(entities)]
    assert len(entities) == n_whole


@given(st.text(max_size=200) | st.text(st.sampled_from('{}[]":,\\ nametypientrs1'), max_size=200))
def test_any_text_is_searched(text: str) -> None:
    found, slips = salvage(text, CHUNK)
    assert found is None or any(vars(found).values())
    assert all(isinstance(line, str) for line in slips)


RULES = {"summary": "Ann rules.", "explanation": "As [1] says.", "references": [1, 12]}
REPORT_ON_LIN = {"title": "Lin", "summary": "All of it.", "rating": 7, "findings": [RULES, RULES]}


@given(st.integers(0, len(json.dumps(REPORT_ON_LIN))))
def test_truncated_report_keeps_its_complete_findings(length: int) -> None:
    text = json.dumps(REPORT_ON_LIN)
    one = json.dumps(RULES)
    n_whole = text[:length].count(one)
    report, _ = salvage(text[:length], Report)
    assert (report is not None) == bool(n_whole)
    if report is not None:
        assert (report.title, report.summary, report.rating) == ("Lin", "All of it.", 7)
        assert [found.model_dump() for found in report.findings] == [RULES] * n_whole


@pytest.mark.parametrize("lacking", ["title", "summary", "rating"])
def test_report_without_title_summary_or_rating_is_dropped(lacking: str) -> None:
    text = json.dumps({name: value for name, value in REPORT_ON_LIN.items() if name != lacking})
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
