"""Matches of a question's keywords, and the nodes that a search finds."""

import math

import pyarrow as pa
import pytest

from gsum_assets.jerr.lines import first_in_full, line_contexts, ranked_lines
from gsum_assets.jerr.matches import SearchSpace
from gsum_assets.jerr.methods import METHODS
from gsum_assets.jerr.order import chunks_by_nodes
from gsum_assets.jerr.search import by_match, search
from gsum_assets.jerr.settings import SearchSettings
from gsum_assets.pipeline.tables import TABLES
from tests.gae.toy_contexts import queries
from tests.jerr.tower import EDGES, LINE_CHUNKS, NODE_ROWS, SYNOPSES, WORDS

SPACE = SearchSpace(NODE_ROWS, EDGES, LINE_CHUNKS, WORDS)
SETTINGS = SearchSettings(n_nodes=2, n_simulations=200)


def keywords(words: dict[str, list[str]]) -> pa.Table:
    spent = {"model": "", "calls": 0, "tokens_in": 0, "tokens_out": 0}
    rows = [
        {"query_id": q, "keywords": own, **spent, "latency_s": 0.0, "cost_usd": 0.0}
        for q, own in words.items()
    ]
    return pa.Table.from_pylist(rows, TABLES["jerr.keywords"].schema)


def found(method: str, words: list[str], document_id: str | None = None) -> list[dict]:
    questions = queries({"q": "?"}, document_id=document_id)
    rows = search(questions, keywords({"q": words}), SPACE, METHODS[method], SETTINGS, WORDS)
    return rows.to_pylist()


def test_name_counts_in_addition_to_the_text() -> None:
    scope = SPACE.scope(None)
    matched = scope.match(["lamp"], WORDS, 0.6)
    by_name = {scope.names[node]: own for node, own in matched.gains.items()}
    # a1 and a2 say "lamp" once, b1 does not
    text = 0.6 * 0.5
    assert by_name == {
        "Ada": [(0, pytest.approx(text))],
        "lamp": [(0, pytest.approx(text + 0.4))],
        "storm": [(0, pytest.approx(text))],
    }
    assert matched.coverage.tolist() == [0.5, 0.5, 0]


def test_rare_keywords_weigh_more_and_weights_sum_to_one() -> None:
    scope = SPACE.scope(None)
    matched = scope.match(["storm", "ferry", "dragon"], WORDS, 1.0)
    storm, ferry = math.log(1 + 3 / 2), math.log(1 + 3)  # in 2 and 1 of 3 line chunks
    total = storm + ferry
    gains = dict(matched.gains[scope.names.index("storm")])  # b1 holds both: storm twice
    assert gains == pytest.approx({0: 2 / 3 * storm / total, 1: 1 / 2 * ferry / total})
    expected = [0, storm / 2 / total, (2 / 3 * storm + ferry / 2) / total]
    assert matched.coverage.tolist() == pytest.approx(expected)


def test_words_of_a_two_word_keyword_count_half_each() -> None:
    scope = SPACE.scope("b")
    matched = scope.match(["ferry captain"], WORDS, 0.5)
    assert {scope.names[node]: own for node, own in matched.gains.items()} == {
        "ferry": [(0, pytest.approx(0.5 * 0.25 + 0.5 * 0.5))],
        "storm": [(0, pytest.approx(0.5 * 0.25))],
    }


def test_node_scores_as_its_best_line_chunk() -> None:
    scope = SPACE.scope("a")
    matched = scope.match(["keeper", "glass"], WORDS, 1.0)  # in a1, and in a2
    lamp = matched.gains[scope.names.index("lamp")]  # in both
    assert lamp == [(0, 0.25)]


def test_document_scope_has_only_its_nodes_edges_and_line_chunks() -> None:
    scope = SPACE.scope("a")
    assert scope.names == ["Ada", "lamp", "storm"]
    assert scope.children == [[1], [], [1]]
    assert scope.chunk_ids == ["a1", "a2"]
    assert scope.chunks == [[0], [0, 1], [1]]


def test_without_matches_nodes_score_by_their_line_chunks() -> None:
    scope = SPACE.scope("a")
    matched = scope.match(["dragon"], WORDS, 0.5)
    assert matched.gains == {0: [(0, 0.5)], 1: [(0, 1.0)], 2: [(0, 0.5)]}
    assert matched.keywords == {}
    best = found("jerr", [], "a")[0]
    assert (best["name"], best["keywords"]) == ("lamp", [])


def test_best_path_covers_both_keywords() -> None:
    rows = found("jerr", ["storm", "ferry"])
    path = sorted((row for row in rows if row["step"]), key=lambda row: row["step"])
    assert [row["name"] for row in path] == ["storm", "ferry"]
    assert [row["place"] for row in rows] == [*range(1, len(rows) + 1)]
    assert [row["is_chosen"] for row in rows] == [True, True] + [False] * (len(rows) - 2)
    assert all(0 <= row["mean_reward"] <= 1 and row["visits"] > 0 for row in rows)
    assert rows[0]["score"] == max(row["score"] for row in rows)


def test_nodes_of_a_line_chunk_alternate_and_unmatched_come_last() -> None:
    rows = found("jerr", ["storm", "ferry", "keeper"])
    assert [(row["name"], row["chunk_ids"][0]) for row in rows] == [
        ("storm", "b1"),
        ("lamp", "a1"),
        ("ferry", "b1"),
        ("Ada", "a1"),
    ]
    scores = {row["name"]: row["score"] for row in rows}
    assert scores["ferry"] > scores["lamp"]  # and yet it waits for its turn
    last = found("jerr", ["ferry"])[-1]
    assert (last["name"], last["keywords"], last["mean_reward"]) == ("Ada", [], 0)


