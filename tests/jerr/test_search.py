"""Relevance of line chunks, what nodes match, and the nodes that a search finds."""

import numpy as np
import pyarrow as pa
import pytest

from gsum_assets.evaluation.token_usage import NO_USAGE
from gsum_assets.jerr.methods import METHODS
from gsum_assets.jerr.rank import ByLineChunks, chunks_by_nodes, relevance, spans_of_passages
from gsum_assets.jerr.search import scopes_of, search
from gsum_assets.jerr.settings import SearchSettings
from gsum_assets.pipeline.tables import TABLES
from gsum_assets.retrieval.collection import Collection, Questions
from gsum_assets.retrieval.ranking import Scores
from tests.gae.toy_contexts import queries
from tests.jerr.tower import EDGES, LINE_CHUNKS, NODE_ROWS, SYNOPSES, TEXTS, WORDS

SCOPE_OF = scopes_of(NODE_ROWS, EDGES, LINE_CHUNKS, SYNOPSES, WORDS)
SETTINGS = SearchSettings(n_nodes=2, n_simulations=200)
RELEVANCE = {"b1": 1.0, "a2": 0.5, "a1": 0.2}  # best first


def keywords(words: dict[str, list[str]]) -> pa.Table:
    rows = [{"query_id": q, "keywords": own, **NO_USAGE} for q, own in words.items()]
    return pa.Table.from_pylist(rows, TABLES["jerr.keywords"].schema)


def found(
    method: str,
    words: list[str],
    document_id: str | None = None,
    relevant: dict[str, float] = RELEVANCE,
    scope_of=SCOPE_OF,
) -> list[dict]:
    """Rows of a search for a question with these keywords and line chunks."""
    inside = {c for c in TEXTS if document_id in (None, c[0])}
    best = sorted(inside, key=lambda c: -relevant[c])
    rows = search(
        queries({"q": "?"}, document_id=document_id),
        keywords({"q": words}),
        {"q": {c: relevant[c] for c in best}},
        scope_of,
        METHODS[method],
        SETTINGS,
        WORDS,
    )
    return rows.to_pylist()


def test_document_scope_has_only_its_nodes_edges_and_line_chunks() -> None:
    scope = SCOPE_OF("a")
    assert scope.names == ["Ada", "lamp", "storm"]
    assert scope.children == [[1], [], [1]]
    assert scope.chunk_ids == [["a1"], ["a1", "a2"], ["a2"]]


def test_node_gains_its_most_relevant_line_chunk() -> None:
    gains = SCOPE_OF(None).by_relevance({"b1": 1.0, "a2": 0.5, "a1": 0.2})
    # Ada leads to a1; the ferry to b1; the lamp to a1 and a2; the storm to a2 and b1
    assert gains == {0: [(2, 0.2)], 1: [(0, 1.0)], 2: [(1, 0.5)], 3: [(0, 1.0)]}


def test_published_keywords_are_matched_in_names_and_synopses() -> None:
    scope = SCOPE_OF(None)
    gains = scope.by_keywords(["Storm", "ferry pier", "glass", "dragon"], WORDS)
    assert {scope.names[node]: of_node for node, of_node in gains.items()} == {
        "ferry": [(0, 0.25), (1, 0.25)],
        "lamp": [(0, 0.25), (2, 0.25)],  # of a2
        "storm": [(0, 0.25), (1, 0.25), (2, 0.25)],
    }


def test_a_path_leads_to_a_line_chunk_that_no_node_before_it_has() -> None:
    rows = found("jerr-search", [])
    path = sorted((row for row in rows if row["step"]), key=lambda row: row["step"])
    # the storm leads to b1, its edge to the lamp on to a2; from the storm to the ferry is b1 again
    assert [(row["name"], row["chunk_ids"][0]) for row in path] == [("storm", "b1"), ("lamp", "a2")]
    assert [row["is_chosen"] for row in rows] == [True, True] + [False] * (len(rows) - 2)
    assert [row["keywords"] for row in rows] == [[]] * len(rows)
    # nodes of a line chunk take turns
    assert [row["chunk_ids"][0] for row in rows] == ["b1", "a2", "a1", "b1"]
    assert rows[3]["name"] == "ferry"


def test_a_node_is_credited_with_its_own_gain_alone() -> None:
    rewards = {row["name"]: row["mean_reward"] for row in found("jerr-search", [])}
    assert rewards["storm"] == 1.0  # and not what the lamp adds
    assert rewards["Ada"] == pytest.approx(0.2)
    assert 0.8 * 0.5 <= rewards["lamp"] <= 0.5  # as a root, and a step behind the storm
    assert rewards["ferry"] < 1.0  # nothing behind the storm, which has the same line chunk


def test_published_nodes_match_keywords() -> None:
    rows = found("jerr-published", ["storm", "ferry"])
    named = {row["name"]: row["keywords"] for row in rows}
    assert named == {"ferry": ["storm", "ferry"], "lamp": ["storm"], "storm": ["storm", "ferry"]}
    rewards = {row["name"]: row["mean_reward"] for row in rows}
    assert rewards["storm"] > rewards["lamp"]


