"""Replies as servers and models send them: one table of cases, read for every backend alike."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from pydantic import BaseModel

from gsum_assets.graphrag.schemas import Report, extraction_schema
from gsum_assets.jerr.schemas import Keywords, LookUp
from gsum_resources.llm.replies import (
    StructureError,
    closes_reasoning,
    coerced,
    opens_reasoning,
    plain_text,
    read,
    salvage,
    without_reasoning,
)
from gsum_resources.protocols.results import Score

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


SCORE = {"score": 7}


@pytest.mark.parametrize(
    "text",
    [
        json.dumps({"result": SCORE}),
        json.dumps([SCORE]),
        json.dumps({"result": [SCORE]}),
        json.dumps({"status": "ok", "response": {"data": SCORE}}),
        json.dumps(json.dumps(SCORE)),
        json.dumps({"type": "object", "properties": SCORE}),
        json.dumps({"result": json.dumps(SCORE)}),
        json.dumps([{"result": SCORE}]),
        f"Here it is: [{json.dumps([SCORE])}]. Bye.",
        f"```json\n{json.dumps([SCORE])}\n```",
        f"Here it is: {json.dumps([SCORE])}",
        '{"score": 7, "score": 7}',
        '{"score": 7,}',
        '{"SCORE": "7/10"} // done',
        '{"score": 7e0}',
    ],
)
def test_wrapped_object_is_read(text: str) -> None:
    assert read(text, Score, truncated=False).value == Score(score=7)


@pytest.mark.parametrize(
    ("text", "schema"),
    [
        (json.dumps([SCORE, {"score": 8}]), Score),
        (json.dumps({"a": SCORE, "b": {"score": 8}}), Score),
        (json.dumps({"result": [1]}), Score),
        (json.dumps({"result": "7"}), Score),
        ("As [7] says.", Score),
        ("<html><body>502 Bad Gateway</body></html>", Score),
        (json.dumps({"error": {"message": "overloaded"}}), Keywords),
    ],
)
def test_other_content_is_not_unwrapped(text: str, schema: type[BaseModel]) -> None:
    with pytest.raises(StructureError):
        read(text, schema, truncated=False)


def test_list_within_an_object_is_the_only_list_of_the_schema() -> None:
    text = json.dumps({"result": [2, 1]})
    assert read(text, LookUp, truncated=False).value == LookUp(references=[2, 1])


CHUNK = extraction_schema(("person",), True)
ENTITIES: list[Any] = [
    {"name": name, "type": "person", "description": name} for name in ("Lin", "Ann", "Bo")
]
TIE = {"source": "Lin", "target": "Ann", "description": "met"}
SELF = {"source": "Lin", "target": "lin", "description": "is"}
CLAIM = {"subject": "Lin", "status": "true", "description": "Lin met Ann."}
UNKNOWN = CLAIM | {"status": "rumoured"}


@pytest.mark.parametrize(
    ("lists", "sizes", "slips"),
    [
        (
            {"relationships": [TIE], "claims": [UNKNOWN, UNKNOWN]},
            (3, 1, 0),
            ["2 of claims, status: Input should be 'true', 'false' or"],
        ),
        ({"relationships": [SELF], "claims": [CLAIM]}, (3, 0, 1), ["relationships: is related"]),
        (
            {"relationships": [SELF], "claims": [UNKNOWN]},
            (3, 0, 0),
            ["claims, status", "relationships: is"],
        ),
        ({"relationships": ["none"], "claims": "none"}, (3, 0, 0), ["claims: ", "relationships: "]),
        ({"claims": [CLAIM | {"status": True}, CLAIM | {"status": "SUSPECTED."}]}, (3, 0, 2), []),
    ],
)
def test_invalid_list_does_not_cost_the_others(
    lists: dict, sizes: tuple[int, ...], slips: list[str]
) -> None:
    found = read(json.dumps({"entities": ENTITIES, **lists}), CHUNK, truncated=False)
    value: Any = found.value
    assert (len(value.entities), len(value.relationships), len(value.claims)) == sizes
    assert len(found.slips) == len(slips)
    for line, start in zip(found.slips, slips, strict=True):
        assert line.startswith(start)


def test_mostly_invalid_reply_is_requested_again_and_then_salvaged() -> None:
    text = json.dumps({"entities": ENTITIES[:1], "claims": [UNKNOWN, UNKNOWN]})
    with pytest.raises(StructureError, match=r"claims\.0\.status"):
        read(text, CHUNK, truncated=False)
    found, slips = salvage(text, CHUNK)
    assert [entity.name for entity in found.entities] == ["Lin"]  # type: ignore[union-attr]
    assert slips == ["2 of claims, status: Input should be 'true', 'false' or 'suspected'"]


def test_reply_of_which_nothing_remains_is_invalid() -> None:
    text = json.dumps({"entities": [], "relationships": [SELF], "claims": [UNKNOWN]})
    with pytest.raises(StructureError, match="itself"):
        read(text, CHUNK, truncated=False)
    assert salvage(text, CHUNK)[0] is None
    assert read('{"entities": []}', CHUNK, truncated=False).slips == ()  # nothing was dropped


@pytest.mark.parametrize("wrapped", [json.dumps, lambda text: f'[{{"result": {text}}}]'])
def test_valid_minority_of_a_wrapped_reply_is_salvaged(wrapped: Callable[[str], str]) -> None:
    text = json.dumps({"entities": [*ENTITIES[:1], 7, 8], "relationships": "none"})
    found, slips = salvage(wrapped(text), CHUNK)
    assert [entity.name for entity in found.entities] == ["Lin"]  # type: ignore[union-attr]
    assert len(slips) == 2


def test_list_within_an_item_keeps_its_majority() -> None:
    finding = {"summary": "s", "explanation": "e", "references": [1, "none", 2]}
    report = {"title": "t", "summary": "s", "rating": 1, "findings": [finding]}
    corrected, slips = coerced(report, Report)
    assert corrected["findings"][0]["references"] == [1, 2]
    assert len(slips) == 1


def test_status_is_an_enumeration_for_servers() -> None:
    described = CHUNK.model_json_schema()["$defs"]["Claim"]["properties"]["status"]
    assert described["enum"] == ["true", "false", "suspected"]
