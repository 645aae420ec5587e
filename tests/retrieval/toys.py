"""Small collections with known answers."""

from functools import partial

import numpy as np
import pyarrow as pa

from gsum_assets.pipeline.tables import TABLES
from gsum_assets.retrieval import ranking
from gsum_assets.retrieval.collection import Collection, Questions

# Three documents, five chunks. Vectors lie on the axes: apples 0, boats 1, clouds 2.
CHUNKS = (
    ("c-apple-1", "apples", 0, "red apples fall from the tree", 0),
    ("c-apple-2", "apples", 1, "green apples and a boat", 1),
    ("c-boat-1", "boats", 0, "the boat sails, the boat returns", 1),
    ("c-boat-2", "boats", 1, "harbour at night", 1),
    ("c-cloud-1", "clouds", 0, "clouds over the harbour", 2),
)


def tables(order=(0, 1, 2, 3, 4)) -> tuple[pa.Table, pa.Table, pa.Table]:
    """`documents`, `chunks` and `chunk_embeddings`, chunk rows in the given order."""
    rows = [CHUNKS[i] for i in order]
    texts: dict[str, list[str]] = {}
    for _, document_id, _, text, _ in CHUNKS:
        texts.setdefault(document_id, []).append(text)
    documents = pa.table(
        {"document_id": list(texts), "text": [" ".join(parts) for parts in texts.values()]}
    )
    chunks = pa.table(
        {"chunk_id": [row[0] for row in rows], "document_id": [row[1] for row in rows]}
        | {"position": [row[2] for row in rows], "text": [row[3] for row in rows]}
    )
    vectors = pa.table(
        {
            "chunk_id": [row[0] for row in rows],
            "embedding": pa.array(
                [np.eye(3, dtype=np.float32)[row[4]].tolist() for row in rows],
                TABLES["chunk_embeddings"].schema.field("embedding").type,
            ),
        }
    )
    return documents, chunks, vectors


def collection() -> Collection:
    """The toy collection."""
    return Collection.from_tables(*tables())


def toy_questions(*questions: tuple[str, str | None, int]) -> Questions:
    """Questions from (text, document or None, axis of the vector), named q0, q1, …"""
    return Questions(
        ids=[f"q{i}" for i in range(len(questions))],
        texts=[text for text, _, _ in questions],
        document_ids=[document_id for _, document_id, _ in questions],
        embeddings=np.eye(3, dtype=np.float32)[[axis for _, _, axis in questions]].reshape(-1, 3),
    )


def of_texts(*texts: str) -> Collection:
    """One chunk a document, d0, d1, …"""
    return Collection(
        document_ids=[f"d{i}" for i in range(len(texts))],
        document_texts=list(texts),
        chunk_ids=[f"c{i}" for i in range(len(texts))],
        chunk_texts=list(texts),
        starts=np.arange(len(texts) + 1),
        embeddings=np.eye(len(texts), 3, dtype=np.float32),
    )


def toy_question(*texts: str) -> Questions:
    """Questions about a whole collection."""
    return toy_questions(*((text, None, 0) for text in texts))


rank_questions = partial(ranking.rank_questions, clock=lambda: 0.0)
"""With a stopped clock: tables that differ in nothing else are equal."""
