"""Checks of passage graphs, their candidates and context scores."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from gsum_assets.checks.check import Check
from gsum_assets.checks.finding import Finding, count, found, together
from gsum_assets.checks.inputs import CheckInputs
from gsum_assets.lightpal.earlier import read_recall
from gsum_assets.lightpal.lists import indices_of
from gsum_resources.arrow import pc

_LEVELS = ("document", "node")


class _Passages(NamedTuple):
    """Numbering of documents, from 0, and of the chunks after them.

    Numbers avoid the copies of text that sets of pairs of ids would need.

    Attributes
    ----------
    documents, chunks : ids of the documents and of the chunks.
    owners : number of the document of each passage.
    """

    documents: pa.Array
    chunks: pa.Array
    owners: np.ndarray

    @classmethod
    def of(cls, chunks: pa.Table) -> "_Passages":
        documents = pc.unique(chunks["document_id"])
        owners = pc.index_in(chunks["document_id"], documents).to_numpy()
        ids = chunks["chunk_id"].combine_chunks()
        return cls(documents, ids, np.concatenate([np.arange(len(documents)), owners]))

    def numbers(self, rows: pa.Table, column: str) -> np.ndarray:
        """Return the number of the passage in `column`, int64; -1 where there is none."""
        documents = indices_of(rows[column], self.documents)
        chunks = indices_of(rows[column], self.chunks)
        chunks = np.where(chunks < 0, -1, chunks + len(self.documents))
        is_document = pc.equal(rows["level"], _LEVELS[0]).to_numpy()
        return np.where(is_document, documents, chunks).astype(np.int64)


def are_passages(candidates: pa.Table, chunks: pa.Table) -> Finding:
    """Check that both passages of each row exist, and all passages have equally many candidates.

    Parameters
    ----------
    candidates : `level`, `passage_id` and `candidate_id`.
    chunks : `chunk_id` and `document_id` of the whole corpus.
    """
    passages = _Passages.of(chunks)
    owners = passages.numbers(candidates, "passage_id")
    others = passages.numbers(candidates, "candidate_id")
    shown = candidates.select(["level", "passage_id", "candidate_id"])
    examined = count(candidates.num_rows, "candidate")
    remedy = "materialize lightpal/candidates again"
    uneven = _uneven(passages, np.bincount(owners[owners >= 0], minlength=len(passages.owners)))
    return together(
        [
            found(
                examined,
                shown.filter(pa.array((owners < 0) | (others < 0))),
                f"name a passage that is not in the corpus; {remedy}",
            ),
            found(
                examined,
                shown.filter(pa.array((owners == others) & (owners >= 0))),
                f"are their own candidates; {remedy}",
            ),
            found(
                count(len(passages.owners), "passage"),
                uneven,
                f"have fewer candidates than the others; {remedy}",
            ),
        ]
    )


def _uneven(passages: _Passages, n_candidates: np.ndarray) -> pa.Table:
    """Return the passages that have fewer candidates than others of their level."""
    tables = []
    split = np.split(n_candidates, [len(passages.documents)])
    for level, ids, have in zip(_LEVELS, (passages.documents, passages.chunks), split, strict=True):
        most = max(
            have.max(initial=0), min(1, len(have) - 1)
        )  # one at least if there are other passages
        fewer = np.flatnonzero(have < most)
        columns = {
            "level": pa.repeat(level, len(fewer)),
            "passage_id": ids.take(pa.array(fewer)),
            "candidates": have[fewer],
            "others": np.full(len(fewer), most),
        }
        tables.append(pa.table(columns))
    return pa.concat_tables(tables)


def all_scored(scores: pa.Table, corpus: str) -> Finding:
    """Check that every candidate has a context score."""
    return found(
        count(scores.num_rows, "pair"),
        scores.select(["level", "passage_id", "candidate_id"]).filter(pc.is_null(scores["score"])),
        "have no score, so no context edge joins them; the log of lightpal/context_scores says "
        f"why, and `gsum run {corpus}` requests the missing scores again",
    )


def finite(scores: pa.Table) -> Finding:
    """Check that all scores that are not null are finite."""
    wrong = scores.filter(pc.invert(pc.is_finite(scores["score"])))  # null stays null: left out
    return found(
        count(scores.num_rows, "pair"),
        wrong.select(["level", "passage_id", "candidate_id", "score"]),
        "have a score that is not finite; materialize lightpal/context_scores again",
    )


def join_candidates(edges: pa.Table, candidates: pa.Table, chunks: pa.Table) -> Finding:
    """Check that edges lead to candidates, in scope 'document' within it, and ranks count from 1.

    Parameters
    ----------
    edges : all columns except `weight`.
    candidates : `level`, `passage_id` and `candidate_id`.
    chunks : `chunk_id` and `document_id` of the whole corpus.
    """
    passages = _Passages.of(chunks)
    source, target = (passages.numbers(edges, end) for end in ("source_id", "target_id"))
    owner, other = (passages.numbers(candidates, end) for end in ("passage_id", "candidate_id"))
    n = len(passages.owners)
    pairs = owner * n
    pairs += other
    pairs[(owner < 0) | (other < 0)] = -1
    del owner, other
    is_pair = _are_among(source * n + target, pairs)
    joined = (source >= 0) & (target >= 0) & is_pair
    within = joined & pc.equal(edges["scope"], "document").to_numpy(zero_copy_only=False)
    within = np.flatnonzero(within)
    leave = within[passages.owners[source[within]] != passages.owners[target[within]]]
    shown = edges.select(["graph", "level", "scope", "source_id", "target_id"])
    examined = count(edges.num_rows, "edge")
    remedy = "materialize lightpal/passage_edges again"
    return together(
        [
            found(
                examined,
                shown.filter(pa.array(~joined)),
                f"do not lead from a passage to a candidate of it; {remedy}",
            ),
            found(examined, shown.take(leave), f"leave the document of their scope; {remedy}"),
            _ranks_count_up(edges, remedy),
        ]
    )


def _are_among(wanted: np.ndarray, numbers: np.ndarray) -> np.ndarray:
    """Return which of `wanted` are among `numbers`, which are sorted: a set takes more memory."""
    numbers.sort()
    if not len(numbers):
        return np.zeros(len(wanted), bool)
    at = np.minimum(np.searchsorted(numbers, wanted), len(numbers) - 1)
    return numbers[at] == wanted


def _ranks_count_up(edges: pa.Table, remedy: str) -> Finding:
    """Check that the ranks of each passage's edges are 1, 2, 3, …"""
    keys = ["graph", "level", "scope", "source_id"]
    ranks = edges.unify_dictionaries().group_by(keys, use_threads=False)
    ranks = ranks.aggregate(
        [("rank", "min"), ("rank", "max"), ("rank", "count_distinct"), ([], "count_all")]
    )
    ranks = ranks.rename_columns([*keys, "first_rank", "last_rank", "n_ranks", "edges"])
    complete = pc.and_(
        pc.equal(ranks["first_rank"], 1),
        pc.and_(
            pc.equal(ranks["last_rank"], ranks["edges"]),
            pc.equal(ranks["n_ranks"], ranks["edges"]),
        ),
    )
    what = count(ranks.num_rows, "list of edges", "lists of edges")
    return found(what, ranks.filter(pc.invert(complete)), f"are not ranked from 1 up; {remedy}")


