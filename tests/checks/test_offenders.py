"""Rows that a failed check lists in Dagster's log: ids, and the length of texts."""

import pytest

from gsum_assets.dagster_assets.checks import _cell
from gsum_assets.pipeline.tables import TABLES


@pytest.mark.parametrize(
    ("table", "name", "value", "cell"),
    [
        ("summaries", "query_id", "q-1", "q-1"),
        ("summaries", "sentence", "Nobody met the clerk.", "21 characters"),  # no declared column
        ("queries", "text", "Who met the lamp?", "17 characters"),
        ("chunks", "document_id", "tale-1", "tale-1"),
        ("rejected_documents", "file", "latin.txt", "latin.txt"),
        ("rejected_documents", "reason", "it is | empty", "it is \\| empty"),
        ("judgements", "reason", "the mark 'The clerk'", "20 characters"),  # of the judge's reply
        ("graphrag.claims", "description", "x", "1 character"),
        ("graphrag.aliases", "evidence_chunk_ids", ["c1", "c2"], "2 values"),
        ("graphrag.aliases", "name_key", "", ""),
        ("lightpal.context_scores", "scores", [0.5], "[0.5]"),
        ("scores", "metric", "rouge1", "rouge1"),
        ("scores", "value", 1.5, "1.5"),
    ],
)
def test_cell_quotes_no_document(table: str, name: str, value: object, cell: str) -> None:
    assert _cell(name, value, TABLES[table]) == cell
