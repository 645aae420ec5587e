"""Graphs of passages and entities: mentions of entities, and personalized PageRank over both.

Extraction reads a chunk alone and may miss a name there, such as one word at the start of a
sentence. An entity that the concept graph has is therefore linked to every sentence that holds one
of its names.
"""

import numpy as np
import pyarrow as pa

from gsum_assets.corpus.names import name_key, texts_holding
from gsum_assets.graphs.pagerank import WalkGraph, personalized_pagerank
from gsum_resources.store.arrow import pc
from gsum_resources.text.sentences import read_sentences

_DECIMALS = 8  # a corpus has thousands of passages, whose probabilities are small
_SCHEMA = pa.schema(
    [("chunk_id", pa.string()), ("position", pa.int32()), ("entity_id", pa.string())]
)


def entity_of_name(aliases: pa.Table) -> dict[str, str]:
    """Return the entity of each name_key of `graphrag.aliases`, without the pruned ones."""
    rows = aliases.filter(pc.is_valid(aliases["entity_id"]))
    columns = (rows[column].to_pylist() for column in ("name_key", "entity_id"))
    return dict(zip(*columns, strict=True))


def entity_mentions(chunks: pa.Table, aliases: pa.Table) -> pa.Table:
    """Return a row for each entity and each sentence of a chunk that holds one of its names.

    Parameters `chunks`, `aliases`: rows of the tables `chunks` and `graphrag.aliases`.

    Returns
    -------
    pa.Table
        Columns `chunk_id`, `position` (of the sentence in the chunk, as in `evidence.sentences`)
        and `entity_id`, in the order of these.
    """
    entity_of = entity_of_name(aliases)
    places, keys = [], []
    for chunk_id, text in zip(
        chunks["chunk_id"].to_pylist(), chunks["text"].to_pylist(), strict=True
    ):
        for position, sentence in enumerate(read_sentences([text])):
            places.append((chunk_id, position))
            keys.append(name_key(sentence.text))
    rows = {
        (*places[index], entity_of[key])
        for key, indices in texts_holding(entity_of.keys(), keys).items()
        for index in indices
    }
    columns = zip(*sorted(rows), strict=True) if rows else ((), (), ())
    return pa.table(dict(zip(_SCHEMA.names, map(list, columns), strict=True)), _SCHEMA)


def passage_graph(
    n_passages: int, n_entities: int, edges: np.ndarray, weights: np.ndarray
) -> WalkGraph:
    """Return an undirected graph whose nodes are the passages, then the entities.

    Parameters
    ----------
    edges : both nodes of each edge, `(n_edges, 2)`; parallel edges add up.
    weights : `(n_edges,)`, positive.
    """
    sources, targets = edges.T
    return WalkGraph(
        n_passages + n_entities,
        np.concatenate([sources, targets]),
        np.concatenate([targets, sources]),
        np.concatenate([weights, weights]).astype(np.float64),
    )


def passage_scores(graph: WalkGraph, restart: np.ndarray, damping: float, n: int) -> np.ndarray:
    """Return the probability of each of the first `n` nodes, 0 where no node has weight, `(n,)`.

    Parameters `restart`: weights of the nodes to which the walk returns, `(n_nodes,)`, not
    negative; `damping`: probability of a step along an edge.
    """
    seeds = np.flatnonzero(restart)
    if not len(seeds):
        return np.zeros(n)
    walk = personalized_pagerank(graph, seeds, restart[seeds], 1 - damping)
    return np.round(walk[:n], _DECIMALS)
