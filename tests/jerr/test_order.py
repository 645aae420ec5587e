"""Passages in the order in which nodes point to their line chunks."""

import numpy as np
import pyarrow as pa

from gsum_assets.jerr.order import ByLineChunks, Overlapping
from gsum_assets.retrieval.collection import Collection, Questions
from gsum_assets.retrieval.ranking import Scores


def spans(**slices: tuple[str, int, int]) -> pa.Table:
    columns = ("chunk_id", "document_id", "start", "end")
    rows = [dict(zip(columns, (i, *values), strict=True)) for i, values in slices.items()]
    return pa.Table.from_pylist(rows)


def test_passage_belongs_to_the_line_chunk_with_most_overlap() -> None:
    found = Overlapping(
        spans(one=("d", 0, 60), both=("d", 50, 150), equal=("d", 90, 110), other=("e", 0, 10)),
        spans(first=("d", 0, 100), second=("d", 100, 200)),
    ).span_of
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
