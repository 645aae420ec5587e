"""Sentences of all passages with their vectors, so that a question needs only its own vector."""

import pyarrow as pa

from gsum_assets.pipeline.embed import vector_column
from gsum_assets.pipeline.tables import TABLES
from gsum_resources.protocols.models import Embedder
from gsum_resources.text.sentences import read_sentences


def sentence_rows(chunks: pa.Table, embedder: Embedder) -> pa.Table:
    """Return the rows of the table `evidence.sentences`, in the order of `chunks`.

    Passages are read one by one, so that a document's rows depend on that document alone. A
    passage that consists of noise has no sentence.
    """
    rows = [
        {
            "chunk_id": chunk["chunk_id"],
            "document_id": chunk["document_id"],
            "position": position,
            "speaker": sentence.speaker,
            "n_words": len(sentence.text.split()),
            "text": sentence.text,
        }
        for chunk in chunks.select(["chunk_id", "document_id", "text"]).to_pylist()
        for position, sentence in enumerate(read_sentences([chunk["text"]]))
    ]
    if not rows:
        return TABLES["evidence.sentences"].empty()
    vectors = embedder.embed([row.pop("text") for row in rows])
    return pa.Table.from_pylist(rows).append_column("embedding", vector_column(vectors))
