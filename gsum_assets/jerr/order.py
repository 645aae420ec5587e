"""Order of line chunks and passages by the nodes found."""

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import pyarrow as pa

from gsum_assets.retrieval.collection import Collection, Questions
from gsum_assets.retrieval.ranking import Retriever, Scores, best_of_nodes


def chunks_by_nodes(searches: pa.Table) -> Mapping[str, Sequence[str]]:
    """Return the line chunks of the nodes found for each question, best first.

    The best line chunk of each node comes first, in the order of nodes, then the second of each
    node, and so on.
    """
    turns: dict[str, list[tuple[int, int, str]]] = {}
    columns = (searches[n].to_pylist() for n in ("query_id", "place", "chunk_ids"))
    for query_id, position, chunk_ids in zip(*columns, strict=True):
        of_query = turns.setdefault(query_id, [])
        of_query += [(turn, position, chunk_id) for turn, chunk_id in enumerate(chunk_ids)]
    return {
        query_id: list(dict.fromkeys(chunk_id for *_, chunk_id in sorted(of_query)))
        for query_id, of_query in turns.items()
    }


class Overlapping:
    """Assignment of passages of the corpus to the line chunk or page with the largest overlap.

    Parameters
    ----------
    chunks, spans : `chunk_id`, `document_id`, `start`, `end` of the passages and of the line chunks
        or pages.
    """

    def __init__(self, chunks: pa.Table, spans: pa.Table) -> None:
        spans_of: dict[str, list[tuple[int, int, str]]] = {}
        for row in spans.select(["chunk_id", "document_id", "start", "end"]).to_pylist():
            span = row["start"], row["end"], row["chunk_id"]
            spans_of.setdefault(row["document_id"], []).append(span)
        self.span_of: dict[str, str] = {}
        for row in chunks.select(["chunk_id", "document_id", "start", "end"]).to_pylist():
            shared = [
                (min(row["end"], end) - max(row["start"], start), -start, span_id)
                for start, end, span_id in spans_of.get(row["document_id"], ())
            ]
            if shared:
                self.span_of[row["chunk_id"]] = max(shared)[-1]


class ByLineChunks:
    """Retriever that ranks passages by their line chunk, and within one by another retriever.

    Parameters
    ----------
    found : line chunks of each question, best first.
    within : retriever that orders the passages of a line chunk.
    """

    def __init__(
        self,
        collection: Collection,
        span_of: Mapping[str, str],
        ranked: Mapping[str, Iterable[str]],
        within: Retriever,
    ) -> None:
        self._collection = collection
        self._spans = [span_of.get(chunk_id, "") for chunk_id in collection.chunk_ids]
        self._found = ranked
        self._within = within

    def scores(self, questions: Questions) -> Scores:
        """Return 1 / rank by line chunk, then by `within`; passages in none come last."""
        inner = self._within.scores(questions).nodes
        nodes = np.empty(inner.shape)
        for row, query_id in enumerate(questions.ids):
            best = {span: i for i, span in enumerate(self._found.get(query_id, ()))}
            spans = np.array([best.get(span, len(best)) for span in self._spans])
            order = np.lexsort((np.arange(len(spans)), -inner[row], spans))
            nodes[row, order] = 1 / np.arange(1, len(order) + 1)
        return Scores(nodes, best_of_nodes(nodes, self._collection))