def test_line_chunks_of_a_node_are_ordered_by_score() -> None:
    lamp = next(row for row in found("jerr", ["storm", "lamp"]) if row["name"] == "lamp")
    assert lamp["chunk_ids"] == ["a2", "a1"]  # a2 mentions both
    assert lamp["keywords"] == ["storm", "lamp"]


def test_pagerank_does_not_depend_on_the_question() -> None:
    one, other = (
        {row["name"]: row["score"] for row in found("jerr-pagerank", [word])}
        for word in ("ferry", "ada")
    )
    assert one == other
    # Ada and the storm lead to the lamp, the storm to the ferry as well
    assert one["lamp"] > one["ferry"] > one["Ada"] == one["storm"] > 0


def test_personalized_pagerank_follows_the_keywords_without_visits() -> None:
    rows = found("jerr-ppr", ["ferry"])
    assert rows[0]["name"] == "ferry"
    assert {row["visits"] for row in rows} == {row["step"] for row in rows} == {None}
    assert sum(row["score"] for row in rows) == pytest.approx(1)


@pytest.mark.parametrize(("method", "n"), [("jerr-top1", 1), ("jerr-top3", 3), ("jerr-top10", 4)])
def test_ablations_choose_the_configured_number_of_nodes(method: str, n: int) -> None:
    assert sum(row["is_chosen"] for row in found(method, ["storm", "ferry", "ada"])) == n


def test_search_depends_on_its_seed_and_question_only() -> None:
    words = {"q": ["storm"], "r": ["ada"]}
    both = search(
        queries({"q": "?", "r": "?"}), keywords(words), SPACE, METHODS["jerr"], SETTINGS, WORDS
    )
    alone = found("jerr", ["storm"])
    assert [row for row in both.to_pylist() if row["query_id"] == "q"] == alone


def test_row_order_does_not_matter() -> None:
    shuffled = SearchSpace(
        NODE_ROWS.take([3, 1, 0, 2]), EDGES.take([2, 0, 1]), LINE_CHUNKS.take([1, 2, 0]), WORDS
    )
    questions = queries({"q": "?"}), keywords({"q": ["storm", "lamp"]})
    one, other = (
        search(*questions, space, METHODS["jerr"], SETTINGS, WORDS) for space in (SPACE, shuffled)
    )
    assert one == other


def test_no_nodes_give_no_error() -> None:
    empty = SearchSpace(*(t.slice(0, 0) for t in (NODE_ROWS, EDGES, LINE_CHUNKS)), WORDS)
    for method in ("jerr", "jerr-pagerank", "jerr-ppr"):
        rows = search(
            queries({"q": "?"}), keywords({"q": ["x"]}), empty, METHODS[method], SETTINGS, WORDS
        )
        assert rows.num_rows == 0


def test_nodes_alternate_with_their_line_chunks() -> None:
    rows = [
        {"query_id": "q", "place": 1, "chunk_ids": ["a2", "b1"]},
        {"query_id": "q", "place": 2, "chunk_ids": ["a2", "a1"]},
        {"query_id": "q", "place": 3, "chunk_ids": ["c1"]},
    ]
    assert chunks_by_nodes(pa.Table.from_pylist(rows)) == {"q": ["a2", "c1", "b1", "a1"]}


# The controls of the tree search: no search, and BM25 over the same line chunks.


class Everything:
    """Room for all."""

    def fitting(self, query: dict, passages: list) -> list:
        return list(passages)


def test_without_a_search_nodes_rank_by_their_match() -> None:
    space = SearchSpace(NODE_ROWS, EDGES, LINE_CHUNKS, WORDS).scope(None)
    found = by_match(space.match(["lamp"], WORDS, 0.6))
    assert [space.names[node] for node in found.nodes] == ["lamp", "Ada", "storm"]
    assert found.visits is None
    assert not found.path


def test_bm25_ranks_the_line_chunks_of_the_scope() -> None:
    everywhere = ranked_lines(queries({"q": "the storm and the ferry"}), LINE_CHUNKS, WORDS)
    assert everywhere["q"][0] == "b1"
    assert sorted(everywhere["q"]) == ["a1", "a2", "b1"]
    inside = ranked_lines(
        queries({"q": "the storm and the ferry"}, document_id="a"), LINE_CHUNKS, WORDS
    )
    assert inside == {"q": ["a2", "a1"]}
    unknown = ranked_lines(queries({"q": "storm"}, document_id="gone"), LINE_CHUNKS, WORDS)
    assert unknown == {}


def test_best_line_chunks_are_read_without_a_request() -> None:
    questions = queries({"q": "the storm and the ferry"})
    found = ranked_lines(questions, LINE_CHUNKS, WORDS)
    choose = line_contexts(found, SYNOPSES, Everything())  # type: ignore[arg-type]
    passages = choose(questions.to_pylist()[0])
    assert [p.node_id for p in passages] == list(found["q"])
    assert {p.node_kind for p in passages} == {"synopsis"}
    rows = [
        {"query_id": "q", "sample": 0, "rank": rank, **vars(p)}
        for rank, p in enumerate(passages, 1)
    ]
    contexts = pa.Table.from_pylist(rows, TABLES["contexts"].schema)
    (lookup,) = first_in_full(contexts, questions, 2).to_pylist()
    assert lookup["chunk_ids"] == list(found["q"][:2])
    assert lookup["calls"] == 0
