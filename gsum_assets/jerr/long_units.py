"""LongRAG (arXiv 2406.15319, 3.1): retrieval of long units, scored by their best chunk.

The paper groups documents that link to each other; ours is a section of one document.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from heapq import nlargest

import numpy as np
import pyarrow as pa

from gsum_assets.evaluation.passages import Passage, context_rows
from gsum_assets.retrieval.collection import Collection, Questions
from gsum_assets.retrieval.dense import Dense
from gsum_assets.retrieval.ranking import DEPTH, Scores, best_of_nodes, rank_questions
from gsum_resources.store.arrow import mapping, pc, rows_by
from gsum_resources.store.content_hash import hash_texts

_DECIMALS = 6  # as in dense retrieval: ties are broken by id on every machine
_SHARE = 1e-7  # weight of a chunk's own cosine, which orders chunks within a unit only


@dataclass(frozen=True)
class Unit:
    """Consecutive chunks of a document that are read together; its id is a hash of theirs."""

    unit_id: str
    document_id: str
    position: int
    text: str
    chunk_ids: tuple[str, ...]


def long_units(documents: pa.Table, chunks: pa.Table, unit_tokens: int) -> list[Unit]:
    """Return the units by document and position, each of as many chunks as fit `unit_tokens`.

    The overlap of neighbouring chunks counts twice; a longer chunk is one unit.
    """
    text_of = mapping(documents, "document_id", "text")
    names = ["document_id", "position", "chunk_id", "text", "end", "n_tokens"]
    order = [("document_id", "ascending"), ("position", "ascending")]
    units = []
    for document_id, rows in rows_by(chunks.select(names).sort_by(order), "document_id").items():
        packs: list[list[dict]] = []
        filled = 0
        for chunk in rows:
            if not packs or filled + chunk["n_tokens"] > unit_tokens:
                packs.append([])
                filled = 0
            packs[-1].append(chunk)
            filled += chunk["n_tokens"]
        for position, pack in enumerate(packs):
            text = pack[0]["text"] + text_of[document_id][pack[0]["end"] : pack[-1]["end"]]
            chunk_ids = tuple(chunk["chunk_id"] for chunk in pack)
            unit_id = "u" + hash_texts(chunk_ids, 10)
            units.append(Unit(unit_id, document_id, position, text, chunk_ids))
    return units


@dataclass(frozen=True)
class LongUnits:
    """Retriever in which a chunk has the score of its unit, ordered within a unit by cosine."""

    collection: Collection
    unit_of: Mapping[str, str]

    def scores(self, questions: Questions) -> Scores:
        """Return the best cosine in a chunk's unit, -1 to 1, plus a small share of its own."""
        cosines = Dense(self.collection).scores(questions).nodes
        cosines = np.round(cosines.astype(np.float64), _DECIMALS)
        owners = [self.unit_of[chunk_id] for chunk_id in self.collection.chunk_ids]
        unit = np.unique(owners, return_inverse=True)[1]  # (n_chunks,)
        units = np.full((len(cosines), unit.max() + 1), -np.inf)
        for row, own in zip(units, cosines, strict=True):
            np.maximum.at(row, unit, own)
        best = units[:, unit]  # (n_questions, n_chunks)
        return Scores(best + _SHARE * cosines, best_of_nodes(best, self.collection))


def rank_units(
    collection: Collection, questions: Questions, units: Sequence[Unit], n_units: int
) -> pa.Table:
    """Return the rows of `rankings`: chunks by their units, documents by their best unit."""
    unit_of = {chunk_id: unit.unit_id for unit in units for chunk_id in unit.chunk_ids}
    depth = ranking_depth(units, n_units)
    return rank_questions(lambda scope: LongUnits(scope, unit_of), questions, collection, depth)


def ranking_depth(units: Sequence[Unit], n_units: int) -> int:
    """Return the number of chunks to rank so that they come from `n_units` units if possible."""
    return max(DEPTH, 1 + sum(nlargest(n_units - 1, (len(unit.chunk_ids) for unit in units))))


def unit_contexts(
    queries: pa.Table, units: Sequence[Unit], rankings: pa.Table, n_units: int
) -> pa.Table:
    """Return the `n_units` best units of each question, by their best chunk, as `contexts`."""
    unit_of = {chunk_id: unit for unit in units for chunk_id in unit.chunk_ids}
    nodes = rankings.filter(pc.equal(rankings["level"], "node")).sort_by("rank")
    best: dict[str, dict[str, Passage]] = defaultdict(dict)
    for row in nodes.select(["query_id", "item_id", "score"]).to_pylist():
        unit = unit_of[row["item_id"]]
        score = round(row["score"], _DECIMALS)  # without the share of the chunk's own cosine
        passage = Passage(
            unit.unit_id, "long unit", unit.text, score, unit.document_id, unit.position
        )
        best[row["query_id"]].setdefault(unit.unit_id, passage)
    return context_rows(queries, lambda query: list(best[query["query_id"]].values())[:n_units])
