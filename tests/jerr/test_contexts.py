"""Contexts shown to the model before the second reading."""

import pyarrow as pa
import pytest

from gsum_assets.corpus.chunk import n_word_pieces
from gsum_assets.evaluation.answer import answer_request
from gsum_assets.evaluation.passages import context_rows
from gsum_assets.evaluation.token_usage import NO_USAGE
from gsum_assets.jerr.contexts import (
    ShortForms,
    gists_of,
    graph_contexts,
    short_contexts,
    synopses_of,
)
from gsum_assets.jerr.explain import explained
from gsum_assets.jerr.settings import AnswerSettings
from gsum_assets.pipeline.tables import TABLES
from tests.gae.toy_contexts import queries
from tests.jerr.test_reread import again
from tests.jerr.test_search import found, keywords
from tests.jerr.tower import EDGES, FACTS, NODE_ROWS, SYNOPSES

MAX_WORDS = 100
QUESTION = "Why " * 150
LONGEST = 100  # of what is read again, word pieces


def shown(document_id: str | None = None, **settings: int) -> list[dict]:
    rows = [{**row, "query_id": "q"} for row in found("jerr-search", [], document_id)]
    searches = pa.Table.from_pylist(rows, TABLES["jerr.searches"].schema)
    short = ShortForms(synopses_of(SYNOPSES), AnswerSettings(**settings), LONGEST, MAX_WORDS)
    choose = graph_contexts(searches, NODE_ROWS, EDGES, FACTS, short)
    return context_rows(queries({"q": QUESTION}, document_id=document_id), choose).to_pylist()


def test_best_nodes_come_before_their_synopses() -> None:
    rows = shown()
    assert [(row["node_kind"], row["node_id"]) for row in rows] == [
        ("node", "n-storm"),
        ("node", "n-lamp"),  # the ferry leads to b1, too, and waits
        ("synopsis", "b1"),
        ("synopsis", "a2"),
        ("synopsis", "a1"),
    ]
    assert [row["rank"] for row in rows] == [1, 2, 3, 4, 5]


def test_node_is_described_by_its_relations_and_facts() -> None:
    (storm, lamp, *_) = shown()
    assert storm["text"] == (
        "storm (storm – breaks – lamp; storm – sinks – ferry):\nThe storm sinks the ferry. "
        "The storm breaks the lamp's glass."
    )
    assert lamp["text"] == (
        "lamp (Ada – lights – lamp; storm – breaks – lamp):\nThe storm breaks the lamp's glass. "
        "Ada lights the lamp."
    )


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


PAGES = pa.Table.from_pylist(
    [
        {"page_id": f"p{i}", "document_id": "d", "position": i, "start": 100 * i}
        | {"end": 100 * i + 100, "n_words": 20, "text": "…", "gist": gist, "model": "scripted"}
        for i, gist in enumerate(["The keeper sleeps.", "A storm comes.", ""])
    ],
    TABLES["jerr.pages"].schema,
)


@pytest.mark.parametrize("document_id", ["d", None])
def test_gists_follow_passage_order_without_empty_ones(document_id: str | None) -> None:
    chunks = pa.table(
        {"chunk_id": ["c0", "c1", "c2"], "document_id": ["d", "d", "d"]}
        | {"start": [0, 90, 210], "end": [90, 210, 300]}
    )
    ranked = [("q", "node", rank, c, 1.0, 0.0) for rank, c in enumerate(["c2", "c1"], start=1)]
    names = TABLES["rankings"].schema.names
    rankings = pa.Table.from_pylist(
        [dict(zip(names, row, strict=True)) for row in ranked], TABLES["rankings"].schema
    )
    spans = PAGES.rename_columns({"page_id": "chunk_id"})
    short = ShortForms(gists_of(PAGES), AnswerSettings(), LONGEST, MAX_WORDS)
    choose = short_contexts(spans, chunks, rankings, short)
    rows = context_rows(queries({"q": "?"}, document_id=document_id), choose).to_pylist()
    # c2 lies in a page without a gist; c1 shares 90 characters with p1 and 10 with p0
    assert [(row["node_id"], row["text"]) for row in rows] == [
        ("p1", "A storm comes."),
        ("p0", "The keeper sleeps."),
    ]


# How an answer came about, to read.

NOTHING = {name: TABLES[f"jerr.{name}"].empty() for name in ("keywords", "searches", "look_ups")}


def lines_of(variant: str, words: list[str]) -> list[str]:
    searches = pa.Table.from_pylist(found(variant, words), TABLES["jerr.searches"].schema)
    row = {"query_id": "q", "chunk_ids": ["b1", "a1"], "n_shown": 3, **NO_USAGE}
    look_ups = pa.Table.from_pylist([row], TABLES["jerr.look_ups"].schema)
    text = explained(
        keywords({"q": words}), searches, look_ups, again(row["chunk_ids"]), edges=EDGES
    )
    return text.splitlines()


def test_explanation_lists_everything_in_order() -> None:
    lines = lines_of("jerr-published", ["storm", "ferry"])
    assert lines[0] == "keywords: storm, ferry"
    assert lines[2].startswith("nodes visited (")
    assert lines[3].split() == ["visits", "mean", "reward", "node"]
    mark, visits, mean, name, *matches = lines[4].split()
    assert (mark, matches) == ("*", ["(storm,", "ferry)"])
    (best,) = (row for row in found("jerr-published", ["storm", "ferry"]) if row["place"] == 1)
    assert (name, int(visits), mean) == (best["name"], best["visits"], f"{best['mean_reward']:.3f}")
    assert "best path: storm -[sinks]-> ferry" in lines
    start = lines.index("read again (2 of 3):")
    assert lines[start + 1 :] == ["      b, line chunk 0 (b1)", "      a, line chunk 0 (a1)"]


def test_pagerank_has_no_visits_and_no_path() -> None:
    lines = lines_of("jerr-ppr", ["ferry"])
    assert lines[3].split() == ["PageRank", "node"]
    assert not any("best path" in line for line in lines)


def test_method_without_search_explains_what_it_reread() -> None:
    rows = NOTHING["keywords"], NOTHING["searches"], NOTHING["look_ups"], again([])
    assert explained(*rows, edges=EDGES) == ""
