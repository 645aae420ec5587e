"""Contexts shown to the model, what is read again, and the explanation of an answer."""

import json

import pyarrow as pa
import pytest

from gsum_assets.corpus.chunk import n_word_pieces
from gsum_assets.evaluation.answer import answer_questions, answer_request, answer_room
from gsum_assets.evaluation.passages import context_rows
from gsum_assets.evaluation.token_usage import NO_USAGE
from gsum_assets.jerr.contexts import (
    graph_contexts,
    short_contexts,
    short_forms,
    short_texts,
)
from gsum_assets.jerr.explain import explained
from gsum_assets.jerr.reread import first_in_full, look_ups, reread
from gsum_assets.jerr.settings import AnswerSettings
from gsum_assets.pipeline.tables import TABLES
from tests.gae.toy_contexts import queries
from tests.gor.toy_documents import Scripted
from tests.jerr import tower
from tests.jerr.test_search import found, keywords
from tests.rows import rows_of

MAX_WORDS = 100
QUESTION = "Why " * 150
LONGEST = 100  # of what is read again, word pieces


def shown(document_id: str | None = None, **settings: int) -> list[dict]:
    searches = pa.Table.from_pylist(
        found("jerr-search", [], document_id), TABLES["jerr.searches"].schema
    )
    short = short_forms(
        short_texts(tower.SYNOPSES, "chunk_id", "synopsis"),
        AnswerSettings(**settings),
        LONGEST,
        MAX_WORDS,
    )
    choose = graph_contexts(searches, tower.NODE_ROWS, tower.EDGES, tower.FACTS, short)
    return context_rows(queries({"q": QUESTION}, document_id=document_id), choose).to_pylist()


def test_best_nodes_with_their_relations_and_facts_come_before_synopses() -> None:
    rows = shown()
    assert [(row["node_kind"], row["node_id"]) for row in rows] == [
        ("node", "n-storm"),
        ("node", "n-lamp"),  # the ferry leads to b1, too, and waits
        ("synopsis", "b1"),
        ("synopsis", "a2"),
        ("synopsis", "a1"),
    ]
    assert [row["text"] for row in rows[:2]] == [
        "storm (storm – breaks – lamp; storm – sinks – ferry):\nThe storm sinks the ferry. "
        "The storm breaks the lamp's glass.",
        "lamp (Ada – lights – lamp; storm – breaks – lamp):\nThe storm breaks the lamp's glass. "
        "Ada lights the lamp.",
    ]


def test_document_question_sees_only_its_document() -> None:
    rows = shown("a")
    assert {row["node_id"] for row in rows if row["node_kind"] == "synopsis"} == {"a1", "a2"}
    storm = next(row for row in rows if row["node_id"] == "n-storm")
    assert storm["text"] == "storm (storm – breaks – lamp):\nThe storm breaks the lamp's glass."


def test_half_of_a_short_prompt_is_reserved_for_reread_text() -> None:
    (query,) = queries({"q": QUESTION}).to_pylist()
    bare = answer_request(query, (), MAX_WORDS)
    own = sum(n_word_pieces([bare.instructions, bare.render()]))
    # 60 word pieces after the instructions and the half that is kept
    rows = shown(prompt_tokens=2 * (own + 60), n_reread=500)
    marks = n_word_pieces(["[999]"])[0] * len(rows)
    assert 0 < len(rows) < 5
    assert sum(n_word_pieces([row["text"] for row in rows])) + marks <= own + 2 * 60
    assert len(shown(prompt_tokens=2 * (own + 60), n_reread=0)) == 5


@pytest.mark.parametrize("document_id", ["d", None])
def test_gists_follow_passage_order_without_empty_ones(document_id: str | None) -> None:
    gists = ["The keeper sleeps.", "A storm comes.", ""]
    pages = pa.Table.from_pylist(
        [
            {"page_id": f"p{i}", "document_id": "d", "position": i, "gist": gist}
            | {"start": 100 * i, "end": 100 * i + 100}
            for i, gist in enumerate(gists)
        ]
    )
    chunks = pa.table(
        {"chunk_id": ["c0", "c1", "c2"], "document_id": ["d", "d", "d"]}
        | {"start": [0, 90, 210], "end": [90, 210, 300]}
    )
    rankings = pa.table(
        {"query_id": ["q"] * 2, "level": ["node"] * 2, "rank": [1, 2], "item_id": ["c2", "c1"]}
    )
    spans = pages.rename_columns({"page_id": "chunk_id"})
    short = short_forms(short_texts(pages, "page_id", "gist"), AnswerSettings(), LONGEST, MAX_WORDS)
    choose = short_contexts(spans, chunks, rankings, short)
    rows = context_rows(queries({"q": "?"}, document_id=document_id), choose).to_pylist()
    # c2 lies in a page without a gist; c1 shares 90 characters with p1 and 10 with p0
    assert [(row["node_id"], row["text"]) for row in rows] == [("p1", gists[1]), ("p0", gists[0])]


