"""Passages are rewritten by grade, keep their provenance, and fit the prompt for any K."""

from collections.abc import Callable

import pyarrow as pa
import pytest

from gsum_assets.corpus.chunk import n_word_pieces
from gsum_assets.gae.rank import Clusters
from gsum_assets.gae.refine import grade, refined_contexts, unrefined_contexts, weighted
from gsum_resources.protocols.models import Request
from tests.gae.toy_contexts import (
    BRIDGE,
    COOKING,
    PROMPT_TOKENS,
    QUESTION,
    contexts,
    judged,
    prompt_lengths,
    queries,
)
from tests.gor.toy_documents import Scripted

ASKED = queries({"q": QUESTION})
MAX_WORDS = 120
LONG = " ".join(
    f"In year {i} the {w} of the town fell." for i in range(15) for w in ("tax", "rent")
)


def refine(
    texts: list[str],
    relevances: list[int | None],
    say: Callable[[Request], str | None] = lambda request: "Something new.",
    prompt_tokens: int = PROMPT_TOKENS,
    topic: dict[int, int] | None = None,
) -> tuple[list[dict], list[str], list[Request]]:
    """Return rows, failures and requests; clusters are the passages' positions, from 1."""
    model = Scripted(say)
    own = {("q", f"c{i}"): r for i, r in enumerate(relevances, start=1) if r is not None}
    refined = refined_contexts(
        contexts({"q": texts}),
        judged("gae.topics", {("q", c): r for c, r in (topic or {}).items()}),
        judged("gae.reflections", own),
        Clusters({f"c{i}": i for i in range(1, len(texts) + 1)}, {}),
        ASKED,
        model,
        prompt_tokens,
        MAX_WORDS,
    )
    assert len(model.calls) == 1
    return refined.rows.to_pylist(), list(refined.failures), model.requests


def column(rows: list[dict], name: str) -> list:
    return [row[name] for row in rows]


def test_score_is_the_weighted_sum_of_available_relevances_and_has_a_grade() -> None:
    pairs = [(8, 4), (None, 4), (8, None), (None, None)]
    assert [weighted(*pair) for pair in pairs] == [6.0, 4, 8, None]
    grades = {10: "high", 7: "high", 6.99: "medium", 4: "medium", 3.99: "low", 1: "low", None: None}
    assert {score: grade(score) for score in grades} == grades


def test_each_grade_requests_its_length() -> None:
    rows, failures, requests = refine([BRIDGE, LONG, COOKING], [9, 5, 2], topic={1: 8, 2: 4, 3: 1})
    assert column(rows, "score") == [8.5, 4.5, 1.5]
    assert column(rows, "grade") == ["high", "medium", "low"]
    assert column(rows, "fate") == ["edited", "condensed", "reduced"]
    n_words = [len(text.split()) for text in (BRIDGE, LONG)]
    limits = [r.max_words for r in requests]
    assert limits == [n_words[0], pytest.approx(n_words[1] / 2, abs=1), 25]
    assert all(
        f"at most {n} words" in r.instructions.replace("\n", " ")
        for n, r in zip(limits, requests, strict=True)
    )
    assert [r.document_id for r in requests] == ["d1", "d2", "d3"]
    about = f"{QUESTION}\nTopic of the passage and of those like it: t"
    assert [r.question for r in requests] == [about] * 3
    assert column(rows, "node_id") == ["c1", "c2", "c3"]
    assert column(rows, "document_id") == ["d1", "d2", "d3"]
    assert column(rows, "tokens_before") == n_word_pieces([BRIDGE, LONG, COOKING])
    assert column(rows, "tokens_after") == n_word_pieces(["Something new."]) * 3
    assert column(rows, "calls") == [1, 1, 1]
    assert failures == []


@pytest.mark.parametrize("nothing", ["NONE", ' "None" ', "**NONE**"])
def test_irrelevant_low_grade_passage_is_dropped(nothing: str) -> None:
    rows, failures, requests = refine(
        [COOKING, BRIDGE], [1, 9], lambda r: nothing if COOKING in r.passages else "Edited."
    )
    assert [r.passages[0] for r in requests] == [BRIDGE, COOKING]  # by score
    assert column(rows, "rank") == [1, 2]  # ranks stay
    assert column(rows, "fate") == ["dropped", "edited"]
    assert column(rows, "text") == ["", "Edited."]
    assert (rows[0]["tokens_after"], rows[0]["calls"]) == (0, 1)
    assert failures == []


def test_best_passage_is_kept_if_all_would_be_dropped() -> None:
    rows, _, _ = refine([COOKING, BRIDGE], [1, 3], lambda r: "None.")
    assert column(rows, "fate") == ["dropped", "whole"]
    assert column(rows, "text") == ["", BRIDGE]


