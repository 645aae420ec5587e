"""Checks of passage graphs, their candidates and context scores."""

from collections.abc import Iterable, Iterator

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from gsum_assets.lightpal.earlier import read_recall
from gsum_assets.lightpal.lists import Numbered, indices_of, of_level
from gsum_assets.pipeline.check import Check
from gsum_assets.pipeline.check_inputs import CheckInputs
from gsum_assets.pipeline.finding import Finding, count, found, together
from gsum_resources.engine.threads import in_threads
from gsum_resources.store.arrow import lengths_of, pc, values_of

_LEVELS = ("document", "node")
_PASSAGE = ["level", "passage_id"]
_LISTS = [*_PASSAGE, "candidates"]
_SOURCE = ["graph", "level", "scope", "source_id"]
_AT_ONCE = 2**14  # edges that are looked up among the candidates of their sources


def _by_level(rows: pa.Table, chunks: pa.Table) -> Iterator[tuple[str, pa.Table, Numbered]]:
    """Yield each level, its rows, and the passages of the corpus at that level."""
    documents = pc.unique(chunks["document_id"])
    for level, ids in zip(_LEVELS, (documents, chunks["chunk_id"].combine_chunks()), strict=True):
        yield level, of_level(rows, level), Numbered(ids)


def _rows_with(is_wrong: np.ndarray, lists: pa.ChunkedArray) -> np.ndarray:
    """Return which lists have a wrong value, from a flag for each value."""
    if not is_wrong.any():  # as nearly always: a number for each value would take a gigabyte
        return np.zeros(len(lists), bool)
    owners = np.repeat(np.arange(len(lists)), lengths_of(lists))
    return np.bincount(owners[is_wrong], minlength=len(lists)) > 0


def are_passages(candidates: pa.Table, chunks: pa.Table) -> Finding:
    """Check that passages and candidates exist, differ, and are equally many for all passages."""
    unknown, own, wrong, uneven = [], [], [], []
    for level, rows, passages in _by_level(candidates, chunks):
        shown, lists = rows.select(_PASSAGE), rows["candidates"]
        owners, others = passages.indices_of(rows["passage_id"]), passages.find(values_of(lists))
        lengths = lengths_of(lists)
        is_unknown = (owners < 0) | _rows_with(others < 0, lists)
        unknown.append(shown.filter(pa.array(is_unknown)))
        is_own = (others == np.repeat(owners, lengths)) & (others >= 0)
        own.append(shown.filter(pa.array(_rows_with(is_own, lists))))
        is_wrong = rows["passage_number"].to_numpy() != passages.numbers[owners]
        wrong.append(shown.filter(pa.array(is_wrong & (owners >= 0))))
        uneven.append(_uneven(level, passages, owners, lengths))
    examined = count(candidates.num_rows, "passage")
    remedy = "materialize lightpal/candidates again"
    return together(
        [
            found(
                examined,
                pa.concat_tables(unknown),
                f"are not in the corpus, or a candidate is not; {remedy}",
            ),
            found(examined, pa.concat_tables(own), f"are their own candidates; {remedy}"),
            found(examined, pa.concat_tables(wrong), f"have the number of another id; {remedy}"),
            found(
                examined,
                pa.concat_tables(uneven),
                f"have fewer candidates than the others; {remedy}",
            ),
        ]
    )


def _uneven(level: str, passages: Numbered, owners: np.ndarray, lengths: np.ndarray) -> pa.Table:
    """Return the passages of a level that have fewer candidates than others."""
    have = np.zeros(len(passages.ids), np.int64)
    have[owners[owners >= 0]] = lengths[owners >= 0]
    # one at least if there are other passages
    most = max(have.max(initial=0), min(1, len(have) - 1))
    fewer = np.flatnonzero(have < most)
    columns = {
        "level": pa.repeat(level, len(fewer)),
        "passage_id": passages.ids.take(pa.array(fewer)),
        "candidates": have[fewer],
        "others": np.full(len(fewer), most),
    }
    return pa.table(columns)


def all_scored(scores: pa.Table, corpus: str) -> Finding:
    """Check that every candidate has a context score."""
    values = scores["scores"]
    without = _rows_with(np.isnan(values_of(values)), values)
    return found(
        count(scores.num_rows, "passage"),
        scores.select(_PASSAGE).filter(pa.array(without)),
        "have candidates without a score, to which no context edge leads; the log of "
        f"lightpal/context_scores says why, and `gsum run {corpus}` requests the missing scores "
        "again",
    )


def finite(scores: pa.Table) -> Finding:
    """Check that there is a score or null for each candidate, and all scores are finite."""
    values = scores["scores"]
    lengths, most = lengths_of(values), np.zeros(scores.num_rows, np.int64)
    for level in _LEVELS:  # whose passages have equally many candidates
        of_level = pc.equal(scores["level"], level).to_numpy()
        most[of_level] = lengths[of_level].max(initial=0)
    wrong = _rows_with(np.isinf(values_of(values)), values) | (lengths < most)
    return found(
        count(scores.num_rows, "passage"),
        scores.select([*_PASSAGE, "scores"]).filter(pa.array(wrong)),
        "have a score that is not finite, or not one for each candidate; materialize "
        "lightpal/context_scores again",
    )


