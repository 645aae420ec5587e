"""Passages that contain the evidence marked by a benchmark's annotators."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace

import pyarrow as pa

from gsum_assets.corpus.queries import Query
from gsum_assets.corpus.rows import rows_of
from gsum_assets.pipeline.tables import TABLES


def query_rows(queries: Sequence[Query], chunks: pa.Table) -> tuple[pa.Table, list[str]]:
    """Return rows of `queries`, and a message for each question without a matching passage."""
    chunks_of: dict[str, list[tuple[int, int, str]]] = defaultdict(list)
    for row in chunks.select(["chunk_id", "document_id", "start", "end"]).to_pylist():
        chunks_of[row["document_id"]].append((row["start"], row["end"], row["chunk_id"]))
    located, failures = [], []
    for query in queries:
        relevant = [  # passage and span share at least half of the shorter one
            chunk_id
            for span in query.relevant_spans
            for start, end, chunk_id in sorted(chunks_of[span.document_id])
            if 2 * (min(end, span.end) - max(start, span.start))
            >= min(end - start, span.end - span.start)
        ]
        if query.relevant_spans and not relevant:
            failures.append(
                f"query '{query.query_id}': its relevant_spans are outside of every passage; "
                "correct start and end (characters of the document's text)"
            )
        ids = list(dict.fromkeys([*relevant, *query.relevant_chunk_ids]))
        located.append(replace(query, relevant_chunk_ids=ids))
    return rows_of(TABLES["queries"], located), failures