def test_pagerank_does_not_depend_on_the_question() -> None:
    one, other = (
        {r["name"]: r["score"] for r in found("jerr-pagerank", [], relevant=relevant)}
        for relevant in (RELEVANCE, {"a1": 1.0, "a2": 0.1, "b1": 0.0})
    )
    assert one == other
    lamp = next(row for row in found("jerr-pagerank", []) if row["name"] == "lamp")
    assert lamp["chunk_ids"] == ["a2", "a1"]  # by relevance
    # Ada and the storm lead to the lamp, the storm to the ferry as well
    assert one["lamp"] > one["ferry"] > one["Ada"] == one["storm"] > 0
    rows = found("jerr-pagerank", [])
    assert {row["visits"] for row in rows} == {row["step"] for row in rows} == {None}
    assert sum(row["score"] for row in rows) == pytest.approx(1, abs=1e-5)


def test_search_depends_on_its_question_only() -> None:
    both = search(
        queries({"q": "?", "r": "?"}),
        keywords({}),
        {"q": RELEVANCE, "r": {"a1": 1.0, "a2": 0.5, "b1": 0.2}},
        SCOPE_OF,
        METHODS["jerr-search"],
        SETTINGS,
        WORDS,
    ).to_pylist()
    assert [row for row in both if row["query_id"] == "q"] == found("jerr-search", [])


def test_row_order_does_not_matter() -> None:
    shuffled = scopes_of(
        NODE_ROWS.take([3, 1, 0, 2]),
        EDGES.take([2, 0, 1]),
        LINE_CHUNKS.take([1, 2, 0]),
        SYNOPSES.take([2, 0, 1]),
        WORDS,
    )
    for method in ("jerr-search", "jerr-published", "jerr-pagerank"):
        words = ["storm", "lamp"]
        assert found(method, words, scope_of=shuffled) == found(method, words)


def test_nodes_alternate_with_their_line_chunks() -> None:
    rows = [
        {"query_id": "q", "place": 1, "chunk_ids": ["a2", "b1"]},
        {"query_id": "q", "place": 2, "chunk_ids": ["a2", "a1"]},
        {"query_id": "q", "place": 3, "chunk_ids": ["c1"]},
    ]
    assert chunks_by_nodes(pa.Table.from_pylist(rows)) == {"q": ["a2", "c1", "b1", "a1"]}


# Relevance of line chunks, and what is read without a search.

SPANS = {"a1": (0, 50), "a2": (50, 100), "b1": (0, 60)}


def relevant(text: str, document_id: str | None = None, **options: bool) -> dict[str, float]:
    """Relevance to a question whose vector is that of the passage in a1, one in each line chunk."""
    spans = [dict(zip(("start", "end"), SPANS[c], strict=True)) for c in TEXTS]
    lines = [row | span for row, span in zip(LINE_CHUNKS.to_pylist(), spans, strict=True)]
    passages = [
        {"chunk_id": f"p-{c}", "document_id": c[0], **span}
        for c, span in zip(TEXTS, spans, strict=True)
    ]
    ids, vectors = [row["chunk_id"] for row in passages], np.eye(3, dtype=np.float32)
    collection = Collection(["a", "b"], ["", ""], ids, [], np.array([0, 2, 3]), vectors)
    questions = Questions(["q"], [text], [document_id], vectors[:1])
    chunks, line_chunks = pa.Table.from_pylist(passages), pa.Table.from_pylist(lines)
    found = relevance(collection, questions, chunks, line_chunks, WORDS, **options)
    return dict(found.get("q", {}))


def test_relevance_unites_words_and_vectors() -> None:
    assert relevant("the storm and the ferry", is_lexical=True)["b1"] == 1.0
    united = relevant("the storm and the ferry")
    assert list(united) == ["b1", "a1", "a2"]  # words; the vector; a storm
    assert united["a1"] == pytest.approx(0.4)
    assert united["b1"] == pytest.approx(0.6)


def test_relevance_is_that_within_the_scope() -> None:
    inside = relevant("the storm and the ferry", "a", is_lexical=True)
    assert inside == {"a2": 1.0, "a1": 0.0}
    assert relevant("storm", "gone") == {}


def spans(**slices: tuple[str, int, int]) -> pa.Table:
    columns = ("chunk_id", "document_id", "start", "end")
    rows = [dict(zip(columns, (i, *values), strict=True)) for i, values in slices.items()]
    return pa.Table.from_pylist(rows)


def test_passage_belongs_to_the_line_chunk_with_most_overlap() -> None:
    found = spans_of_passages(
        spans(one=("d", 0, 60), both=("d", 50, 150), equal=("d", 90, 110), other=("e", 0, 10)),
        spans(first=("d", 0, 100), second=("d", 100, 200)),
    )
    assert found == {"one": "first", "both": "first", "equal": "first"}


def test_line_chunks_rank_first_and_another_retriever_orders_their_passages() -> None:
    class Given:
        def scores(self, questions: Questions) -> Scores:
            return Scores(np.array([[0.1, 0.2, 0.3, 0.9]] * len(questions)), np.zeros((2, 2)))

    collection = Collection(
        ["d", "e"], ["", ""], ["a", "b", "c", "x"], [""] * 4, np.array([0, 3, 4])
    )
    span_of = {"a": "first", "b": "second", "c": "second"}  # x lies in none
    retriever = ByLineChunks(collection, span_of, {"q": ["second", "first"]}, Given())
    found = retriever.scores(Questions(["q", "r"], ["", ""], [None, None]))
    assert found.nodes.tolist() == [
        [1 / 3, 1 / 2, 1, 1 / 4],  # c, b, a, and what nothing points to
        [1 / 4, 1 / 3, 1 / 2, 1],  # as the other retriever has it
    ]
    assert found.documents.tolist() == [[1, 1 / 4], [1 / 2, 1]]
