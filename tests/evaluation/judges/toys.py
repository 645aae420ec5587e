"""Questions, answers and passages to judge, and verdicts as rows."""

from collections.abc import Mapping, Sequence

import pyarrow as pa

from gsum_assets.pipeline.tables import TABLES
from tests.rows import question_rows

Answers = Mapping[str, Mapping[str, str]]  # method -> query id -> text


def queries(*ids: str, **columns: object) -> pa.Table:
    """A row for each id; `columns` are the same for all."""
    rows = ({"query_id": i, "text": f"What of {i}?"} for i in ids)
    return question_rows(*rows, **columns)


def summaries(answers: Answers, sample: int = 0, model: str = "m") -> pa.Table:
    fixed = {"model": model, "calls": 1, "tokens_in": 1, "tokens_out": 1}
    fixed |= {"latency_s": 0.0, "cost_usd": 0.0, "is_refusal": False}
    rows = [
        {"query_id": query_id, "sample": sample, "text": text, "method": method} | fixed
        for method, texts in answers.items()
        for query_id, text in texts.items()
    ]
    return pa.Table.from_pylist(rows, _with_method("summaries"))


def contexts(passages: Mapping[str, Mapping[str, Sequence[str]]], sample: int = 0) -> pa.Table:
    """Passages by method and question, best first."""
    fixed = {"node_id": "n", "node_kind": "chunk", "document_id": "d", "position": 0, "score": 1.0}
    rows = [
        {"query_id": query_id, "sample": sample, "rank": rank, "text": text, "method": method}
        | fixed
        for method, of_questions in passages.items()
        for query_id, texts in of_questions.items()
        for rank, text in enumerate(texts, start=1)
    ]
    return pa.Table.from_pylist(rows, _with_method("contexts"))


def _with_method(name: str) -> pa.Schema:
    return TABLES[name].schema.append(pa.field("method", pa.string()))


VALUES = {"win": 1.0, "tie": 0.5, "loss": 0.0, "unparsed": None}


def pairwise(*rows: tuple[str, str, str], **columns: object) -> pa.Table:
    """Rows of `judgements`: query id, method shown first, verdict for method 'a' against 'b'."""
    base = {"judge": "pairwise", "criterion": "overall", "method": "a", "opponent": "b"} | {
        "repeat": 1,
        "reason": "",
        "model": "m",
        "is_own": False,
    }
    full = [
        base
        | {"query_id": query_id, "first": first, "verdict": verdict, "value": VALUES[verdict]}
        | columns
        for query_id, first, verdict in rows
    ]
    return pa.Table.from_pylist(full, TABLES["judgements"].schema)