def join_candidates(edges: pa.Table, candidates: pa.Table, chunks: pa.Table) -> Finding:
    """Check that edges lead to candidates, in scope 'document' within it, each with a weight."""
    documents = indices_of(chunks["document_id"], pc.unique(chunks["document_id"]))
    stray, leave, unweighted = [], [], []
    for level, rows, passages in _by_level(edges, chunks):
        shown, lists = rows.select(_SOURCE), rows["targets"]
        sources = np.repeat(passages.indices_of(rows["source_id"]), lengths_of(lists))
        numbers = values_of(lists)
        is_joined = (sources >= 0) & _are_listed(
            sources, numbers, of_level(candidates, level), passages
        )
        stray.append(shown.filter(pa.array(_rows_with(~is_joined, lists))))
        if level == "node":
            is_within = pc.equal(rows["scope"], "document").to_numpy(zero_copy_only=False)
            is_within = np.flatnonzero(np.repeat(is_within, lengths_of(lists)) & is_joined)
            targets = passages.find(numbers[is_within])
            is_away = np.zeros(len(numbers), bool)
            is_away[is_within] = documents[sources[is_within]] != documents[targets]
            leave.append(shown.filter(pa.array(_rows_with(is_away, lists))))
        is_short = lengths_of(rows["weights"]) != lengths_of(lists)
        unweighted.append(shown.filter(pa.array(is_short)))
    examined = count(edges.num_rows, "list of edges", "lists of edges")
    remedy = "materialize lightpal/passage_edges again"
    return together(
        [
            found(
                examined,
                pa.concat_tables(stray),
                f"do not lead from a passage to candidates of it; {remedy}",
            ),
            found(
                examined, pa.concat_tables(leave), f"leave the document of their scope; {remedy}"
            ),
            found(examined, pa.concat_tables(unweighted), f"have not one weight an edge; {remedy}"),
        ]
    )


def _are_listed(
    sources: np.ndarray, targets: np.ndarray, candidates: pa.Table, passages: Numbered
) -> np.ndarray:
    """Return which edges lead to a candidate, by the candidates of one level.

    Parameters
    ----------
    sources, targets : indices of the sources, and numbers of the targets, `(n_edges,)`.
    """
    lengths, values = lengths_of(candidates["candidates"]), values_of(candidates["candidates"])
    width = lengths.max(initial=0)
    if (lengths == width).all():
        listed = values.reshape(len(lengths), width)
    else:
        listed = np.full((len(lengths), width), -1)
        listed[np.arange(width) < lengths[:, None]] = values
    row_of = np.full(len(passages.ids) + 1, -1)  # the last is of no passage
    row_of[passages.indices_of(candidates["passage_id"])] = np.arange(len(lengths))
    found = np.zeros(len(sources), bool)

    def look(first: int) -> None:
        own = row_of[sources[first : first + _AT_ONCE]]
        known = first + np.flatnonzero(own >= 0)
        is_target = listed[own[own >= 0]] == targets[known, None]
        found[known] = is_target.any(axis=1)

    in_threads(look, range(0, len(sources), _AT_ONCE))
    return found


def _scores(partition: CheckInputs) -> pa.Table:
    return partition.rows(columns=[*_PASSAGE, "scores"])


def _n_values(footers: Iterable[pq.FileMetaData], leaf: str) -> int:
    """Return the number of values of a column in lists, as footers tell it."""
    groups = (f.row_group(i) for f in footers for i in range(f.num_row_groups))
    columns = (group.column(i) for group in groups for i in range(group.num_columns))
    return sum(column.num_values for column in columns if column.path_in_schema == leaf)


LEAST_RECALL = 0.99
"""Of approximate neighbours, below which a check warns."""


def near_exact(recall: float | None, n_candidates: int) -> Finding:
    """Check that approximate neighbours include nearly all of the exact ones.

    Parameters
    ----------
    recall : measured recall; None: the neighbours are exact.
    """
    examined = count(n_candidates, "candidate")
    if recall is None or recall >= LEAST_RECALL:
        return Finding(examined)
    missing = round((1 - recall) * n_candidates)
    problem = (
        f"about {missing:,} of {examined} are not among the nearest passages: the recall of the "
        f"approximate neighbours is {recall:.3f}, less than {LEAST_RECALL}; compare all pairs by "
        "exact_up_to of [lightpal.neighbours] in corpus.toml"
    )
    return Finding(examined, problem, missing, [{"recall": recall}])


ARE_PASSAGES = Check(
    "are_passages",
    "Both passages are in the corpus and differ, and all passages of a level have equally many "
    "candidates.",
    lambda partition: are_passages(
        partition.rows(columns=[*_LISTS, "passage_number"]),
        partition.rows("chunks", ["chunk_id", "document_id"]),
    ),
)
NEAR_EXACT = Check(
    "near_exact",
    f"Neighbours are exact, or their measured recall is {LEAST_RECALL} at least.",
    lambda partition: near_exact(
        read_recall(partition.store, partition.corpus),
        _n_values(partition.footers.values(), "candidates.list.element"),
    ),
    warns=True,
)
ALL_SCORED = Check(
    "all_scored",
    "Every candidate has a context score.",
    lambda partition: all_scored(_scores(partition), partition.corpus),
    warns=True,
)
FINITE = Check(
    "finite",
    "Each candidate has a score or null, and every score is finite.",
    lambda partition: finite(_scores(partition)),
)
JOIN_CANDIDATES = Check(
    "join_candidates",
    "Each edge leads from a passage to one of its candidates, within one document in scope "
    "'document', and has a weight.",
    lambda partition: join_candidates(
        partition.rows(columns=[*_SOURCE, "targets", "weights"], as_dictionaries=_SOURCE),
        partition.rows("lightpal.candidates", _LISTS),
        partition.rows("chunks", ["chunk_id", "document_id"]),
    ),
)