def _scores(partition: CheckInputs) -> pa.Table:
    return partition.rows(columns=[*_PAIR, "score"], as_dictionaries=_PAIR)


_PAIR = ["level", "passage_id", "candidate_id"]
_PASSAGE_EDGE = ["graph", "level", "scope", "source_id", "target_id"]

LEAST_RECALL = 0.99
"""Of approximate neighbours, below which a check warns."""


def near_exact(recall: float | None, n_rows: int) -> Finding:
    """Check that approximate neighbours include nearly all of the exact ones.

    Parameters
    ----------
    recall : measured recall; None: the neighbours are exact.
    """
    examined = count(n_rows, "candidate")
    if recall is None or recall >= LEAST_RECALL:
        return Finding(examined)
    missing = round((1 - recall) * n_rows)
    problem = (
        f"about {missing:,} of {examined} are not among the nearest passages: the recall of the "
        f"approximate neighbours is {recall:.3f}, less than {LEAST_RECALL}; compare all pairs by "
        "exact_up_to of [lightpal.neighbours] in corpus.toml"
    )
    return Finding(examined, problem, missing, [{"recall": recall}])


CHECKS: Mapping[str, Sequence[Check]] = {
    "lightpal.candidates": [
        Check(
            "are_passages",
            "Both passages are in the corpus and differ, and all passages of a level have equally "
            "many candidates.",
            lambda partition: are_passages(
                partition.rows(columns=_PAIR, as_dictionaries=_PAIR),
                partition.rows("chunks", ["chunk_id", "document_id"]),
            ),
        ),
        Check(
            "near_exact",
            f"Neighbours are exact, or their measured recall is {LEAST_RECALL} at least.",
            lambda partition: near_exact(
                read_recall(partition.store, partition.corpus),
                sum(footer.num_rows for footer in partition.footers.values()),
            ),
            warns=True,
        ),
    ],
    "lightpal.context_scores": [
        Check(
            "all_scored",
            "Every candidate has a context score.",
            lambda partition: all_scored(_scores(partition), partition.corpus),
            warns=True,
        ),
        Check(
            "finite",
            "Every score that is not null is finite.",
            lambda partition: finite(_scores(partition)),
        ),
    ],
    "lightpal.passage_edges": [
        Check(
            "join_candidates",
            "Each edge leads from a passage to one of its candidates, within one document in scope "
            "'document'; a passage's edges are ranked from 1 up.",
            lambda partition: join_candidates(
                partition.rows(columns=[*_PASSAGE_EDGE, "rank"], as_dictionaries=_PASSAGE_EDGE),
                partition.rows("lightpal.candidates", _PAIR, as_dictionaries=_PAIR),
                partition.rows("chunks", ["chunk_id", "document_id"]),
            ),
        )
    ],
}
