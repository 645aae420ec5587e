"""The collection of a step's corpus, read a table at a time."""

from gsum_assets.method import Inputs
from gsum_assets.retrieval.collection import Collection

_PLACES = ("chunk_id", "document_id", "position")


def collection_of(
    inputs: Inputs, with_texts: bool = True, with_vectors: bool = True, keep_indexes: bool = False
) -> Collection:
    """Return the collection in the tables `documents`, `chunks` and `chunk_embeddings`.

    Only columns that are needed are read, and the texts' tables are freed before vectors are read.

    Parameters
    ----------
    keep_indexes : whether indexes of the whole collection are kept for later processes.
    """
    texts = ("text",) if with_texts else ()
    found = Collection.from_tables(
        inputs.tables["documents"].columns(["document_id", *texts]),
        inputs.tables["chunks"].columns([*_PLACES, *texts]),
        cache=inputs.array_cache if keep_indexes else None,
    )
    return found.with_vectors(inputs.table("chunk_embeddings")) if with_vectors else found
