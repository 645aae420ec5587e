"""Edges between passages: neighbours, citations and nearest by TF-IDF (paper, 3.1.1).

With neighbours alone the clusters only reproduce the documents; the nearest passages by words,
which are ours, join passages of different documents.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa

from gsum_assets.gae.levels import indices_of, levels, of_level
from gsum_assets.gae.settings import GraphSettings
from gsum_assets.gae.word_vectors import NO_WORDS, WordStatistics, word_vectors
from gsum_assets.graphs.nearest import nearest_by_product
from gsum_assets.pipeline.tables import TABLES
from gsum_assets.retrieval.collection import Collection
from gsum_assets.retrieval.words import Words
from gsum_resources.engine.blocks import LOCAL, Engine
from gsum_resources.store.arrow import repeated, taken

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix


class Edges(NamedTuple):
    """Undirected edges by the indices of their ends.

    Attributes
    ----------
    sources, targets : indices of the ends, int64 `(n_edges,)`.
    weights : weights of the edges, 0 to 1, `(n_edges,)`.
    """

    sources: np.ndarray
    targets: np.ndarray
    weights: np.ndarray


def graph_edges(
    collection: Collection,
    cites: Mapping[str, Sequence[str]],
    language: str,
    settings: GraphSettings,
    known: Mapping[str, WordStatistics],
    engine: Engine = LOCAL,
) -> pa.Table:
    """Return the rows of `gae.graph_edges`, for documents and for chunks.

    Parameters
    ----------
    cites : ids of the documents that a document cites, by its id. The first chunks of both, which
        say what they are about, are joined; cited documents outside of the corpus are ignored.
    language : BCP 47 code.
    known : statistics of words by level; those of a trained model, so that the edges of other
        passages stay when a document changes.
    engine : compares texts by their words.
    """
    document_words, chunk_words = (
        word_vectors(level.texts, Words(language), known.get(level.name, NO_WORDS))
        for level in levels(collection)
    )
    cited = citations(collection, cites)
    first = collection.starts
    tables = [
        _rows("document", "citation", cited, collection.document_ids),
        _rows(
            "document",
            "nearest",
            nearest_by_words(document_words, settings.n_nearest, engine),
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
            nearest_by_words(chunk_words, settings.n_nearest, engine),
            collection.chunk_ids,
        ),
    ]
    if settings.neighbours:
        tables.append(_rows("node", "neighbour", neighbours(first), collection.chunk_ids))
    return pa.concat_tables(tables).combine_chunks()


def neighbours(starts: np.ndarray) -> Edges:
    """Return the edges between adjacent chunks of one document.

    Parameters
    ----------
    starts : index of the first chunk of each document, then the number of chunks, `(n_documents +
        1,)`.
    """
    first = np.setdiff1d(np.arange(starts[-1] - 1), starts[1:] - 1)
    return Edges(first, first + 1, np.ones(len(first)))


def citations(collection: Collection, cites: Mapping[str, Sequence[str]]) -> Edges:
    """Return an edge for each citation between two documents of the collection."""
    index = {document_id: i for i, document_id in enumerate(collection.document_ids)}
    pairs = {
        (index[source], index[target])
        for source, targets in cites.items()
        for target in targets
        if source in index and target in index and source != target
    }
    ends = np.array(sorted(pairs), np.int64).reshape(-1, 2)
    return Edges(ends[:, 0], ends[:, 1], np.ones(len(ends)))


def nearest_by_words(words: "csr_matrix", k: int, engine: Engine = LOCAL) -> Edges:
    """Return edges from each TF-IDF vector to the `k` of greatest cosine, their weight (ours).

    Texts without a common word have no edge.
    """
    neighbours = nearest_by_product(words, k, engine)
    row, column = np.nonzero(neighbours.similarities > 0)
    weights = neighbours.similarities[row, column].astype(np.float64)
    return Edges(row, neighbours.indices[row, column].astype(np.int64), weights)


def edges_of(rows: pa.Table, level: str, ids: Sequence[str]) -> Edges:
    """Return the edges of one level as indices into `ids`, independent of the order of rows.

    Raises
    ------
    ValueError
        If an end is not in `ids`.
    """
    chosen = of_level(rows, level)
    sources, targets = (
        indices_of(chosen[end], ids, "gae/graph_edges") for end in ("source_id", "target_id")
    )
    weights = chosen["weight"].to_numpy()
    order = np.lexsort((weights, targets, sources))
    return Edges(sources[order], targets[order], weights[order])


def _rows(level: str, kind: str, edges: Edges, ids: Sequence[str]) -> pa.Table:
    named = pa.array(ids, pa.string())
    n = len(edges.sources)
    return pa.table(
        {
            "level": repeated(level, n),
            "kind": repeated(kind, n),
            "source_id": taken(named, edges.sources),
            "target_id": taken(named, edges.targets),
            "weight": edges.weights,
        },
        schema=TABLES["gae.graph_edges"].schema,
    )