# What is read again, and what the answer is then written from.

READ_WORDS = 60
ASKED = queries({"q": "Who broke the lamp?"})
NODE = "storm: storm – breaks – lamp."
SYNOPSES = {
    "a2": "A storm breaks the glass.",
    "a1": "Ada lights the lamp.",
    "b1": "The ferry sinks.",
}
TEXTS = {i: f"{i} in full: " + "it was told at length that night. " * 20 for i in SYNOPSES}


def contexts(text: str = "", kind: str = "") -> pa.Table:
    """A node, and a synopsis of each line chunk, the one of a2 first, or others of `kind`."""
    given = [("n", "node", None, None, NODE)]
    given += [(i, "synopsis", i[0], int(i[1]) - 1, synopsis) for i, synopsis in SYNOPSES.items()]
    rows = [
        {"query_id": "q", "rank": rank, "node_id": node_id, "node_kind": kind or own_kind}
        | {"document_id": document_id, "position": position, "text": text or own_text}
        for rank, (node_id, own_kind, document_id, position, own_text) in enumerate(given, start=1)
    ]
    return rows_of("contexts", rows)


def named(references: list[int], **settings: int) -> list[list[str]]:
    model = Scripted(lambda _: json.dumps({"references": references}))
    return (
        look_ups(contexts(), ASKED, model, AnswerSettings(**settings)).rows["chunk_ids"].to_pylist()
    )


def again(chunk_ids: list[str], prompt_tokens: int = 16_000) -> pa.Table:
    row = {"query_id": "q", "chunk_ids": chunk_ids, "n_shown": 3, **NO_USAGE}
    rows = pa.Table.from_pylist([row], TABLES["jerr.look_ups"].schema)
    settings = AnswerSettings(prompt_tokens=prompt_tokens)
    return reread(contexts(), rows, TEXTS, ASKED, settings, READ_WORDS)


def prompt_length(rows: pa.Table) -> int:
    """Return the word pieces of the prompt of an answer from these rows."""
    model = Scripted(lambda _: "The storm.")
    answer_questions(ASKED, rows, model, READ_WORDS)
    return sum(n_word_pieces([model.requests[0].instructions, model.requests[0].render()]))


def test_best_line_chunks_are_read_without_a_request() -> None:
    (row,) = first_in_full(contexts(kind="synopsis"), ASKED, 2).to_pylist()
    assert (row["chunk_ids"], row["n_shown"], row["calls"]) == (["n", "a2"], 4, 0)


def test_synopses_are_shown_in_reading_order_before_nodes() -> None:
    model = Scripted(lambda _: '{"references": []}')
    look_ups(contexts(), ASKED, model, AnswerSettings())
    assert model.requests[0].passages == (*(SYNOPSES[i] for i in ("a1", "a2", "b1")), NODE)


def test_numbers_refer_to_synopses_and_others_are_ignored() -> None:
    assert named([2, 4, 0, 2, 1, -3]) == [["a2", "a1"]]
    assert named([2, 1, 3], n_reread=2) == [["a2", "a1"]]
    assert named([]) == [[]]
    assert named([1], n_reread=0) == []  # no request is sent


def test_best_synopses_are_shown_if_not_all_fit() -> None:
    model = Scripted(lambda _: '{"references": [1]}')
    settings = AnswerSettings(prompt_tokens=700)
    (row,) = look_ups(contexts("word " * 250), ASKED, model, settings).rows.to_pylist()
    assert (row["chunk_ids"], row["n_shown"]) == (["a2"], 1)
    request = model.requests[0]
    assert sum(n_word_pieces([request.instructions, request.render()])) <= 700


