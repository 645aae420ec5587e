"""Generated faults of replies, through the real client: no hang, no traceback, nothing valid lost.

    python -m tests.fuzz.replies [--examples 200] [--seed N] [--verbose]

Each example is a request to a server that answers with faults, and then with a reply in one of the
forms that models wrap it in. What must hold:

- the request ends in bounded time, with a reply or an error that names a reason;
- the valid items of a readable reply come out, all of them and no others;
- no reasoning is part of an answer.

Says how many examples ran and how they ended; on a failure, the smallest example that fails, and
ends with status 1.
"""

import argparse
import json
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from gsum_assets.graphrag.schemas import extraction_schema
from gsum_resources.llm.replies import usable
from gsum_resources.protocols.models import (
    Completion,
    CompletionError,
    ModelUnavailableError,
    Request,
)
from tests.servers.clients import client_of, settings_for
from tests.servers.raw import Raw, chat, raw_server

CHUNK = extraction_schema(("person", "place"), True, in_full=True)
ANSWER = "The boat left York at noon, and Lin was on it."
_LONGEST_S = 60.0  # against hanging alone
_NAMES = ("Lin", "Ann", "York", "Bo", "李雷", "Zoë O'Hara")
_MARKS = (
    ("<think>", "</think>"),
    ("", "</think>"),
    ("<thinking>", "</thinking>"),
    ("[THINK]", "[/THINK]"),
    ("<|channel|>analysis<|message|>", "<|end|><|start|>assistant<|channel|>final<|message|>"),
)
_SECRET = "I wonder which boat"  # stands in reasoning only


@dataclass(frozen=True)
class Example:
    """A request, the faults before its reply, and the reply.

    Attributes
    ----------
    faults : answers before the reply; each may or may not be repeated until the end.
    reply : the text of the reply; None: the last fault is the answer to all further requests.
    names : names of the entities, sources of the relationships and subjects of the claims that are
        valid in the reply; None: the reply is a free text.
    """

    faults: tuple[Raw, ...]
    reply: str | None
    names: tuple[tuple[str, ...], ...] | None


def _entity(name: str) -> dict:
    return {"name": name, "type": "person", "description": f"All of {name}."}


_BAD_ITEMS = st.sampled_from(
    [None, 7, "Lin", [], {}, {"name": ""}, {"source": "Lin", "target": "Lin", "description": "x"}]
)
_BAD_CLAIMS = st.sampled_from(
    [{"subject": "Lin", "status": "rumoured", "description": "x"}, {"subject": "Lin"}, 3]
)


@st.composite
def extractions(draw: st.DrawFn) -> tuple[dict, tuple[tuple[str, ...], ...]]:
    """Return an extraction with valid and invalid items, and the names of the valid ones."""
    names = draw(st.lists(st.sampled_from(_NAMES), min_size=2, max_size=5, unique=True))
    pairs = list(pairwise(names))
    ties = [{"source": a, "target": b, "description": "met", "strength": 3} for a, b in pairs]
    claims = [{"subject": name, "status": "true", "description": "so"} for name in names[:2]]
    content: dict[str, Any] = {
        "entities": _mixed(draw, [_entity(name) for name in names], _BAD_ITEMS),
        "relationships": _mixed(draw, ties, _BAD_ITEMS),
        "claims": _mixed(draw, claims, _BAD_CLAIMS),
    }
    if draw(st.booleans()):
        content["relationships"], ties = draw(st.sampled_from([None, [], "none", [4, 5]])), []
    if draw(st.booleans()):
        content["confidence"] = draw(st.sampled_from([10**400, -1e300, True, {"a": [{}]}]))
    valid = names, [tie["source"] for tie in ties], names[:2]
    return content, tuple(tuple(each) for each in valid)


def _mixed(draw: st.DrawFn, valid: list[dict], invalid: st.SearchStrategy) -> list:
    """Return the valid items in their order, with some invalid ones between them."""
    items: list[Any] = list(valid)
    for bad in draw(st.lists(invalid, max_size=3)):
        items.insert(draw(st.integers(0, len(items))), bad)
    return items


