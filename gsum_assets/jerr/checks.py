"""Checks of line chunks, pages, and their synopses, elements and relations."""

from collections.abc import Mapping, Sequence

import pyarrow as pa

from gsum_assets.corpus import document_checks as pieces
from gsum_assets.jerr import graph_checks
from gsum_assets.jerr.graph_checks import SIZE, of_each_size
from gsum_assets.pipeline.check import Check
from gsum_assets.pipeline.finding import SHOWN, Finding, count


def line_chunks_cover(line_chunks: pa.Table, documents: pa.Table) -> Finding:
    """Check that line chunks of each size are slices of their documents that cover all text.

    Parameters
    ----------
    line_chunks : `max_tokens`, `document_id`, `start`, `end` and `text`.
    documents : `document_id` and `text`, of the same buckets.
    """
    wrong, n_wrong = [], 0
    for (rows,) in of_each_size(line_chunks):
        finding = pieces.cover_documents(rows, documents)
        size = rows[SIZE][0].as_py() if rows.num_rows else None
        wrong += [{SIZE: size, **offender} for offender in finding.offenders]
        n_wrong += finding.n_wrong
    return _fit(line_chunks, documents, "line chunk", wrong, n_wrong)


def pages_cover(pages: pa.Table, documents: pa.Table) -> Finding:
    """Check that pages are slices of their documents that cover all text.

    Parameters
    ----------
    pages : `document_id`, `start`, `end` and `text`.
    documents : `document_id` and `text`.
    """
    paged = documents if pages.num_rows else documents.slice(0, 0)  # only ReadAgent has pages
    finding = pieces.cover_documents(pages, paged)
    return _fit(pages, paged, "page", finding.offenders, finding.n_wrong)


def _fit(
    rows: pa.Table,
    documents: pa.Table,
    noun: str,
    wrong: Sequence[Mapping[str, object]],
    n_wrong: int,
) -> Finding:
    """Return the result of `cover_documents` as a finding about line chunks or pages."""
    examined = f"{count(rows.num_rows, noun)} of {count(documents.num_rows, 'document')}"
    if not n_wrong:
        return Finding(examined)
    first = wrong[0]
    size = f"{first[SIZE]} word pieces, " if first.get(SIZE) else ""
    problem = (
        f"{examined}: {count(n_wrong, 'place')} where {noun}s and documents do not fit (first: "
        f"{size}document '{first['document_id']}', character {first['character']}: "
        f"{first['what']}); materialize jerr/{noun.replace(' ', '_')}s again"
    )
    return Finding(examined, problem, n_wrong, wrong[:SHOWN])


_EDGE = ["max_tokens", "source_id", "target_id"]
_SLICE = ["document_id", "start", "end", "text"]

CHECKS: Mapping[str, Sequence[Check]] = {
    "jerr.line_chunks": [
        Check(
            "cover_documents",
            "Line chunks of each size are exact slices of their documents, and contain every "
            "character that is not blank.",
            lambda partition: line_chunks_cover(
                partition.rows(columns=["max_tokens", *_SLICE]),
                partition.rows("documents", ["document_id", "text"]),
            ),
        )
    ],
    "jerr.edges": [
        Check(
            "close_no_cycle",
            "Edges join two nodes, follow the topological order, and close no cycle.",
            lambda partition: graph_checks.close_no_cycle(
                partition.rows(columns=_EDGE),
                partition.rows("jerr.nodes", ["max_tokens", "node_id", "place"]),
            ),
        )
    ],
    "jerr.left_out_edges": [
        Check(
            "would_close_cycles",
            "The reported cycle of each consists of itself and edges of the graph.",
            lambda partition: graph_checks.would_close_cycles(
                partition.rows(columns=[*_EDGE, "cycle_ids"]), partition.rows("jerr.edges", _EDGE)
            ),
        )
    ],
    "jerr.pages": [
        Check(
            "cover_documents",
            "Pages are exact slices of their documents, and contain every character that is not "
            "blank.",
            lambda partition: pages_cover(
                partition.rows(columns=_SLICE), partition.rows("documents", ["document_id", "text"])
            ),
        )
    ],
    "jerr.searches": [
        Check(
            "visit_nodes",
            "Visited nodes are in the graph, their places count up from 1, mean rewards are 0 to "
            "1, and the best path follows edges.",
            lambda partition: graph_checks.visit_nodes(
                partition.rows(
                    columns=["query_id", "node_id", "name", "place", "step", "mean_reward"]
                ),
                partition.rows("jerr.nodes", ["max_tokens", "node_id"]),
                partition.rows("jerr.edges", _EDGE),
            ),
        )
    ],
}
