"""Where passages come from, as a language model is shown it."""

import pyarrow as pa
import pytest

from gsum_assets.evaluation.answer_sources import Texts
from gsum_assets.evaluation.passages import label_by
from gsum_assets.pipeline.tables import TABLES

TEXT = "Ines: The rails cost nine hundred. And the lamp costs more.\nDov: We paid. Ines: no."
CHUNKS = [
    {"chunk_id": f"c{i}", "document_id": "m", "position": i, "start": start, "end": end}
    | {"n_tokens": 1, "text": TEXT[start:end]}
    for i, (start, end) in enumerate([(0, 34), (35, 59), (60, len(TEXT))])
]
PAGES = [
    {"document_id": "m", "kind": "page", "position": i, "level": 0, "label": str(i), "start": at}
    for i, at in ((1, 0), (2, 60))
]


@pytest.mark.parametrize(
    ("node_id", "kind", "document_id", "label"),
    [
        ("c0", "chunk", "m", "Budget, page 1"),
        ("c1", "chunk", "m", "Budget, page 1; Ines is speaking"),
        ("c2", "chunk", "m", "Budget, page 2"),
        ("r", "response", "m", "Budget, response"),
        ("r", "partial_answer", None, "partial answer over several documents"),
    ],
)
def test_labels_name_document_place_and_speaker(
    node_id: str, kind: str, document_id: str | None, label: str
) -> None:
    tables = {"chunks": CHUNKS, "document_sections": PAGES}
    made = {n: pa.Table.from_pylist(rows, TABLES[n].schema) for n, rows in tables.items()}
    label_of = label_by({"m": "Budget"}, made["document_sections"], Texts(made["chunks"]))
    row = {"node_id": node_id, "node_kind": kind, "document_id": document_id}
    assert label_of(row) == label
