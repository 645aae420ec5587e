"""Responses: what each round retrieves, for several documents side by side."""

import numpy as np
import pyarrow as pa
import pytest

from gsum_assets.gor.respond import respond
from tests.gor.toy_documents import (
    Lookup,
    Scripted,
    chunk_table,
    embedding_table,
)

PASSAGES = ("north", "east", "south")
VECTORS = {
    "north": (1, 0, 0, 0),
    "east": (0, 1, 0, 0),
    "south": (0, 0, 1, 0),
    "Q1": (0.8, 0.6, 0, 0),
    "Q2": (0.6, 0, 0.8, 0),
    "Q3": (0, 0, 0.6, 0.8),
    "answer to Q1": (0.9, 0, 0, 0.4),
    "answer to Q2": (0, 0, 0, 1),
    "answer to Q3": (0, 1, 0, 0),
}


def queries(document_ids=("a",), texts=("Q1", "Q2", "Q3")) -> pa.Table:
    return pa.table(
        {
            "query_id": [f"{d}-{text}" for d in document_ids for text in texts],
            "document_id": [d for d in document_ids for _ in texts],
            "round": pa.array(
                [i for _ in document_ids for i in range(1, len(texts) + 1)], pa.int32()
            ),
            "text": [text for _ in document_ids for text in texts],
        }
    )


def house(document_ids=("a",)):
    chunks = chunk_table(dict.fromkeys(document_ids, PASSAGES))
    vectors = np.array([VECTORS[text] for text in chunks["text"].to_pylist()])
    return chunks, embedding_table(chunks, vectors), Lookup(VECTORS, 4)


def answering(request):
    return f"answer to {request.question}"


def texts_of(rows, chunks) -> list[list[str]]:
    """The texts of the nodes that each round retrieved, best first."""
    known = dict(zip(chunks["chunk_id"].to_pylist(), chunks["text"].to_pylist(), strict=True))
    known |= dict(zip(rows["response_id"].to_pylist(), rows["text"].to_pylist(), strict=True))
    return [[known[node_id] for node_id in ids] for ids in rows["node_ids"].to_pylist()]


def test_three_rounds_known_values():
    chunks, embeddings, embedder = house()
    model = Scripted(answering)
    rows = respond(queries(), chunks, embeddings, model, embedder, k=2).rows
    # round 2: south .8, north .6, answer 1 .54; round 3: answer 2 .8, south .6, answer 1 .32
    assert texts_of(rows, chunks) == [
        ["north", "east"],
        ["south", "north"],
        ["answer to Q2", "south"],
    ]
    # the model reads in reading order, passages before responses
    assert [request.passages for request in model.requests] == [
        ("north", "east"),
        ("north", "south"),
        ("south", "answer to Q2"),
    ]
    assert rows["round"].to_pylist() == [1, 2, 3]
    assert rows["tokens_out"].to_pylist() == [3, 3, 3]
    vectors = rows["query_embedding"].combine_chunks().flatten().to_numpy().reshape(3, 4)
    np.testing.assert_array_equal(vectors, np.array([VECTORS[q] for q in ("Q1", "Q2", "Q3")], "f4"))


def test_texts_are_shown_with_where_they_come_from():
    chunks, embeddings, embedder = house()
    model = Scripted(answering)
    known = dict(zip(chunks["chunk_id"].to_pylist(), chunks["text"].to_pylist(), strict=True))
    respond(
        queries(), chunks, embeddings, model, embedder, k=2,
        label_of=lambda row: known.get(row["node_id"], row["node_kind"]),
    )  # fmt: skip
    assert [request.labels for request in model.requests] == [
        ("north", "east"),
        ("north", "south"),
        ("south", "note"),
    ]


@pytest.mark.parametrize(("reply", "why"), [(None, "server is tired"), (" \n", "reply is empty")])
def test_failed_round_leaves_a_gap_and_others_continue(reply, why):
    chunks, embeddings, embedder = house()
    model = Scripted(lambda request: reply if request.question == "Q2" else answering(request))
    found = respond(queries(), chunks, embeddings, model, embedder, k=2)
    assert found.rows["round"].to_pylist() == [1, 3]
    assert texts_of(found.rows, chunks)[1] == ["south", "answer to Q1"]
    assert found.failures == [f"document 'a', round 2: no response: the {why}"]


def test_documents_run_side_by_side_without_mixing():
    documents = ("c", "a", "b")
    chunks, embeddings, embedder = house(documents)
    model, seen = Scripted(answering), []
    rows = respond(
        queries(documents), chunks, embeddings, model, embedder, 2,
        on_progress=lambda done, total: seen.append((done, total)),
    ).rows  # fmt: skip
    assert [len(call) for call in model.calls] == [3, 3, 3]
    assert [len(call) for call in embedder.calls] == [3, 3, 3]
    assert seen == [(3, 9), (6, 9), (9, 9)]
    for document_id in documents:
        own_chunks, own_embeddings, own_embedder = house((document_id,))
        alone = respond(
            queries((document_id,)), own_chunks, own_embeddings, model, own_embedder, 2
        ).rows
        assert alone.to_pylist() == [
            row for row in rows.to_pylist() if row["document_id"] == document_id
        ]
    assert rows["document_id"].to_pylist() == sorted(rows["document_id"].to_pylist())


@pytest.mark.parametrize(
    "refusal", ["UNANSWERED", "UNANSWERED: Es steht nicht da.", "The excerpts do not say."]
)
def test_a_refusal_is_no_node_and_is_counted(refusal):
    chunks, embeddings, embedder = house()

    def answering_but_once(request):
        return refusal if request.question == "Q2" else answering(request)

    found = respond(queries(), chunks, embeddings, Scripted(answering_but_once), embedder, k=4)
    assert found.rows["round"].to_pylist() == [1, 3]
    assert found.failures == []
    assert found.shown() == {"historical_responses": {"not_answered": 1}}
    assert texts_of(found.rows, chunks)[1] == ["south", "answer to Q1", *PASSAGES[:2]]


def test_documents_with_fewer_questions_end_earlier():
    chunks, embeddings, embedder = house(("a", "b"))
    questions = pa.concat_tables([queries(("a",)), queries(("b",), ("Q1",))])
    model = Scripted(answering)
    rows = respond(questions, chunks, embeddings, model, embedder).rows
    assert [len(call) for call in model.calls] == [2, 1, 1]
    assert rows["round"].to_pylist() == [1, 2, 3, 1]
    assert [len(ids) for ids in rows["node_ids"].to_pylist()] == [3, 4, 5, 3]  # all nodes


def test_vectors_of_another_model_raise():
    chunks, embeddings, embedder = house()
    embedder.dimension = 7
    embedder._vectors = dict.fromkeys(VECTORS, (1,) * 7)
    with pytest.raises(ValueError, match=r"of 4 dimensions, the embedding model 'lookup' has 7"):
        respond(queries(), chunks, embeddings, Scripted(answering), embedder)
