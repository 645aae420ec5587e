"""Which parts are read again, and what the answer is then written from."""

import json

import pyarrow as pa
import pytest

from gsum_assets.corpus.chunk import n_word_pieces
from gsum_assets.evaluation.answer import answer_questions
from gsum_assets.evaluation.token_usage import NO_USAGE
from gsum_assets.jerr.reread import first_in_full, look_ups, reread
from gsum_assets.jerr.settings import AnswerSettings
from gsum_assets.pipeline.tables import TABLES
from tests.gae.toy_contexts import queries
from tests.gor.toy_documents import Scripted

MAX_WORDS = 60
ASKED = queries({"q": "Who broke the lamp?"})
SYNOPSES = {
    "a2": "A storm breaks the glass.",
    "a1": "Ada lights the lamp.",
    "b1": "The ferry sinks.",
}
TEXTS = {i: f"{i} in full: " + "it was told at length that night. " * 20 for i in SYNOPSES}


def contexts(kinds: dict[str, str] | None = None) -> pa.Table:
    """A node, and a synopsis of each line chunk, the one of a2 first."""
    found = [("n", "node", None, None, "storm: storm – breaks – lamp.")]
    found += [(i, "synopsis", i[0], int(i[1]) - 1, text) for i, text in SYNOPSES.items()]
    rows = [
        {"query_id": "q", "sample": 0, "rank": rank, "node_id": node_id}
        | {"node_kind": (kinds or {}).get(node_id, kind), "document_id": document_id}
        | {"position": position, "score": 0.0, "text": text}
        for rank, (node_id, kind, document_id, position, text) in enumerate(found, start=1)
    ]
    return pa.Table.from_pylist(rows, TABLES["contexts"].schema)


def named(references: list[int], **settings: int) -> list[dict]:
    model = Scripted(lambda _: json.dumps({"references": references}))
    found = look_ups(contexts(), ASKED, model, AnswerSettings(**settings))
    return found.rows.to_pylist()


def again(chunk_ids: list[str], prompt_tokens: int = 16_000) -> pa.Table:
    row = {"query_id": "q", "chunk_ids": chunk_ids, "n_shown": 3, **NO_USAGE}
    rows = pa.Table.from_pylist([row], TABLES["jerr.look_ups"].schema)
    settings = AnswerSettings(prompt_tokens=prompt_tokens)
    return reread(contexts(), rows, TEXTS, ASKED, settings, MAX_WORDS)


def test_best_line_chunks_are_read_without_a_request() -> None:
    (row,) = first_in_full(contexts(dict.fromkeys("n", "synopsis")), ASKED, 2).to_pylist()
    assert (row["chunk_ids"], row["n_shown"], row["calls"]) == (["n", "a2"], 4, 0)


def test_synopses_are_shown_in_reading_order_before_nodes() -> None:
    model = Scripted(lambda _: '{"references": []}')
    look_ups(contexts(), ASKED, model, AnswerSettings())
    assert model.requests[0].passages == (
        SYNOPSES["a1"],
        SYNOPSES["a2"],
        SYNOPSES["b1"],
        "storm: storm – breaks – lamp.",
    )


def test_numbers_refer_to_synopses_and_others_are_ignored() -> None:
    assert named([2, 4, 0, 2, 1, -3])[0]["chunk_ids"] == ["a2", "a1"]
    assert named([2, 1, 3], n_reread=2)[0]["chunk_ids"] == ["a2", "a1"]
    assert named([])[0]["chunk_ids"] == []
    assert named([1], n_reread=0) == []  # no request is sent


def test_best_synopses_are_shown_if_not_all_fit() -> None:
    model = Scripted(lambda _: '{"references": [1]}')
    long = contexts().set_column(8, "text", pa.array(["word " * 250] * 4))
    settings = AnswerSettings(prompt_tokens=700)
    (row,) = look_ups(long, ASKED, model, settings).rows.to_pylist()
    assert (row["chunk_ids"], row["n_shown"]) == (["a2"], 1)
    request = model.requests[0]
    assert sum(n_word_pieces([request.instructions, request.render()])) <= 700


def test_invalid_reply_rereads_nothing() -> None:
    found = look_ups(contexts(), ASKED, Scripted(lambda _: None), AnswerSettings())
    assert found.rows.num_rows == 0
    assert found.failures == ["question 'q': nothing is read again: the server is tired"]
    rows = reread(contexts(), found.rows, TEXTS, ASKED, AnswerSettings(), MAX_WORDS).to_pylist()
    assert {row["fate"] for row in rows} == {"as found"}


def test_reread_text_replaces_its_synopsis() -> None:
    rows = again(["b1", "a1"]).to_pylist()
    assert [(r["node_id"], r["node_kind"], r["fate"], r["text"]) for r in rows] == [
        ("n", "node", "as found", "storm: storm – breaks – lamp."),
        ("a2", "synopsis", "as found", SYNOPSES["a2"]),
        ("a1", "line chunk", "read again", TEXTS["a1"]),
        ("b1", "line chunk", "read again", TEXTS["b1"]),
    ]


@pytest.mark.parametrize("prompt_tokens", range(500, 1100, 50))
def test_prompt_keeps_its_length_and_starts_with_the_first_named(prompt_tokens: int) -> None:
    rows = again(["b1", "a1", "a2"], prompt_tokens)
    model = Scripted(lambda _: "The storm.")
    answer_questions(ASKED, rows, model, MAX_WORDS)
    request = model.requests[0]
    length = sum(n_word_pieces([request.instructions, request.render()]))
    assert length <= prompt_tokens
    fates = {row["node_id"]: row["fate"] for row in rows.to_pylist()}
    order = [fates[i] for i in ("b1", "a1", "a2")]
    assert order == sorted(order, key=["read again", "cut", "as found"].index)
    assert order.count("cut") <= 1
    if prompt_tokens == 1050:
        assert "as found" not in order


def test_long_units_are_cut_to_the_prompt() -> None:
    long = contexts({"n": "long unit", **dict.fromkeys(SYNOPSES, "long unit")})
    long = long.set_column(8, "text", pa.array(["It was told at length. " * 60] * 4))
    nobody = TABLES["jerr.look_ups"].empty()
    settings = AnswerSettings(prompt_tokens=700)
    rows = reread(long, nobody, {}, ASKED, settings, MAX_WORDS)
    assert rows["fate"].to_pylist() == ["as found", "cut", "over budget", "over budget"]
    model = Scripted(lambda _: "The storm.")
    answer_questions(ASKED, rows, model, MAX_WORDS)
    request = model.requests[0]
    assert sum(n_word_pieces([request.instructions, request.render()])) <= 700
