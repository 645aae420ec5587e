"""Checks of what a language model extracted and reported."""

from textwrap import shorten

import pyarrow as pa

from gsum_assets.pipeline.result import Check, Finding, count, found
from gsum_resources.store.arrow import pc

_INVENTED = 0.5  # share of names absent from the text beyond which a model invents names
_REASON = 200  # characters
_OF_MENTIONS = ["chunk_id", "document_id", "name", "is_verbatim", "model"]


def no_malformed_replies(extractions: pa.Table, corpus: str) -> Finding:
    """Check that no chunk got a malformed reply."""
    is_malformed = pc.greater(pc.list_value_length(extractions["problems"]), 0)
    wrong = extractions.filter(is_malformed).select(["chunk_id", "document_id", "problems"])
    first = wrong["problems"][0][0].as_py() if wrong.num_rows else ""
    reason = shorten(first, _REASON, placeholder=" …")
    return found(
        count(extractions.num_rows, "chunk"),
        wrong,
        f"got malformed replies, of which only the valid items are kept (first: {reason}); "
        f"`gsum run {corpus}` requests these once "
        "more; if that fails, choose another model or structured_output in gsum.toml, [llm]",
    )


def names_in_text(mentions: pa.Table) -> Finding:
    """Check that most names found by a model occur in their chunks; files may have other names."""
    by_model = mentions.filter(pc.not_equal(mentions["model"], ""))
    absent = by_model.filter(pc.invert(by_model["is_verbatim"]))
    examined = count(by_model.num_rows, "mention")
    if absent.num_rows <= _INVENTED * by_model.num_rows:
        return Finding(examined)
    return found(
        examined,
        absent.select(["chunk_id", "document_id", "name", "model"]),
        "have a name that the text of their chunk does not contain: the model invents or "
        "translates names; choose another one in gsum.toml, [llm]",
    )


def every_community_reported(communities: pa.Table, reports: pa.Table, corpus: str) -> Finding:
    """Check that each community that is large enough has a report."""
    large = communities.filter(communities["is_reported"])
    written = reports.filter(pc.not_equal(reports["summary"], ""))["community_id"]
    is_reported = pc.is_in(large["community_id"], value_set=written.combine_chunks())
    return found(
        count(large.num_rows, "community", "communities"),
        large.filter(pc.invert(is_reported)).select(["community_id", "level", "number", "size"]),
        "have no report, so answers read those on their parts, or descriptions of entities; the "
        f"log of graphrag/community_reports says why, and `gsum run {corpus}` requests the missing "
        "reports again",
    )


NO_MALFORMED_REPLIES = Check(
    "no_malformed_replies",
    "No chunk got a malformed reply.",
    lambda partition: no_malformed_replies(partition.rows(), partition.corpus),
    warns=True,
)
NAMES_IN_TEXT = Check(
    "names_in_text",
    "At least half of the names found by a model occur in their chunks.",
    lambda partition: names_in_text(partition.rows(columns=_OF_MENTIONS)),
    warns=True,
)
EVERY_COMMUNITY_REPORTED = Check(
    "every_community_reported",
    "Each community that is large enough has a report.",
    lambda p: every_community_reported(p.rows("graphrag.communities"), p.rows(), p.corpus),
    warns=True,
)