@st.composite
def replies(draw: st.DrawFn) -> tuple[str, tuple[tuple[str, ...], ...] | None]:
    """Return a readable reply: JSON or free text, wrapped as models wrap it."""
    if draw(st.integers(0, 3)) == 0:
        fence = draw(st.sampled_from(["{}", "```\n{}\n```", "```markdown\n{}\n```", "\n\n{}\n"]))
        return _with_reasoning(draw, fence.format(ANSWER)), None
    content, names = draw(extractions())
    text = json.dumps(
        content, ensure_ascii=draw(st.booleans()), indent=draw(st.sampled_from([None, 1]))
    )
    if draw(st.booleans()):
        comma = draw(st.sampled_from([', "claims_": null}', "}\n"]))
        text = text.rstrip().removesuffix("}").rstrip() + comma
    form = st.sampled_from(["{}", "```json\n{}\n```", "```\n{}\n```", "Here it is:\n{}\nBye."])
    return _with_reasoning(draw, draw(form).replace("{}", text)), names


def _with_reasoning(draw: st.DrawFn, text: str) -> str:
    if not draw(st.booleans()):
        return text
    opening, closing = draw(st.sampled_from(_MARKS))
    between = draw(st.sampled_from(["", "\n", "\n\n"]))
    return f"{opening}{_SECRET}: {{1}} or [2]?{between}{closing}{between}{text}"


_MESSAGES = st.sampled_from(
    [
        "",
        "no",
        "Invalid schema for response_format.",
        "Please try again in 20ms.",
        "This model's maximum context length is 512 tokens. However, you requested 900 tokens (700 "
        "in the messages, 200 in the completion).",
        "Request exceeds the context length",
        "The prompt triggered the content management policy",
        "x" * 5000,
        '\ud800 {"',
    ]
)
_STATUSES = (400, 401, 402, 403, 404, 408, 409, 413, 422, 429, 500, 501, 502, 503, 504, 529)
_BODIES = st.sampled_from(
    [
        b"",
        b"<html><body><h1>502 Bad Gateway</h1></body></html>",
        b"{",
        b"null",
        b"[]",
        b'{"choices": []}',
        b'{"choices": null}',
        b'{"choices": [{"message": null}]}',
        b'{"choices": [{"message": {"content": 7}}]}',
        b"\xff\xfe\x00",
        b"[" * 50_000,
        b'{"error": "overloaded"}',
    ]
)
_UNREADABLE = st.sampled_from(
    [
        chat(content=None),
        chat(content=""),
        chat(content=None, reasoning_content=_SECRET),
        chat(content=None, refusal="I cannot."),
        chat("content_filter", content=""),
        chat("length", content=f"<think>{_SECRET}"),
        chat("length", content='{"entities": [{"name": "Li'),
        chat(content="I cannot do that."),
        chat(content="{}"),
        chat(content='{"entities": ' + "[" * 3000),
        chat(content="\ud800"),
        chat(content='{"entities": [NaN, 1e999]}'),
    ]
)


@st.composite
def faults(draw: st.DrawFn) -> Raw:
    """Return an answer that holds no reply."""
    kind = draw(st.sampled_from(["status", "body", "reply", "cut", "dropped", "drip"]))
    if kind == "reply":
        return draw(_UNREADABLE)
    if kind == "status":
        error = {"message": draw(_MESSAGES), "code": draw(st.sampled_from([None, "x", 400]))}
        body = json.dumps(draw(st.sampled_from([{"error": error}, error, {"detail": [error]}])))
        status, headers = (
            draw(st.sampled_from(_STATUSES)),
            draw(st.sampled_from([{}, {"retry-after": "0.01"}])),
        )
        return Raw(body.encode(), status, headers)
    raw = Raw(draw(_BODIES) if kind == "body" else chat(content="half").body)
    return replace(
        raw,
        is_cut=kind == "cut",
        is_dropped=kind == "dropped",
        pauses_s=(0.01,) * 5 if kind == "drip" else (),
    )


