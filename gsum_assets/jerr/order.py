"""Line chunks and passages in the order in which the nodes found point to them."""

from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa

from gsum_assets.retrieval.collection import Collection, Questions
from gsum_assets.retrieval.ranking import Retriever, Scores, best_of_nodes


def chunks_by_nodes(searches: pa.Table) -> Mapping[str, Sequence[str]]:
    """Return the line chunks of the nodes found for each question, best first.

    The best node's line chunk that matches the question best comes first, then the next node's;
    when all nodes had their turn, each one's second, and so on.

    Parameters
    ----------
    searches : rows of `jerr.searches`.
    """
    turns: dict[str, list[tuple[int, int, str]]] = {}
    columns = (searches[n].to_pylist() for n in ("query_id", "place", "chunk_ids"))
    for query_id, place, chunk_ids in zip(*columns, strict=True):
        own = turns.setdefault(query_id, [])
        own += [(turn, place, chunk_id) for turn, chunk_id in enumerate(chunk_ids)]
    return {
        query_id: list(dict.fromkeys(chunk_id for *_, chunk_id in sorted(own)))
        for query_id, own in turns.items()
    }


class Overlapping:
    """Which line chunk or page each passage of the corpus lies in: the one it shares most with.

    Parameters
    ----------
    chunks, spans : `chunk_id`, `document_id`, `start`, `end` of the passages and of what they lie
        in.
    """

    def __init__(self, chunks: pa.Table, spans: pa.Table) -> None:
        placed: dict[str, list[tuple[int, int, str]]] = {}
        for row in spans.select(["chunk_id", "document_id", "start", "end"]).to_pylist():
            place = row["start"], row["end"], row["chunk_id"]
            placed.setdefault(row["document_id"], []).append(place)
        self.span_of: dict[str, str] = {}
        for row in chunks.select(["chunk_id", "document_id", "start", "end"]).to_pylist():
            shared = [
                (min(row["end"], end) - max(row["start"], start), -start, span_id)
                for start, end, span_id in placed.get(row["document_id"], ())
            ]
            if shared:
                self.span_of[row["chunk_id"]] = max(shared)[-1]


class ByLineChunks:
    """Scores passages by the line chunk that they lie in, and within one by a retriever.

    Parameters
    ----------
    found : line chunks of each question, best first.
    within : the retriever that orders the passages of a line chunk.
    """

    def __init__(
        self,
        collection: Collection,
        span_of: Mapping[str, str],
        found: Mapping[str, Sequence[str]],
        within: Retriever,
    ) -> None:
        self._collection = collection
        self._spans = [span_of.get(chunk_id, "") for chunk_id in collection.chunk_ids]
        self._found = found
        self._within = within

    def scores(self, questions: Questions) -> Scores:
        """1 / rank: by line chunk, then as the other retriever has it; those not found last."""
        inner = self._within.scores(questions).nodes
        nodes = np.empty(inner.shape)
        for row, query_id in enumerate(questions.ids):
            best = {span: i for i, span in enumerate(self._found.get(query_id, ()))}
            spans = np.array([best.get(span, len(best)) for span in self._spans])
            order = np.lexsort((np.arange(len(spans)), -inner[row], spans))
            nodes[row, order] = 1 / np.arange(1, len(order) + 1)
        return Scores(nodes, best_of_nodes(nodes, self._collection))
