"""Scores of candidates given a passage, log P(d_j | d_i) (paper, section 4.1)."""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from gsum_assets.lightpal.candidates import CandidateLists, Lists, matrix_of
from gsum_assets.pipeline.result import Check, Finding, count, found
from gsum_assets.pipeline.tables import TABLES
from gsum_assets.retrieval.collection import Collection
from gsum_resources.protocols.models import PassageScorer
from gsum_resources.store.arrow import as_lists, lengths_of, pc, repeated, values_of

_PASSAGES_AT_ONCE = 2**16  # whose candidates are scored by one call


def context_scores(
    lists: Lists, collection: Collection, scorer: PassageScorer, earlier: pa.Table | None = None
) -> pa.Table:
    """Return the rows of `lightpal.context_scores`, passages in the order of the collection.

    Scores are log probabilities, nats per token. Of `earlier` rows by the same scorer, those of a
    chunk with the same candidates are kept: the id of a chunk is a hash of its text.
    """
    texts = {"document": collection.document_texts, "node": collection.chunk_texts}
    tables = []
    for level, candidates in lists.items():
        scores = np.full(candidates.numbers.shape, np.nan)
        if level == "node" and earlier is not None:
            _keep(scores, candidates, earlier)
        _score(scores, candidates, texts[level], scorer)
        n, k = scores.shape
        columns = {
            "level": repeated(level, n),
            "passage_id": pa.array(candidates.ids, pa.string()),
            "candidates_hash": candidates.hashes,
            # NaN becomes null
            "scores": as_lists(pa.array(scores.ravel(), from_pandas=True), np.full(n, k)),
        }
        tables.append(pa.table(columns, schema=TABLES["lightpal.context_scores"].schema))
    return pa.concat_tables(tables)


def _keep(scores: np.ndarray, lists: CandidateLists, earlier: pa.Table) -> None:
    """Set the scores of chunks whose candidates are the same and in the same order."""
    rows = earlier.filter(pc.equal(earlier["level"], "node"))
    rows = rows.filter(pa.array(lengths_of(rows["scores"]) == scores.shape[1]))
    owners = lists.passages.indices_of(rows["passage_id"])
    same = np.flatnonzero(owners >= 0)
    hashes = rows["candidates_hash"].to_numpy()
    same = same[hashes[same] == lists.hashes[owners[same]]]
    if len(same):
        scores[owners[same]] = matrix_of(rows["scores"])[same]


def _score(
    scores: np.ndarray, lists: CandidateLists, texts: Sequence[str], scorer: PassageScorer
) -> None:
    """Set the scores of rows without some; texts are in memory for some passages at a time."""
    due = np.flatnonzero(np.isnan(scores).any(axis=1))
    for first in range(0, len(due), _PASSAGES_AT_ONCE):
        block = due[first : first + _PASSAGES_AT_ONCE]
        rows = [[str(texts[index]) for index in row] for row in lists.indices(block).tolist()]
        contexts = [str(texts[index]) for index in block.tolist()]
        for index, values in zip(block.tolist(), scorer.score(contexts, rows), strict=True):
            scores[index] = values


def all_scored(scores: pa.Table, corpus: str) -> Finding:
    """Check that every candidate has a context score."""
    lists = scores["scores"]
    is_missing = np.isnan(values_of(lists))
    owners = np.repeat(np.arange(len(lists)), lengths_of(lists))[is_missing]
    without = np.bincount(owners, minlength=len(lists)) > 0
    return found(
        count(scores.num_rows, "passage"),
        scores.select(["level", "passage_id"]).filter(pa.array(without)),
        "have candidates without a score, to which no context edge leads; the log of "
        f"lightpal/context_scores says why, and `gsum run {corpus}` requests the missing scores "
        "again",
    )


ALL_SCORED = Check(
    "all_scored",
    "Every candidate has a context score.",
    lambda partition: all_scored(
        partition.rows(columns=["level", "passage_id", "scores"]), partition.corpus
    ),
    warns=True,
)
