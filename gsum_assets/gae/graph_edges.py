"""Edges between passages: neighbours, citations and nearest by TF-IDF (paper, 3.1.1).

With neighbours alone the clusters only reproduce the documents; the nearest passages by words,
which are ours, join passages of different documents.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa

from gsum_assets.gae.settings import GraphSettings
from gsum_assets.gae.word_vectors import word_vectors
from gsum_assets.graphs.nearest import nearest_by_product
from gsum_assets.pipeline.tables import TABLES
from gsum_assets.retrieval.collection import Collection
from gsum_assets.retrieval.words import Words
from gsum_resources.engine.blocks import LOCAL, Engine
from gsum_resources.store.arrow import pc, repeated, taken

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
    engine: Engine = LOCAL,
) -> pa.Table:
    """Return the rows of `gae.graph_edges`.

    Parameters
    ----------
    cites : ids of the documents that a document cites, by its id. The first chunks of both, which
        say what they are about, are joined; cited documents outside of the corpus are ignored.
    language : BCP 47 code.
    engine : compares texts by their words.
    """
    words = word_vectors(collection.chunk_texts, Words(language))
    edges = {
        "citation": citations(collection, cites),
        "nearest": nearest_by_words(words, settings.n_nearest, engine),
    }
    if settings.neighbours:
        edges["neighbour"] = neighbours(collection.starts)
    ids = pa.array(collection.chunk_ids, pa.string())
    schema = TABLES["gae.graph_edges"].schema
    tables = [
        pa.table(
            {
                "kind": repeated(kind, len(of_kind.sources)),
                "source_id": taken(ids, of_kind.sources),
                "target_id": taken(ids, of_kind.targets),
                "weight": of_kind.weights,
            },
            schema=schema,
        )
        for kind, of_kind in edges.items()
    ]
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
    """Return an edge between the first chunks of two documents for each citation."""
    index = {document_id: i for i, document_id in enumerate(collection.document_ids)}
    pairs = {
        (index[source], index[target])
        for source, targets in cites.items()
        for target in targets
        if source in index and target in index and source != target
    }
    ends = collection.starts[np.array(sorted(pairs), np.int64).reshape(-1, 2)]
    return Edges(ends[:, 0], ends[:, 1], np.ones(len(ends)))


def nearest_by_words(words: "csr_matrix", k: int, engine: Engine = LOCAL) -> Edges:
    """Return edges from each TF-IDF vector to the `k` of greatest cosine, their weight (ours).

    Texts without a common word have no edge.
    """
    neighbours = nearest_by_product(words, k, engine)
    row, column = np.nonzero(neighbours.similarities > 0)
    weights = neighbours.similarities[row, column].astype(np.float64)
    return Edges(row, neighbours.indices[row, column].astype(np.int64), weights)


def edges_of(rows: pa.Table, ids: Sequence[str]) -> Edges:
    """Return edges as indices into `ids`, independent of the order of rows.

    Parameters
    ----------
    rows : rows of `gae.graph_edges`.

    Raises
    ------
    ValueError
        If an end is not in `ids`.
    """
    value_set = pa.array(ids, pa.string())
    ends = [pc.index_in(rows[end], value_set=value_set) for end in ("source_id", "target_id")]
    for end, indices in zip(("source_id", "target_id"), ends, strict=True):
        if indices.null_count:
            first = rows[end].filter(pc.is_null(indices))[0].as_py()
            raise ValueError(
                f"gae/graph_edges: {indices.null_count} passages are not in the corpus (first: "
                f"'{first}'); materialize gae/graph_edges again"
            )
    sources, targets = (indices.to_numpy().astype(np.int64) for indices in ends)
    weights = rows["weight"].to_numpy()
    order = np.lexsort((weights, targets, sources))
    return Edges(sources[order], targets[order], weights[order])
