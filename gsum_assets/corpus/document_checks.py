"""Checks of documents, their chunks and the chunks' embeddings."""

from collections.abc import Collection, Iterator

import numpy as np
import pyarrow as pa

from gsum_assets.corpus.intake import others_by_type, real_rejections
from gsum_assets.pipeline.check import Check
from gsum_assets.pipeline.check_inputs import CheckInputs
from gsum_assets.pipeline.finding import SHOWN, Finding, count, found, together
from gsum_resources.store.arrow import pc

UNIT_TOLERANCE = 1e-3


def none_rejected(rejected: pa.Table, corpus: str) -> Finding:
    """Check that every document of the folder could be read.

    Files of other types are counted, but are no failure.
    """
    rows = real_rejections(rejected)
    checked = count(len(rows), "rejected document")
    if others := others_by_type(rejected):
        checked += f"; not read: {', '.join(f'{n:,} {suffix}' for suffix, n in others)}"
    if not rows:
        return Finding(checked)
    first = [{name: row[name] for name in ("file", "line", "reason")} for row in rows[:SHOWN]]
    problem = (
        f"{checked} (first: {first[0]['file']}: {first[0]['reason']}); repair or remove the "
        f"files, then `gsum run {corpus}`"
    )
    return Finding(checked, problem, len(rows), first)


def cover_documents(
    chunks: pa.Table, documents: pa.Table, noun: str = "chunk", asset: str = "chunks"
) -> Finding:
    """Check that chunks are slices of their documents and leave out nothing but blanks.

    Parameters
    ----------
    chunks : rows with `document_id`, `start`, `end` and `text`; with `max_tokens`, those of each
        size must cover the documents.
    """
    checked = f"{count(chunks.num_rows, noun)} of {count(documents.num_rows, 'document')}"
    texts = dict(
        zip(documents["document_id"].to_pylist(), documents["text"].to_pylist(), strict=True)
    )
    wrong = []
    for of_size, rows in _by_size(chunks):
        mismatches = (*_wrong_chunks(rows, texts), *_gaps(rows, texts))
        wrong += [of_size | mismatch for mismatch in mismatches]
    if not wrong:
        return Finding(checked)
    where = ", ".join(f"{name} {value!r}" for name, value in list(wrong[0].items())[:-1])
    problem = (
        f"{checked}: {count(len(wrong), 'mismatch', 'mismatches')} of {noun}s and documents "
        f"(first: {where}: {wrong[0]['what']}); materialize {asset} again"
    )
    return Finding(checked, problem, len(wrong), wrong[:SHOWN])


def _by_size(chunks: pa.Table) -> Iterator[tuple[dict, pa.Table]]:
    """Yield the chunks of each `max_tokens` with it, or all if they have none."""
    if "max_tokens" not in chunks.column_names or not chunks.num_rows:
        yield {}, chunks
        return
    for size in sorted(pc.unique(chunks["max_tokens"]).to_pylist()):
        yield {"max_tokens": size}, chunks.filter(pc.equal(chunks["max_tokens"], size))


def _wrong_chunks(chunks: pa.Table, texts: dict[str, str]) -> Iterator[dict]:
    """Yield chunks without a document, and those that are no slice of it."""
    columns = (chunks[name].to_pylist() for name in ("document_id", "start", "end", "text"))
    for document_id, start, end, text in zip(*columns, strict=True):
        if document_id not in texts:
            yield _mismatch(document_id, start, "a chunk of a missing document")
        elif texts[document_id][start:end] != text:
            yield _mismatch(document_id, start, "a chunk differs from the document")


def _gaps(chunks: pa.Table, texts: dict[str, str]) -> Iterator[dict]:
    """Yield spans of documents that are not blank and in no chunk."""
    ends = dict.fromkeys(texts, 0)
    ordered = chunks.select(["document_id", "start", "end"]).sort_by(
        [("document_id", "ascending"), ("start", "ascending")]
    )
    for document_id, start, end in zip(*(c.to_pylist() for c in ordered.columns), strict=True):
        if document_id in texts:
            covered = ends[document_id]
            if texts[document_id][covered:start].strip():
                yield _mismatch(document_id, covered, "text in no chunk")
            ends[document_id] = max(covered, end)
    for document_id, covered in ends.items():
        if texts[document_id][covered:].strip():
            yield _mismatch(document_id, covered, "text in no chunk")


