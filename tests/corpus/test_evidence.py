"""Evidence marked in documents, found again in passages."""

import pyarrow as pa

from gsum_assets.corpus.evidence import query_rows
from gsum_assets.corpus.queries import Query, Span
from gsum_assets.pipeline.tables import TABLES


def query_with(*spans: Span) -> Query:
    return Query("q", "?", "?", "specific", "d", [], ["d"], "dev", relevant_spans=list(spans))


def chunks(*slices: tuple[str, int, int]) -> pa.Table:
    rows = [
        {"chunk_id": f"{document}:{start}", "document_id": document, "start": start, "end": end}
        for document, start, end in slices
    ]
    return pa.Table.from_pylist(rows)


def found(chunks_: pa.Table, *spans: Span) -> list[str]:
    rows, _ = query_rows([query_with(*spans)], chunks_)
    return rows["relevant_chunk_ids"][0].as_py()


PASSAGES = chunks(("d", 0, 100), ("d", 90, 190), ("d", 180, 280), ("e", 0, 100))


def test_short_span_is_held_by_a_containing_passage():
    assert found(PASSAGES, Span("d", 20, 30)) == ["d:0"]
    assert found(PASSAGES, Span("d", 92, 98)) == ["d:0", "d:90"]


def test_long_span_holds_passages_with_half_inside():
    assert found(PASSAGES, Span("d", 50, 230)) == ["d:0", "d:90", "d:180"]
    assert found(PASSAGES, Span("d", 51, 229)) == ["d:90"]


def test_spans_of_several_documents_are_united():
    spans = Span("d", 0, 50), Span("e", 0, 50), Span("d", 10, 20)
    assert found(PASSAGES, *spans) == ["d:0", "e:0"]


def test_evidence_outside_all_passages_is_reported():
    rows, failures = query_rows([query_with(Span("d", 900, 990)), query_with()], PASSAGES)
    assert rows["relevant_chunk_ids"].to_pylist() == [[], []]
    assert len(failures) == 1
    assert "'q'" in failures[0]


def test_rows_match_the_table_schema():
    rows, _ = query_rows([query_with()], TABLES["chunks"].empty())
    assert rows.schema.names == TABLES["queries"].schema.names
