"""The controls of the tree search: no search, and BM25 over the same line chunks."""

import pyarrow as pa

from gsum_assets.jerr.lines import first_in_full, line_contexts, ranked_lines
from gsum_assets.jerr.matches import SearchSpace
from gsum_assets.jerr.search import by_match
from gsum_assets.pipeline.tables import TABLES
from tests.gae.toy_contexts import queries
from tests.jerr.tower import EDGES, LINE_CHUNKS, NODE_ROWS, SYNOPSES, WORDS


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