def test_failed_request_keeps_the_beginning_and_is_reported() -> None:
    rows, failures, _ = refine([BRIDGE, LONG, COOKING], [9, 5, 2], lambda r: None)
    assert column(rows, "fate") == ["whole", "cut", "cut"]
    for row, text, most in zip(rows[1:], (LONG, COOKING), (len(LONG.split()) / 2, 25), strict=True):
        assert text.startswith(row["text"].rstrip("…"))
        assert len(row["text"].split()) <= most
    assert failures == [
        f"question 'q', passage 'c{i}': not rewritten: the server is tired" for i in (1, 2, 3)
    ]


@pytest.mark.parametrize("reply", ["  \n", "[1]\n", "None"])
def test_empty_reply_is_a_failure(reply: str) -> None:
    rows, failures, _ = refine([BRIDGE], [9], lambda r: reply)
    assert (rows[0]["fate"], rows[0]["text"]) == ("whole", BRIDGE)
    assert "not rewritten: the reply is empty" in failures[0]


def test_ungraded_passages_are_unchanged() -> None:
    rows, failures, requests = refine([BRIDGE, COOKING], [None, 8])
    assert (rows[0]["score"], rows[0]["grade"], rows[0]["fate"]) == (None, None, "whole")
    assert (rows[0]["text"], rows[0]["calls"]) == (BRIDGE, 0)
    assert [request.question for request in requests] == [QUESTION]  # without a topic
    assert failures == []


def test_reply_equal_to_the_passage_counts_as_whole_without_its_number() -> None:
    rows, _, _ = refine([BRIDGE, COOKING], [9, 9], lambda r: f"[1]\n{r.passages[0]} ")
    assert column(rows, "fate") == ["whole", "whole"]
    assert column(rows, "text") == [BRIDGE, COOKING]


def test_reply_is_cut_only_beyond_its_tolerance() -> None:
    rows, _, _ = refine([LONG], [1], lambda r: LONG)
    assert rows[0]["fate"] == "reduced"
    assert len(rows[0]["text"].split()) <= 25
    little = " ".join(LONG.split()[:28])
    rows, _, _ = refine([LONG], [1], lambda r: little)
    assert rows[0]["text"] == little


@pytest.mark.parametrize("k", [3, 60])
@pytest.mark.parametrize(
    "say", [lambda r: f"{r.passages[0]} {LONG} " * 3, lambda r: None, lambda r: r.passages[0]]
)
def test_prompt_length_does_not_depend_on_k(k: int, say: Callable) -> None:
    texts = [f"Chunk {i}. {LONG}" for i in range(k)]
    scores = [(7 * i) % 10 + 1 for i in range(k)]
    for prompt_tokens in (300, 2000):
        rows, _, _ = refine(texts, [*scores[1:], None], say, prompt_tokens)
        (length,) = prompt_lengths(ASKED, pa.Table.from_pylist(rows), MAX_WORDS)
        assert length <= prompt_tokens
        assert column(rows, "rank") == list(range(1, k + 1))
        assert all((row["fate"] == "dropped") == (not row["text"]) for row in rows)
        dropped = [row["score"] or 4 for row in rows if not row["text"]]
        shown = [row["score"] or 4 for row in rows if row["text"]]
        assert max(dropped, default=0) <= min(shown)


def test_short_room_reduces_before_it_drops() -> None:
    rows, _, requests = refine([LONG] * 4, [9] * 4, prompt_tokens=600)
    assert column(rows, "fate") == ["condensed"] * 4
    assert all(0 < r.max_words < 0.5 * len(LONG.split()) for r in requests)


@pytest.mark.parametrize("k", [3, 60])
def test_without_reflection_the_best_stay_whole(k: int) -> None:
    texts = [f"Chunk {i}. {BRIDGE}" for i in range(k)]
    refined = unrefined_contexts(contexts({"q": texts}), ASKED, 700, MAX_WORDS)
    rows = refined.rows.to_pylist()
    (length,) = prompt_lengths(ASKED, refined.rows, MAX_WORDS)
    n_shown = sum(row["fate"] == "whole" for row in rows)
    assert length <= 700
    assert n_shown == k or length > 700 - n_word_pieces(texts[:1])[0] - 3
    assert column(rows, "text") == texts[:n_shown] + [""] * (k - n_shown)
    assert {(row["score"], row["grade"], row["model"]) for row in rows} == {(None, None, "")}


def test_without_reflection_an_overlong_first_passage_is_cut() -> None:
    refined = unrefined_contexts(contexts({"q": [LONG, BRIDGE]}), ASKED, 300, MAX_WORDS)
    assert refined.rows["fate"].to_pylist() == ["cut", "dropped"]
    assert prompt_lengths(ASKED, refined.rows, MAX_WORDS)[0] <= 300
    asked = queries({"q": f"Is it so? {LONG}"})  # leaves no room
    refined = unrefined_contexts(contexts({"q": [BRIDGE, COOKING]}), asked, 200, MAX_WORDS)
    assert refined.rows["text"].to_pylist() == ["The…", ""]
    assert "raise prompt_tokens" in refined.failures[0]