@st.composite
def examples(draw: st.DrawFn) -> Example:
    """Return a request with its faults and its reply."""
    before = tuple(draw(st.lists(faults(), max_size=2)))
    text, names = draw(replies())
    is_answered = not before or draw(st.booleans())
    return Example(before, text if is_answered else None, names)


def outcome(example: Example) -> str:
    """Send the example's request, and return how it ended.

    Raises
    ------
    AssertionError
        If something of it is wrong.
    """
    waiting = list(example.faults)

    def answer(_: dict) -> Raw:
        if waiting and (len(waiting) > 1 or example.reply is not None):
            return waiting.pop(0)
        return waiting[0] if waiting else chat(content=example.reply)

    request = Request(
        "entities" if example.names else "answer",
        "Say what it names.",
        passages=("Lin met Ann in York.",),
        max_words=20,
        schema=CHUNK if example.names else None,
        document_id="d1",
    )
    began = time.monotonic()
    with raw_server(answer) as base_url:
        chosen = settings_for(base_url, max_retries=3, max_repairs=2, timeout_s=20.0)
        reply, given_up = None, ""
        with client_of(chosen, pause_s=0.001) as model:
            try:
                (reply,) = model.complete([request])
            except ModelUnavailableError as error:
                given_up = str(error)
    assert time.monotonic() - began < _LONGEST_S
    if reply is None:
        assert given_up.startswith(f"the server at {base_url} ")
        return "server given up"
    return _judged(example, reply)


def _judged(example: Example, reply: Completion | CompletionError) -> str:
    """Return how a request ended, after a check of its reply."""
    is_error = isinstance(reply, CompletionError)
    if is_error:
        assert "request for document 'd1': " in reply.message
        assert len(reply.message) < 1200, reply.message
        assert _SECRET not in reply.message
        assert _SECRET not in reply.text
    if example.names is None:
        if not is_error:
            # a server may have answered with another text before: "I cannot do that."
            assert _SECRET not in reply.text
            assert "```" not in reply.text
            assert example.faults or reply.text == ANSWER, reply.text
        return "error" if is_error else "text"
    value: Any
    value, problem = usable(reply, CHUNK)
    if value is None:
        assert problem
        assert example.faults, (problem, example.reply)
        return "error"
    lists = (value.entities, "name"), (value.relationships, "source"), (value.claims, "subject")
    read = tuple(tuple(getattr(item, field) for item in items) for items, field in lists)
    assert read == example.names, (read, problem)
    return "items after re-asks" if is_error else "items with slips" if problem else "items"


def run(n_examples: int, seed_: int, verbose: bool = False) -> Counter[str]:
    """Run examples, and return how they ended.

    Raises
    ------
    AssertionError
        The smallest example that fails is in its notes.
    """
    outcomes: Counter[str] = Counter()

    @seed(seed_)
    @settings(
        max_examples=n_examples,
        deadline=None,
        database=None,
        phases=[Phase.generate, Phase.shrink],
        suppress_health_check=[*HealthCheck],  # type: ignore[arg-type]
    )
    @given(examples())
    def check(example: Example) -> None:
        how = outcome(example)
        outcomes[how] += 1
        if verbose:
            print(f"{how}: {example}", flush=True)

    check()
    return outcomes


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; return its status."""
    parser = argparse.ArgumentParser(description="Run generated faults of replies.")
    parser.add_argument("--examples", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--verbose", action="store_true")
    given_ = parser.parse_args(arguments)
    began = time.monotonic()
    outcomes = run(given_.examples, given_.seed, given_.verbose)
    counts = ", ".join(f"{n} {how}" for how, n in outcomes.most_common())
    print(f"nothing found in {outcomes.total()} examples, seed {given_.seed}: {counts}")
    print(f"{time.monotonic() - began:.0f} s")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
