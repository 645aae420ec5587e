"""The budget of the control of tree search: as many line chunks as its nodes lead to."""

import pyarrow as pa

from benchmarks.jerr.recall import compared_recall
from benchmarks.jerr.stories import Stories
from gsum_assets.corpus.queries import Query


def test_bm25_reads_as_many_line_chunks_as_the_search() -> None:
    questions = {
        query_id: (Query(query_id, "?", "?", "specific", "story", [], [], "dev"), right)
        for query_id, right in (("first", "b"), ("second", "a"), ("none", "a"))
    }
    searches = pa.Table.from_pylist(
        [
            {"query_id": "first", "place": 1, "chunk_ids": ["b", "a"]},
            {"query_id": "first", "place": 2, "chunk_ids": ["b"]},
            {"query_id": "second", "place": 1, "chunk_ids": ["b"]},
            {"query_id": "second", "place": 2, "chunk_ids": ["c"]},
            {"query_id": "second", "place": 3, "chunk_ids": ["a"]},
        ]
    )
    ranked = {"first": ["a", "b"], "second": ["c", "a", "b"], "none": ["a"]}
    found = compared_recall(Stories([], questions, {}), searches, ranked, k=2)
    assert found.n_chunks.tolist() == [1, 2, 0]
    assert found.found.tolist() == [1, 0, 0]
    assert found.by_bm25.tolist() == [0, 1, 0]