def test_invalid_reply_rereads_nothing() -> None:
    found = look_ups(contexts(), ASKED, Scripted(lambda _: None), AnswerSettings())
    assert found.rows.num_rows == 0
    assert found.failures == ["question 'q': nothing is read again: the server is tired"]
    rows = reread(contexts(), found.rows, TEXTS, ASKED, AnswerSettings(), READ_WORDS).to_pylist()
    assert {row["fate"] for row in rows} == {"as found"}


def test_reread_text_replaces_its_synopsis() -> None:
    rows = again(["b1", "a1"]).to_pylist()
    assert [(r["node_id"], r["node_kind"], r["fate"], r["text"]) for r in rows] == [
        ("n", "node", "as found", NODE),
        ("a2", "synopsis", "as found", SYNOPSES["a2"]),
        ("a1", "line chunk", "read again", TEXTS["a1"]),
        ("b1", "line chunk", "read again", TEXTS["b1"]),
    ]


@pytest.mark.parametrize("prompt_tokens", range(500, 1100, 50))
def test_prompt_keeps_its_length_and_starts_with_the_first_named(prompt_tokens: int) -> None:
    rows = again(["b1", "a1", "a2"], prompt_tokens)
    assert prompt_length(rows) <= prompt_tokens
    fates = {row["node_id"]: row["fate"] for row in rows.to_pylist()}
    order = [fates[i] for i in ("b1", "a1", "a2")]
    assert order == sorted(order, key=["read again", "cut", "as found"].index)
    assert order.count("cut") <= 1
    if prompt_tokens == 1050:
        assert "as found" not in order


def test_full_texts_may_fill_the_prompt_to_the_last_piece() -> None:
    (query,) = ASKED.to_pylist()
    room = answer_room(query, 1000, READ_WORDS, n_word_pieces)
    texts = [NODE, *TEXTS.values()]
    least = 1000 - room.tokens + sum(n_word_pieces(texts)) + len(texts) * room.mark
    for prompt_tokens, fate in ((least, "read again"), (least - 1, "cut")):
        rows = again(["b1", "a1", "a2"], prompt_tokens).to_pylist()
        assert {row["node_id"]: row["fate"] for row in rows}["a2"] == fate


def test_long_units_are_cut_to_the_prompt() -> None:
    long = contexts("It was told at length. " * 60, "long unit")
    nobody = TABLES["jerr.look_ups"].empty()
    rows = reread(long, nobody, {}, ASKED, AnswerSettings(prompt_tokens=700), READ_WORDS)
    assert rows["fate"].to_pylist() == ["as found", "cut", "over budget", "over budget"]
    assert prompt_length(rows) <= 700


# How an answer came about, to read.


def lines_of(variant: str, words: list[str]) -> list[str]:
    searches = pa.Table.from_pylist(found(variant, words), TABLES["jerr.searches"].schema)
    row = {"query_id": "q", "chunk_ids": ["b1", "a1"], "n_shown": 3, **NO_USAGE}
    look_ups = pa.Table.from_pylist([row], TABLES["jerr.look_ups"].schema)
    text = explained(
        keywords({"q": words}), searches, look_ups, again(row["chunk_ids"]), edges=tower.EDGES
    )
    return text.splitlines()


def test_explanation_lists_everything_in_order() -> None:
    lines = lines_of("jerr-published", ["storm", "ferry"])
    assert lines[0] == "keywords: storm, ferry"
    assert lines[2].startswith("nodes visited (")
    mark, visits, mean, name, *matches = lines[4].split()
    assert (mark, matches) == ("*", ["(storm,", "ferry)"])
    (best,) = (row for row in found("jerr-published", ["storm", "ferry"]) if row["place"] == 1)
    assert (name, int(visits), mean) == (best["name"], best["visits"], f"{best['mean_reward']:.3f}")
    assert "best path: storm -[sinks]-> ferry" in lines
    start = lines.index("read again (2 of 3):")
    assert lines[start + 1 :] == ["      b, line chunk 0 (b1)", "      a, line chunk 0 (a1)"]


def test_pagerank_has_no_visits_and_no_path() -> None:
    lines = lines_of("jerr-pagerank", ["ferry"])
    assert lines[3].split() == ["PageRank", "node"]
    assert not any("best path" in line for line in lines)
