"""The graph of passages: neighbours, citations, and the nearest by TF-IDF (paper, 3.1.1).

With neighbours alone the clusters find the documents again, and nothing is gained; the nearest by
words, which are ours, join passages of different documents.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from gsum_assets.gae.levels import of_level, places
from gsum_assets.gae.settings import GraphSettings
from gsum_assets.gae.word_vectors import word_vectors
from gsum_assets.graphs.nearest import nearest_by_product
from gsum_assets.retrieval.collection import Collection
from gsum_assets.retrieval.words import Words
from gsum_assets.tables import TABLES


class Edges(NamedTuple):
    """Edges by the places of their ends; either way alike.

    Attributes
    ----------
    sources, targets : int64 `(n_edges,)`.
    weights : 0 to 1, `(n_edges,)`.
    """

    sources: np.ndarray
    targets: np.ndarray
    weights: np.ndarray


def graph_edges(
    collection: Collection,
    cites: Mapping[str, Sequence[str]],
    language: str,
    settings: GraphSettings,
) -> pa.Table:
    """Return the rows of `gae.graph_edges`, for documents and for chunks.

    Parameters
    ----------
    cites : the documents that a document cites, by its id. Their first chunks are joined, which
        tell what they are about; documents that the corpus lacks are left out.
    language : BCP 47 code.
    """
    words = Words(language)
    cited = citations(collection, cites)
    first = collection.starts
    parts = [
        _rows("document", "citation", cited, collection.document_ids),
        _rows(
            "document",
            "nearest",
            nearest_by_words(collection.document_texts, words, settings.n_nearest),
            collection.document_ids,
        ),
        _rows(
            "node",
            "citation",
            Edges(first[cited.sources], first[cited.targets], cited.weights),
            collection.chunk_ids,
        ),
        _rows(
            "node",
            "nearest",
            nearest_by_words(collection.chunk_texts, words, settings.n_nearest),
            collection.chunk_ids,
        ),
    ]
    if settings.neighbours:
        parts.append(_rows("node", "neighbour", neighbours(first), collection.chunk_ids))
    return pa.concat_tables(parts).combine_chunks()


def neighbours(starts: np.ndarray) -> Edges:
    """Return an edge between neighbouring chunks of one document.

    Parameters
    ----------
    starts : first chunk of each document, and the number of chunks, `(n_documents + 1,)`.
    """
    first = np.setdiff1d(np.arange(starts[-1] - 1), starts[1:] - 1)
    return Edges(first, first + 1, np.ones(len(first)))


def citations(collection: Collection, cites: Mapping[str, Sequence[str]]) -> Edges:
    """Return an edge for each citation between two documents of the collection."""
    place = {document_id: i for i, document_id in enumerate(collection.document_ids)}
    pairs = {
        (place[source], place[target])
        for source, targets in cites.items()
        for target in targets
        if source in place and target in place and source != target
    }
    ends = np.array(sorted(pairs), np.int64).reshape(-1, 2)
    return Edges(ends[:, 0], ends[:, 1], np.ones(len(ends)))


def nearest_by_words(texts: Sequence[str], words: Words, k: int) -> Edges:
    """From each text edges to the `k` of greatest TF-IDF cosine, which they weigh (ours).

    Texts without a common word are not joined.
    """
    found = nearest_by_product(word_vectors(texts, words), k)
    row, column = np.nonzero(found.similarities > 0)
    weights = found.similarities[row, column].astype(np.float64)
    return Edges(row, found.indices[row, column].astype(np.int64), weights)


def edges_of(rows: pa.Table, level: str, ids: Sequence[str]) -> Edges:
    """Return the edges of one level as places in `ids`, in an order that does not depend on the rows'.

    Raises
    ------
    ValueError
        If an end is none of `ids`.
    """
    chosen = of_level(rows, level)
    sources, targets = (
        places(chosen[end], ids, "gae/graph_edges") for end in ("source_id", "target_id")
    )
    weights = chosen["weight"].to_numpy()
    order = np.lexsort((weights, targets, sources))
    return Edges(sources[order], targets[order], weights[order])


def _rows(level: str, kind: str, edges: Edges, ids: Sequence[str]) -> pa.Table:
    named = pa.array(ids, pa.string())
    n = len(edges.sources)
    return pa.table(
        {
            "level": pa.repeat(level, n),
            "kind": pa.repeat(kind, n),
            "source_id": named.take(pa.array(edges.sources)),
            "target_id": named.take(pa.array(edges.targets)),
            "weight": edges.weights,
        },
        schema=TABLES["gae.graph_edges"].schema,
    )
