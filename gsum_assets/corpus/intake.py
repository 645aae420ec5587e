"""Accepted, rejected and unread files of a corpus folder: a line for people, and checks."""

from collections import defaultdict
from collections.abc import Sequence

import pyarrow as pa

from gsum_assets.corpus.document_names import NAMED, shown_name
from gsum_assets.corpus.folder import READS, SKIPPED, by_type
from gsum_assets.pipeline.result import SHOWN, Check, Finding, count
from gsum_assets.pipeline.tables import TABLES
from gsum_resources.store.arrow import pc
from gsum_resources.store.parquet_store import ParquetStore
from gsum_resources.text.periods import version_of, versions_in, without_version

_N_NAMED = 3  # rejected files named in the line
_REASON_CHARS = 160


def intake(n_documents: int, rejected: pa.Table) -> str:
    """Return `47 documents; 1 rejected: a.pdf: encrypted …; not read: 4 .jpg (gsum reads …)`."""
    clauses = [f"{n_documents:,} {'document' if n_documents == 1 else 'documents'}"]
    is_skipped = pc.starts_with(rejected["reason"], SKIPPED)
    for outcome, rows in (
        ("rejected", _real_rejections(rejected)),
        ("skipped", _ordered(rejected.filter(is_skipped), "reason")),
    ):
        reasons = []
        for row in rows[:_N_NAMED]:
            location = f"{row['file']}, line {row['line']}" if row["line"] else row["file"]
            reason = row["reason"].removeprefix(SKIPPED)
            cut = reason[: _REASON_CHARS - 1] + "…" if len(reason) > _REASON_CHARS else reason
            reasons.append(f"{location}: {cut}")
        if rows:
            named = "; ".join([*reasons, *(["…"] if len(rows) > _N_NAMED else [])])
            clauses.append(f"{len(rows):,} {outcome}: {named}")
    if unread := _others_by_type(rejected):
        clauses.append(f"not read: {unread} ({READS})")
    return "; ".join(clauses)


def stored_intake(store: ParquetStore, corpus: str) -> str:
    """Return the same line for a corpus from its tables."""
    rejections = TABLES["rejected_documents"]
    rejected, _ = store.read(rejections, store.partitions(rejections, corpus))
    return intake(store.count(TABLES["documents"], corpus), rejected)


def _real_rejections(rejected: pa.Table) -> Sequence[dict]:
    """Return the rows of documents that could not be read, by file and line."""
    return _ordered(rejected.filter(pc.invert(rejected["is_other_type"])))


def _ordered(rows: pa.Table, first: str = "file") -> Sequence[dict]:
    return rows.sort_by(
        [(first, "ascending"), ("file", "ascending"), ("line", "ascending")]
    ).to_pylist()


def _others_by_type(rejected: pa.Table) -> str:
    """Return counts of unread file name extensions, most frequent first: "4 .jpg, 1 .png"."""
    is_skipped = pc.starts_with(rejected["reason"], SKIPPED)
    others = rejected.filter(pc.and_(rejected["is_other_type"], pc.invert(is_skipped)))
    return by_type(others["file"].to_pylist())


def none_rejected(rejected: pa.Table, corpus: str) -> Finding:
    """Check that every document of the folder could be read.

    Files of other types are counted, but are no failure.
    """
    rows = _real_rejections(rejected)
    checked = count(len(rows), "rejected document")
    if others := _others_by_type(rejected):
        checked += f"; not read: {others}"
    if not rows:
        return Finding(checked)
    first = [{name: row[name] for name in ("file", "line", "reason")} for row in rows[:SHOWN]]
    problem = (
        f"{checked} (first: {first[0]['file']}: {first[0]['reason']}); repair or remove the "
        f"files, then `gsum run {corpus}`"
    )
    return Finding(checked, problem, len(rows), first)


NONE_REJECTED = Check(
    "none_rejected",
    "Every document of the corpus folder could be read.",
    lambda inputs: none_rejected(inputs.rows(), inputs.corpus),
    warns=True,
)


def one_version_each(documents: pa.Table) -> Finding:
    """Check that no document is an older version or draft of another one.

    Answers quote the newest version unless the question names another.
    """
    families: dict[str, list[str]] = defaultdict(list)
    for row in documents.to_pylist():
        name = shown_name(row)
        families[without_version(name)].append(name)
    several = [
        sorted(names, key=version_of, reverse=True)
        for names in families.values()
        if len(names) > 1 and any(map(versions_in, names))
    ]
    checked = count(documents.num_rows, "document")
    if not several:
        return Finding(checked)
    n_older = sum(len(names) - 1 for names in several)
    offenders = [{"newest": new, "older": "; ".join(old)} for new, *old in several[:SHOWN]]
    problem = (
        f"{n_older:,} of {checked} have a newer version (first: {offenders[0]['newest']}), which "
        "answers quote instead; remove those that are not needed"
    )
    return Finding(checked, problem, n_older, offenders)


ONE_VERSION_EACH = Check(
    "one_version_each",
    "No document is an older version or draft of another one.",
    lambda inputs: one_version_each(inputs.rows("documents", NAMED)),
    warns=True,
)
