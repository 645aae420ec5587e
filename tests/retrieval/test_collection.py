import numpy as np
import pyarrow as pa
import pytest

from gsum_assets.retrieval.collection import Collection, Questions, scopes
from gsum_assets.retrieval.vectors import vectors_of
from tests.retrieval.toys import CHUNKS, collection, tables, toy_questions


def test_row_order_does_not_change_the_collection():
    expected, shuffled = collection(), Collection.from_tables(*tables((3, 0, 4, 2, 1)))
    assert shuffled.chunk_ids == expected.chunk_ids == [row[0] for row in CHUNKS]
    assert shuffled.document_ids == expected.document_ids == ["apples", "boats", "clouds"]
    assert shuffled.starts.tolist() == expected.starts.tolist() == [0, 2, 4, 5]
    np.testing.assert_array_equal(shuffled.embeddings, expected.embeddings)


def test_document_without_chunks_is_omitted():
    documents, chunks, vectors = tables()
    blank = pa.table({"document_id": ["blank"], "text": [""]})
    found = Collection.from_tables(pa.concat_tables([blank, documents]), chunks, vectors)
    assert found.document_ids == ["apples", "boats", "clouds"]


def test_empty_corpus_gives_an_empty_collection():
    empty = Collection.from_tables(*(table.slice(0, 0) for table in tables()))
    assert empty.document_ids == []
    assert empty.chunk_ids == []
    assert empty.starts.tolist() == [0]
    assert list(scopes(toy_questions(("?", None, 0)), empty)) == []


def test_chunk_of_an_unknown_document_raises():
    documents, chunks, vectors = tables()
    with pytest.raises(ValueError, match=r"1 documents .*'clouds'.*materialize"):
        Collection.from_tables(documents.slice(0, 2), chunks, vectors)


def test_chunk_without_embedding_raises():
    documents, chunks, vectors = tables()
    with pytest.raises(ValueError, match=r"2 of 5 chunks .*first: c-apple-1.*materialize"):
        Collection.from_tables(documents, chunks, vectors.slice(2))


def test_vectors_of_two_lengths_raise():
    rows = pa.table({"chunk_id": ["a", "b"], "embedding": [[1.0], [1.0, 0.0]]})
    with pytest.raises(ValueError, match="lengths"):
        vectors_of(rows, ["a", "b"])


@pytest.mark.parametrize("kind", ["list", "fixed"])
def test_vectors_are_read_without_a_copy_in_the_requested_order(kind):
    values = pa.array(np.arange(6, dtype=np.float32))
    column = (
        pa.FixedSizeListArray.from_arrays(values, 2)
        if kind == "fixed"
        else pa.ListArray.from_arrays(pa.array([0, 2, 4, 6], pa.int32()), values)
    )
    rows = pa.table({"chunk_id": ["a", "b", "c"], "embedding": column})
    same = vectors_of(rows, ["a", "b", "c"])
    assert same.ctypes.data == values.to_numpy().ctypes.data
    np.testing.assert_array_equal(vectors_of(rows, ["c", "a"]), [[4, 5], [0, 1]])


def test_slice_of_a_table_gives_its_own_vectors():
    values = pa.array(np.arange(6, dtype=np.float32))
    rows = pa.table(
        {"chunk_id": ["a", "b", "c"], "embedding": pa.FixedSizeListArray.from_arrays(values, 2)}
    )
    np.testing.assert_array_equal(vectors_of(rows.slice(1), ["b", "c"]), [[2, 3], [4, 5]])


def test_questions_get_their_vectors_by_id():
    row = {"retrieval_text": "?", "document_id": None}
    queries = pa.Table.from_pylist([{"query_id": q, **row} for q in ("b", "a")])
    values = pa.array(np.arange(6, dtype=np.float32))
    vectors = pa.table(
        {"query_id": ["a", "b", "c"], "embedding": pa.FixedSizeListArray.from_arrays(values, 2)}
    )
    questions = Questions.from_tables(queries, vectors)
    assert questions.ids == ["b", "a"]
    np.testing.assert_array_equal(questions.embeddings, [[2, 3], [0, 1]])
    with pytest.raises(ValueError, match=r"query_embeddings: 1 of 2 queries .*first: b"):
        Questions.from_tables(queries, vectors.slice(0, 1))
    assert len(Questions.from_tables(queries.slice(2), vectors.slice(3))) == 0


def test_questions_share_a_scope_by_document():
    questions = toy_questions(
        ("a", "boats", 0), ("b", None, 0), ("c", "boats", 0), ("d", "gone", 0), ("e", "clouds", 0)
    )
    found = {tuple(members): scope.chunk_ids for members, scope in scopes(questions, collection())}
    assert found == {
        (0, 2): ["c-boat-1", "c-boat-2"],
        (1,): [row[0] for row in CHUNKS],
        (4,): ["c-cloud-1"],
    }


def test_scope_keeps_texts_and_vectors_of_its_document():
    boats = collection().document(1)
    assert boats.document_ids == ["boats"]
    assert boats.starts.tolist() == [0, 2]
    assert boats.chunk_texts == [CHUNKS[2][3], CHUNKS[3][3]]
    np.testing.assert_array_equal(boats.embeddings, np.eye(3)[[1, 1]])


def test_vectors_in_several_pieces_are_reordered() -> None:
    ids = list("abcdef")
    vectors = np.arange(12, dtype=np.float32).reshape(6, 2)
    pieces = [
        pa.table(
            {
                "chunk_id": ids[first : first + 2],
                "embedding": pa.FixedSizeListArray.from_arrays(
                    vectors[first : first + 2].ravel(), 2
                ),
            }
        )
        for first in (0, 2, 4)
    ]
    order = ["f", "a", "d", "c"]
    found = vectors_of(pa.concat_tables(pieces), order)
    np.testing.assert_array_equal(found, vectors[[ids.index(i) for i in order]])
    assert found.dtype == np.float32
