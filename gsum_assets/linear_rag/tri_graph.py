"""The Tri-Graph of a scope: passages, sentences and entities, without relations (paper, 4.1)."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa

from gsum_assets.graphs.pagerank import WalkGraph
from gsum_assets.multi_hop.graph import passage_graph
from gsum_assets.retrieval.vectors import stacked
from gsum_resources.store.arrow import pc


@dataclass(frozen=True, eq=False)
class TriGraph:
    """Passages, their sentences, and the entities that these name.

    Attributes
    ----------
    n_passages : number of passages.
    entity_ids : the entities, sorted, `(n_entities,)`.
    vectors : unit vectors of the sentences, `(n_sentences, dim)`.
    passage_of : passage of each sentence, `(n_sentences,)`.
    sentences, entities : ends of the edges of the mention matrix, `(n_mentions,)`.
    """

    n_passages: int
    entity_ids: Sequence[str]
    vectors: np.ndarray
    passage_of: np.ndarray
    sentences: np.ndarray
    entities: np.ndarray

    @classmethod
    def of(cls, chunk_ids: Sequence[str], sentences: pa.Table, mentions: pa.Table) -> "TriGraph":
        """Return the graph of some chunks.

        Parameters `sentences`, `mentions`: rows of `evidence.sentences` and `linear_rag.mentions`;
        those of other chunks are left out.

        Raises `ValueError` if a mention is in a sentence that has no vector.
        """
        ids = pa.array(chunk_ids, pa.string())
        sentences = sentences.filter(pc.is_in(sentences["chunk_id"], ids))
        mentions = mentions.filter(pc.is_in(mentions["chunk_id"], ids))
        passages, positions = _places(sentences, ids)
        order = np.lexsort((positions, passages))
        keys = _keys(passages, positions)[order]
        wanted = _keys(*_places(mentions, ids))
        rows = np.searchsorted(keys, wanted)
        is_known = np.append(keys, -1)[rows] == wanted
        if not is_known.all():
            chunk_id = mentions["chunk_id"][int(np.argmin(is_known))]
            raise ValueError(
                f"linear_rag: {np.count_nonzero(~is_known)} mentions are in sentences without a "
                f"vector (first: chunk '{chunk_id}'); materialize linear_rag/mentions"
            )
        entity_ids = sorted(pc.unique(mentions["entity_id"]).to_pylist())
        entities = pc.index_in(
            mentions["entity_id"].combine_chunks(), pa.array(entity_ids, pa.string())
        )
        return cls(
            len(chunk_ids),
            entity_ids,
            stacked(sentences["embedding"])[order] if len(order) else np.empty((0, 0), np.float32),
            passages[order],
            rows,
            entities.to_numpy(zero_copy_only=False).astype(np.int64),
        )

    @cached_property
    def contained(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Passage and entity of each edge of the contain matrix, and their common sentences."""
        pairs = np.stack([self.passage_of[self.sentences], self.entities], axis=1)
        edges, counts = np.unique(pairs.reshape(-1, 2), axis=0, return_counts=True)
        return edges[:, 0], edges[:, 1], counts

    @cached_property
    def walk(self) -> WalkGraph:
        """Passages, then entities, joined where a passage contains an entity."""
        passages, entities, _ = self.contained
        edges = np.stack([passages, self.n_passages + entities], axis=1)
        return passage_graph(self.n_passages, len(self.entity_ids), edges, np.ones(len(edges)))


def _places(rows: pa.Table, chunk_ids: pa.Array) -> tuple[np.ndarray, np.ndarray]:
    """Return the index of each row's chunk, and its position there."""
    chunks = pc.index_in(rows["chunk_id"].combine_chunks(), chunk_ids)
    passages = chunks.to_numpy(zero_copy_only=False).astype(np.int64)
    return passages, rows["position"].to_numpy().astype(np.int64)


def _keys(passages: np.ndarray, positions: np.ndarray) -> np.ndarray:
    return passages << 32 | positions