def _mismatch(document_id: str, character: int, what: str) -> dict:
    return {"document_id": document_id, "character": character, "what": what}


def finite(
    embeddings: pa.Table, owners: pa.Table, dimensions: Collection[int], kind: str = "chunk"
) -> Finding:
    """Check that each chunk or question has one finite unit vector, all of one dimension.

    Parameters
    ----------
    embeddings, owners : rows of `chunk_embeddings` and `chunks`, of the same buckets; or of
        `query_embeddings` and `queries`.
    dimensions : the vector lengths found in all buckets of the corpus.
    """
    sizes = ", ".join(str(d) for d in sorted(dimensions))
    checked = f"{count(embeddings.num_rows, 'vector')} of dimension {sizes or 'none'}"
    lengths = _lengths(embeddings["embedding"])
    bad = np.flatnonzero(~(np.abs(lengths - 1) <= UNIT_TOLERANCE))  # also NaN
    wrong = embeddings.select([f"{kind}_id"]).take(bad)
    wrong = wrong.append_column("length", pa.array(lengths[bad], pa.float64()))
    remedy = f"materialize {kind}_embeddings again"
    owner = {"query": "question"}.get(kind, kind)
    findings = [
        found(checked, wrong, f"are not finite and of unit length; {remedy}"),
        found(
            count(owners.num_rows, owner),
            _absent(owners, embeddings, kind),
            f"have no vector; {remedy}",
        ),
        found(checked, _absent(embeddings, owners, kind), f"belong to no {owner}; {remedy}"),
    ]
    if len(dimensions) > 1:
        problem = f"{checked}: more than one dimension; {remedy}"
        findings.append(Finding(checked, problem, len(dimensions)))
    return together(findings)


def _lengths(vectors: pa.ChunkedArray) -> np.ndarray:
    """Return Euclidean lengths, `(n_vectors,)`; NaN if a vector contains NaN."""
    lengths = [
        np.sqrt(np.einsum("ij,ij->i", matrix, matrix, dtype=np.float64))
        for chunk in vectors.chunks
        if len(chunk)
        for matrix in [chunk.flatten().to_numpy(zero_copy_only=False).reshape(len(chunk), -1)]
    ]
    return np.concatenate(lengths) if lengths else np.empty(0)


def _absent(rows: pa.Table, others: pa.Table, kind: str) -> pa.Table:
    """Return the ids of `rows` whose chunk or question is not in `others`."""
    key = f"{kind}_id"
    known = pc.is_in(rows[key], value_set=others[key].combine_chunks())
    named = [name for name in (key, "document_id") if name in rows.column_names]
    return rows.select(named).filter(pc.invert(known))


def _dimensions(inputs: CheckInputs) -> set[int]:
    """Return the vector lengths of all buckets that have rows."""
    return {
        getattr(footer.schema.to_arrow_schema().field("embedding").type, "list_size", 0)
        for footer in inputs.footers.values()
        if footer.num_rows
    }


NONE_REJECTED = Check(
    "none_rejected",
    "Every document of the corpus folder could be read.",
    lambda inputs: none_rejected(inputs.rows(), inputs.corpus),
    warns=True,
)
COVER_DOCUMENTS = Check(
    "cover_documents",
    "Each chunk is an exact slice of its document, and every character that is not blank lies in "
    "a chunk.",
    lambda inputs: cover_documents(
        inputs.rows("", ["document_id", "start", "end", "text"]),
        inputs.rows("documents", ["document_id", "text"]),
    ),
    blocking=True,
)
CHUNKS_EMBEDDED = Check(
    "finite",
    "Each chunk has one vector, finite and of unit length, and all have one dimension.",
    lambda inputs: finite(
        inputs.rows(), inputs.rows("chunks", ["chunk_id", "document_id"]), _dimensions(inputs)
    ),
    blocking=True,
)
QUESTIONS_EMBEDDED = Check(
    "finite",
    "Each question has one vector, finite and of unit length.",
    lambda inputs: finite(
        inputs.rows(), inputs.rows("queries", ["query_id"]), _dimensions(inputs), "query"
    ),
)
