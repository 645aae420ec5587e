"""Structured replies as models send them: their content, or the error that the model receives."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, Field

from gsum_assets.graphrag.schemas import Report, extraction_schema
from gsum_assets.jerr.prompts import Extraction, Keywords, LookUp
from gsum_resources.llm.reasoning import closes_reasoning, opens_reasoning, without_reasoning
from gsum_resources.llm.replies import (
    StructureError,
    correction,
    plain_text,
    read,
    salvage,
    usable,
)
from gsum_resources.protocols.models import Completion, CompletionError
from gsum_resources.protocols.results import Entities, ReasonedScore, Score, TopicScore


class PartialAnswer(BaseModel):
    answer: str
    helpfulness: int = Field(ge=0, le=100)
    reason: str = ""


class Note(BaseModel):
    title: str
    lines: list[str]
    weight: float = 1.0


class Thing(BaseModel):
    text: str
    score: int = Field(default=5, ge=1, le=10)
    weight: float = 1.0
    is_good: bool = False
    kind: Literal["one", "two"] = "two"
    references: list[int] = Field(default_factory=list)
    maybe: int | None = None
    exact: int = Field(default=3, strict=True, ge=1, le=5)


CHUNK = extraction_schema(("person", "place"), True, in_full=True)
NOTE = Note(title="a } b", lines=["x", 'say "hi"', "[", "雪"])
JSON = NOTE.model_dump_json()


def entity(name: Any, kind: Any = "person") -> dict:
    return {"name": name, "type": kind, "description": f"all of {name}"[:40]}


def related(source: str, target: str, **fields: Any) -> dict:
    return {"source": source, "target": target, "description": "met"} | fields


def finding(n: int, **fields: Any) -> dict:
    return {"summary": f"s{n}", "explanation": "e", "references": [n]} | fields


def of(**lists: Any) -> str:
    return json.dumps(lists, ensure_ascii=False)


LIN, ANN, BO, YORK = entity("Lin"), entity("Ann"), entity("Bo"), entity("York", "place")
LIN_ANN = f"{json.dumps(LIN)}\n{json.dumps(ANN)}"
TIE, SELF = related("Lin", "Ann"), related("Lin", "lin")
TIES = [related("Ann", other) for other in ("Lin", "Bo", "York")]
CLAIM = {"subject": "Lin", "status": "true", "description": "Lin met Ann."}
UNKNOWN = CLAIM | {"status": "rumoured"}
THREE = {"entities": [LIN, ANN, BO]}
REPORT = {"title": "t", "summary": "s", "rating": 8}
BAD_FINDINGS = [{"summary": "a"}, {"summary": "x", "explanation": "y", "references": "none"}]
FINDINGS = [finding(n) for n in range(3)]
COPIED = entity("<Name as the text writes it>")


CASES = yaml.safe_load((Path(__file__).parent / "replies.yaml").read_text("utf-8"))
SIMPLE = (
    Note,
    PartialAnswer,
    Score,
    ReasonedScore,
    TopicScore,
    Entities,
    Extraction,
    Keywords,
    LookUp,
)
OF_SCHEMA = {schema.__name__: schema for schema in SIMPLE}


class Case(NamedTuple):
    """A reply, and its content or, as a text, the error; slips by their beginnings."""

    schema: type[BaseModel]
    text: str
    content: Any
    slips: Sequence[str] = ()


def each(name: str, *others: Case) -> pytest.MarkDecorator:
    """Run a test for each row of a table of `replies.yaml`, and for others."""
    rows = [Case(OF_SCHEMA[schema], *row) for schema, *row in CASES[name]]
    return pytest.mark.parametrize("case", [*rows, *others])


@each(
    "read",
    *[
        Case(Note, text, NOTE.model_dump())
        for text in (
            JSON,
            f"\n\n  {JSON}\n",
            f"```json\n{JSON}\n```",
            f"```\n{JSON}\n```",
            f"```json\n{JSON}",  # the fence is not closed, the value is
            f"Certainly! Here it is:\n\n{JSON}\n\nLet me know if it's fine.",
            f"Certainly!\n```json\n{JSON}\n```\nLet me know if it's fine.",
        )
    ],
    *[
        Case(Entities, text, {"entities": [LIN, ANN]})  # JSON Lines
        for text in (f"{LIN_ANN}\n", f"```jsonl\n{LIN_ANN}\n```")
    ],
    Case(CHUNK, json.dumps([LIN, ANN]), {"entities": [LIN, ANN]}),
    # an invalid item or list does not cost the others
    Case(
        CHUNK,
        of(**THREE, relationships=[TIE], claims=[UNKNOWN, UNKNOWN]),
        THREE | {"relationships": [TIE]},
        ["2 of claims, status: Input should be 'true', 'false' or 'suspected'"],
    ),
    Case(
        CHUNK,
        of(**THREE, relationships=[SELF], claims=[UNKNOWN]),
        THREE,
        ["claims, status", "relationships: an entity is"],
    ),
    Case(CHUNK, of(**THREE, claims=[CLAIM | {"status": True}]), THREE | {"claims": [CLAIM]}),
    Case(
        CHUNK,
        of(**THREE, relationships=["none"], claims="none"),
        THREE,
        ["claims: ", "relationships: "],
    ),
    Case(
        CHUNK,
        of(**THREE, relationships=[SELF, SELF, *TIES], claims=None),
        THREE | {"relationships": TIES},
        ["2 of relationships: an entity is related to itself; name two entities"],
    ),
    Case(CHUNK, '{"entities": []}', {"entities": []}),  # nothing was left out
    Case(
        Report,
        of(**REPORT, findings=[*BAD_FINDINGS, *FINDINGS]),
        REPORT | {"findings": FINDINGS},
        ["findings, explanation: Field required", "findings, references: Input should be a valid"],
    ),
    Case(
        Report,
        of(**REPORT, findings=[finding(1, references=[1, "none"]), *FINDINGS]),
        REPORT | {"findings": FINDINGS},
        ["findings, references: Input should be a valid integer"],
    ),
)
def test_reply_is_read(case: Case) -> None:
    found = read(case.text, case.schema)
    assert found.value == case.schema.model_validate(case.content)
    assert len(found.slips) == len(case.slips)
    for slip, start in zip(found.slips, case.slips, strict=True):
        assert slip.startswith(start)


@each(
    "asked again",
    Case(Note, "[" * 100_000 + "]" * 100_000, "not valid JSON"),
    Case(Note, '{"a":' * 50_000, "cut off"),
    Case(Note, f"[{JSON}, {JSON}]", "an array"),
    Case(Note, f"{JSON}{JSON}", "an array"),
    Case(Note, f"{JSON}\nOr: {JSON}", "not valid JSON|more than one"),
    # most items are invalid
    Case(Report, of(**REPORT, findings=[*BAD_FINDINGS, *FINDINGS[:2]]), r"findings\.0\.explana"),
    Case(CHUNK, of(entities=[LIN], claims=[UNKNOWN, UNKNOWN]), r"claims\.0\.status"),
    Case(CHUNK, of(entities=[], relationships=[SELF], claims=[UNKNOWN]), "itself"),
)
def test_reply_is_requested_again_with_a_brief_error(case: Case) -> None:
    with pytest.raises(StructureError, match=case.content) as error:
        read(case.text, case.schema)
    assert len(str(error.value)) < 600
    assert str(error.value) in correction(error.value)


@pytest.mark.parametrize(("name", "said", "meant"), CASES["converted"])
def test_value_of_another_type_is_converted_without_loss(name: str, said: Any, meant: Any) -> None:
    found = getattr(read(json.dumps({"text": "t", name: said}), Thing).value, name)
    assert (found, type(found)) == (meant, type(meant))


@pytest.mark.parametrize(("name", "said"), CASES["guesses"])
def test_value_that_needs_a_guess_is_rejected(name: str, said: Any) -> None:
    with pytest.raises(StructureError, match=name):
        read(json.dumps({"text": "t"} | {name: said}), Thing)


@given(st.integers(1, len(JSON) - 1), st.sampled_from(["", "```json\n", "Here it is: "]))
def test_truncated_value_is_never_accepted(length: int, before: str) -> None:
    with pytest.raises(StructureError):
        read(before + JSON[:length], Note)


@given(st.integers(0, len(JSON) - 1), st.sampled_from(' ,"{}[]\n:0a\\'), st.booleans())
def test_slip_is_corrected_or_the_reply_requested_again(
    position: int, mark: str, replaces: bool
) -> None:
    text = JSON[:position] + mark + JSON[position + replaces :]
    try:
        value = read(text, Note).value
    except StructureError:
        return
    lost = set(filter(str.isalnum, text)) - set(filter(str.isalnum, value.model_dump_json()))
    assert not lost, (text, value)


def test_long_replies() -> None:
    lines = ["{[" * 5] * 10_000
    text = "So: " + json.dumps({"title": "t" * 100_000, "lines": lines})
    assert read(text, Note).value.lines == lines


@given(st.from_type(Note), st.booleans())
def test_every_value_round_trips(note: Note, ascii_only: bool) -> None:
    if note.weight != note.weight or abs(note.weight) == float("inf"):
        return  # JSON has no such number
    text = json.dumps(note.model_dump(), ensure_ascii=ascii_only)
    assert read(text, Note).value == note
    assert read(f"Here:\n```json\n{text}\n```\n", Note).value == note


ANSWER = "The boat left at noon."
QUOTING = "A page that shows <think> and y</think> in its text."


@pytest.mark.parametrize("text", CASES["reasoned"])
def test_reasoning_is_no_part_of_the_answer(text: str) -> None:
    assert without_reasoning(text).strip() == ANSWER
    assert without_reasoning(without_reasoning(text)) == without_reasoning(text)


@pytest.mark.parametrize(
    "before", ["", "<think>a {1} b</think>", "So {1}.\n</think>\n", "[THINK]x[/THINK]\n```json\n"]
)
def test_mark_within_json_is_no_end_of_reasoning(before: str) -> None:
    text = json.dumps({"title": "y</think> and <think>", "lines": ["</think>"]})
    answer = without_reasoning(before + text, is_json=True)
    assert read(answer, Note).value.lines == ["</think>"]


@pytest.mark.parametrize("text", CASES["unfinished reasoning"])
def test_reply_that_ends_within_its_reasoning_has_no_answer(text: str) -> None:
    assert without_reasoning(text) == without_reasoning(text, is_json=True) == ""


@pytest.mark.parametrize("text", CASES["quoted marks"])
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


@pytest.mark.parametrize(("text", "plain"), CASES["fences"])
def test_fence_around_a_text_is_removed(text: str, plain: str) -> None:
    assert plain_text(text) == plain


WHOLE_LISTS = {
    "entities": [LIN, ANN, YORK],
    "relationships": [related("Lin", "Ann", strength=7)],
    "claims": [{"subject": "Lin", "description": "Lin met Ann."}],
}
WHOLE = json.dumps(WHOLE_LISTS)


def names_in(text: str) -> tuple[list[str], tuple[str, ...]]:
    """The names of the entities that are kept of an invalid reply, and the slips."""
    found: Any
    found, slips = salvage(text, CHUNK)
    return [each.name for each in found.entities] if found else [], slips


@pytest.mark.parametrize(
    ("text", "names", "n_slips"),
    [
        (WHOLE, ["Lin", "Ann", "York"], 0),
        (WHOLE[:-1], ["Lin", "Ann", "York"], 0),
        ("Here you are: " + WHOLE.partition(', "claims"')[0], ["Lin", "Ann", "York"], 0),
        (of(entities=[LIN], claims=[UNKNOWN, UNKNOWN]), ["Lin"], 1),
        (of(entities=[LIN, 7, 8], relationships="none"), ["Lin"], 2),
        (of(entities=[LIN, entity("Rex", "dog"), entity(""), entity("***")]), ["Lin", "Rex"], 1),
        (of(entities=[LIN, entity("x" * 10_000)]), ["Lin"], 1),
        (of(entities=[LIN, {"name": "Ann"}]), ["Lin"], 1),
        (of(entities=[entity("**李雷**"), entity("<b>محمد</b>")]), ["李雷", "محمد"], 0),
        (WHOLE[: WHOLE.index('"York"') + 3], ["Lin", "Ann"], 0),
        (WHOLE[: WHOLE.index(', {"name": "York"') + 1], ["Lin", "Ann"], 0),
        (json.dumps({"entities": [entity("Zoë")]})[:-1], ["Zoë"], 0),
        (of(entities=[LIN, ANN])[:-3], ["Lin"], 0),  # the second may have had more
        ("I cannot do that.", [], 0),
        ("{}", [], 0),
        ('["Lin", "Ann"]', [], 0),
        (of(entities=[]), [], 0),
        ("\ud800", [], 0),
        (of(entities=[LIN, COPIED])[:-1], [], 0),
    ],
)
def test_valid_items_of_an_invalid_reply_are_kept(
    text: str, names: list[str], n_slips: int
) -> None:
    found, slips = names_in(text)
    assert found == names
    assert len(slips) == n_slips


@pytest.mark.parametrize("text", ["{" * 200_000, '{"' * 90_000, "{'" * 90_000, "[" * 200_000])
def test_endless_brackets_terminate(text: str) -> None:
    assert salvage(text, CHUNK)[0] is None
    salvage(WHOLE[:-1] + ', "more": ' + text, CHUNK)


@given(st.integers(0, len(WHOLE)))
def test_truncated_reply_keeps_only_complete_items(length: int) -> None:
    names, _ = names_in(WHOLE[:length])
    n_whole = sum(
        length >= WHOLE.index(json.dumps(one)) + len(json.dumps(one)) for one in (LIN, ANN, YORK)
    )
    assert names == ["Lin", "Ann", "York"][: len(names)]
    assert len(names) == n_whole


@given(st.text(max_size=200) | st.text(st.sampled_from('{}[]":,\\ nametypientrs1'), max_size=200))
def test_any_text_is_searched(text: str) -> None:
    found, slips = salvage(text, CHUNK)
    assert found is None or any(vars(found).values())
    assert all(isinstance(line, str) for line in slips)


@pytest.mark.parametrize(("text", "helpfulness"), CASES["partial answers"])
def test_partial_answer_is_kept_whole_or_not_at_all(text: str, helpfulness: int | None) -> None:
    partial, _ = salvage(text, PartialAnswer)
    assert (partial and partial.helpfulness) == helpfulness


def test_reply_states_its_problem_and_what_was_kept() -> None:
    partial = PartialAnswer(answer="a", helpfulness=1)
    reply = Completion("", "m", 1, 1, 0.0, partial)
    assert usable(reply, PartialAnswer) == (partial, "")
    slipped = Completion("", "m", 1, 1, 0.0, partial, slips=("one", "two"))
    assert usable(slipped, PartialAnswer) == (partial, "left out: one; two")
    cut = CompletionError("cut off", "m", text='{"answer": "a", "helpfulness": 1, "reason": "')
    assert usable(cut, PartialAnswer) == (partial, "cut off (what can be read is kept)")
    assert usable(CompletionError("away", "m"), PartialAnswer) == (None, "away")
    prose = usable(CompletionError("no JSON", "m", text="Well."), PartialAnswer)
    assert prose == (None, "no JSON (nothing of it could be used)")
