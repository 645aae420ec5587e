"""Checks of what a language model wrote about line chunks."""

import pyarrow as pa

from gsum_assets.pipeline.result import Check, Finding, count, found
from gsum_resources.store.arrow import pc

_LINE_CHUNK = ["max_tokens", "chunk_id", "document_id", "position"]


def every_chunk_has_one(line_chunks: pa.Table, synopses: pa.Table, corpus: str) -> Finding:
    """Check that each line chunk has a synopsis that is not empty."""
    return found(
        count(line_chunks.num_rows, "line chunk"),
        _without(line_chunks, _summarized(synopses)),
        "have no synopsis, since the model gave no valid reply, so answers lack their content; "
        + _requested_again(corpus),
    )


def every_synopsis_has_some(synopses: pa.Table, elements: pa.Table, corpus: str) -> Finding:
    """Check that each synopsis has at least one core element."""
    summarized = _summarized(synopses)
    return found(
        count(summarized.num_rows, "synopsis", "synopses"),
        _without(summarized, elements),
        "have no element, so that searches cannot find them: the model named none, or gave no "
        f"valid reply; {_requested_again(corpus)}",
    )


def _summarized(synopses: pa.Table) -> pa.Table:
    """Return the synopses that are not blank."""
    return synopses.filter(pc.not_equal(pc.utf8_trim_whitespace(synopses["synopsis"]), ""))


def _without(chunks: pa.Table, others: pa.Table) -> pa.Table:
    """Return the line chunks, of all sizes, of which `others` has no row."""
    known = set(zip(*(others[name].to_pylist() for name in _LINE_CHUNK[:2]), strict=True))
    rows = chunks.select(_LINE_CHUNK)
    keys = zip(*(rows[name].to_pylist() for name in _LINE_CHUNK[:2]), strict=True)
    return rows.filter(pa.array([key not in known for key in keys], pa.bool_()))


def _requested_again(corpus: str) -> str:
    return (
        f"`gsum run {corpus}` requests them again; if that fails, choose another model in "
        "gsum.toml, [llm]"
    )


EVERY_CHUNK_HAS_ONE = Check(
    "every_chunk_has_one",
    "Each line chunk has a synopsis that is not empty.",
    lambda partition: every_chunk_has_one(
        partition.rows("jerr.line_chunks", _LINE_CHUNK), partition.rows(), partition.corpus
    ),
    warns=True,
)
EVERY_SYNOPSIS_HAS_SOME = Check(
    "every_synopsis_has_some",
    "Each synopsis has at least one core element.",
    lambda partition: every_synopsis_has_some(
        partition.rows("jerr.synopses"),
        partition.rows(columns=_LINE_CHUNK[:2]),
        partition.corpus,
    ),
    warns=True,
)
