"""Accepted, rejected and unread files of a corpus folder: a line for people, and a check."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa

from gsum_assets.corpus.folder import READS
from gsum_assets.corpus.load import load
from gsum_assets.corpus.rows import rows_of
from gsum_assets.pipeline.corpus_settings import load_settings
from gsum_assets.pipeline.result import SHOWN, Check, Finding, count
from gsum_assets.pipeline.tables import TABLES
from gsum_resources.store.arrow import pc
from gsum_resources.store.parquet_store import ParquetStore

_N_NAMED = 3  # rejected files named in the line
_REASON_CHARS = 160


def intake(n_documents: int, rejected: pa.Table) -> str:
    """Return `47 documents; 1 rejected: a.pdf: encrypted …; not read: 4 .jpg (gsum reads …)`."""
    unread = _others_by_type(rejected)
    reasons = []
    for row in _real_rejections(rejected):
        location = f"{row['file']}, line {row['line']}" if row["line"] else row["file"]
        reason = row["reason"]
        cut = reason[: _REASON_CHARS - 1] + "…" if len(reason) > _REASON_CHARS else reason
        reasons.append(f"{location}: {cut}")
    clauses = [f"{n_documents:,} {'document' if n_documents == 1 else 'documents'}"]
    if reasons:
        named = [*reasons[:_N_NAMED], *(["…"] if len(reasons) > _N_NAMED else [])]
        clauses.append(f"{len(reasons):,} rejected: {'; '.join(named)}")
    if unread:
        clauses.append(f"not read: {unread} ({READS})")
    return "; ".join(clauses)


def stored_intake(store: ParquetStore, corpus: str) -> str:
    """Return the same line for a corpus from its tables."""
    rejections = TABLES["rejected_documents"]
    rejected, _ = store.read(rejections, store.partitions(rejections, corpus))
    return intake(store.count(TABLES["documents"], corpus), rejected)


def folder_intake(folder: Path) -> str:
    """Return the same line for a corpus folder that has not been run; its documents are read.

    Raises `CorpusError` if the folder or its settings cannot be read.
    """
    documents, rejected = load(folder, load_settings(folder))
    return intake(len(documents), rows_of(TABLES["rejected_documents"], rejected))


def _real_rejections(rejected: pa.Table) -> Sequence[dict]:
    """Return the rows of documents that could not be read, by file and line."""
    rows = rejected.filter(pc.invert(rejected["is_other_type"]))
    return rows.sort_by([("file", "ascending"), ("line", "ascending")]).to_pylist()


def _others_by_type(rejected: pa.Table) -> str:
    """Return counts of unread file name extensions, most frequent first: "4 .jpg, 1 .png"."""
    counts = Counter[str]()
    for file in rejected.filter(rejected["is_other_type"])["file"].to_pylist():
        name, dot, suffix = file.rpartition("/")[2].rpartition(".")
        counts[f".{suffix.lower()}" if dot and name else "without extension"] += 1
    ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return ", ".join(f"{n:,} {suffix}" for suffix, n in ordered)


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
