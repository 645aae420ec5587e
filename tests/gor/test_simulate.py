"""Simulated questions: choice of passages, filtering, termination."""

from itertools import combinations
from zlib import crc32

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gsum_assets.gor.simulate import (
    NEAR_DUPLICATE,
    flaw,
    question_in,
    similarity,
    simulate_queries,
)
from tests.gor.toy_documents import STORIES, Scripted, chunk_table

MANY = [
    f"Passage {i} tells of the clerk number{i} and the lamp number{i} in plain words."
    for i in range(40)
]


def about(request) -> str:
    """A question of its own for each passage and seed."""
    return f"Why did clerk{crc32(request.passages[0].encode())} carry lamp{request.seed} home?"


def test_every_passage_is_used_once_before_any_twice():
    model = Scripted(about)
    simulate_queries(chunk_table({"a": MANY[:7]}), model, n_queries=17)
    passages = [request.passages[0] for request in model.requests]
    assert len(passages) == 17
    assert set(passages[:7]) == set(passages[7:14]) == set(MANY[:7])
    assert passages[:7] != passages[7:14]
    assert len({request.seed for request in model.requests}) == 17


def test_edited_passage_changes_only_its_own_requests():
    before, after = Scripted(about), Scripted(about)
    simulate_queries(chunk_table({"a": MANY[:30]}), before)
    edited = ["The orchard was sold to a railway company in the spring.", *MANY[1:30]]
    simulate_queries(chunk_table({"a": edited}), after)
    kept = set(before.requests) & set(after.requests)
    assert len(before.requests) == len(after.requests) == 30
    assert {request.passages[0] for request in kept} == set(MANY[1:30])


def test_documents_are_requested_together_in_waves():
    model = Scripted(lambda request: "Who?" if request.seed % 3 == 0 else about(request))
    simulate_queries(chunk_table({"a": MANY[:20], "b": MANY[20:]}), model, n_queries=20)
    assert len(model.calls[0]) == 40
    assert 1 < len(model.calls) < 8


def test_document_without_more_questions_is_reported():
    model = Scripted(lambda request: f"Is it true that {request.passages[0].split('.')[0]}?")
    rows, notes = simulate_queries(chunk_table({"a": [s[4:] for s in STORIES]}), model)
    assert rows.num_rows == 5
    assert notes == [
        "document 'a': 5 of 30 questions from 15 requests about 5 passages (10 repeated)"
    ]


def test_very_short_passage_is_skipped():
    model = Scripted(about)
    texts = {"a": ["Thank you. Bye.", MANY[0]], "b": ["Okay."]}
    _, notes = simulate_queries(chunk_table(texts), model)
    assert {request.passages[0] for request in model.requests} == {MANY[0]}
    assert notes == ["document 'b': 0 of 30 questions from 0 requests about 0 passages"]


def test_passage_is_shown_with_where_it_comes_from():
    model = Scripted(about)
    chunks = chunk_table({"a": MANY[:3]})
    simulate_queries(
        chunks, model, 3, label_of=lambda row: f"{row['document_id']}, {row['node_id'][:4]}"
    )
    ids = dict(zip(chunks["text"].to_pylist(), chunks["chunk_id"].to_pylist(), strict=True))
    assert [request.labels for request in model.requests] == [
        (f"a, {ids[request.passages[0]][:4]}",) for request in model.requests
    ]


def test_failed_requests_cost_only_their_questions():
    chunks = chunk_table({"a": MANY[:30], "b": MANY[10:]})
    whole, _ = simulate_queries(chunks, Scripted(about))
    tired = Scripted(lambda request: None if request.passages[0] == MANY[12] else about(request))
    partly, notes = simulate_queries(chunks, tired)
    assert len(tired.requests) == 60  # no substitutes: the same requests another day complete it
    lost = set(whole["text"].to_pylist()) - set(partly["text"].to_pylist())
    assert len(lost) == 2
    assert partly.num_rows == 58
    assert "29 of 30 questions" in notes[0]
    assert "1 without a valid reply" in notes[0]


REPLIES = st.sampled_from(["new", "again", "Who?", "no question at all", None])


@settings(max_examples=60)
@given(st.lists(REPLIES, min_size=1, max_size=40), st.integers(1, 12), st.integers(1, 30))
def test_any_model_output_ends_in_distinct_sound_questions(replies, n_queries, n_chunks):
    script = iter(replies * 200)

    def say(request):
        reply = next(script)
        if reply == "new":
            return about(request)
        return "Why did the miller leave his mill?" if reply == "again" else reply

    model = Scripted(say)
    table, notes = simulate_queries(chunk_table({"a": MANY[:n_chunks]}), model, n_queries)
    rows = table.to_pylist()
    assert [row["round"] for row in rows] == list(range(1, len(rows) + 1))
    assert len(rows) <= n_queries
    assert bool(notes) == (len(rows) < n_queries)
    assert len(model.requests) <= 4 * n_queries
    assert all(flaw(row["text"]) is None for row in rows)
    pairs = combinations([row["text"] for row in rows], 2)
    assert all(similarity(a, b) < NEAR_DUPLICATE for a, b in pairs)


@pytest.mark.parametrize(
    ("question", "why"),
    [
        ("What did Mrs. Alder sell to the railway company?", None),
        ("Why did she leave the harbour?", None),
        ("桥为什么在冬天断了？", None),
        ("Mrs. Alder sold the orchard.", "no question"),
        ("NONE", "no question"),  # as the prompt asks for a passage that tells nothing
        ("Why Paris?", None),
        ("Who?", "too short"),
        ("What does the speaker say " + "and say " * 60 + "about the bridge?", "too long"),
        ("What was discussed in the meeting?", "no content"),
        ("What did they mean by that?", "no content"),
        ("What does the passage say about the bridge?", "about the passage"),
        ("Who built the bridge in this short excerpt?", "about the passage"),
        ("According to the text, who built the wooden bridge?", "about the passage"),
        ("What was wrong with the text on the remote control?", None),
        ("What was his decision?", "not self-contained"),
        ("Why did they react?", "not self-contained"),
    ],
)
def test_flaws(question, why):
    assert flaw(question) == why


@pytest.mark.parametrize(
    "reply",
    [
        "Who built the bridge?",
        '"Who built the bridge?"',
        "Question: Who built the bridge?\n\nAnswer: the company.",
        "Sure, gladly.\n\n1. **Who built\tthe bridge?**",
        "Here is the question: Who built the bridge? It is answered in full.",
        "Sure! Here's a question: Who built the bridge?",
        "Certainly. Here is one question that the passage answers: Who built the bridge?",
    ],
)
def test_question_is_extracted_from_a_reply(reply):
    assert question_in(reply) == "Who built the bridge?"
