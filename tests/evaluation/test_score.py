"""Scores and leaderboard against numbers worked out by hand."""

import pyarrow as pa
import pytest

from gsum_assets.evaluation.leaderboard import grids, leaderboard, to_markdown
from gsum_assets.evaluation.score import score_answers
from gsum_assets.tables import TABLES


def queries(*rows: dict) -> pa.Table:
    base = {"text": "?", "retrieval_text": "?", "kind": "general", "document_id": None}
    base |= {"references": [], "relevant_document_ids": [], "split": "dev"}
    return pa.Table.from_pylist([base | row for row in rows], TABLES["queries"].schema)


def summaries(*rows: tuple[str, int, str, float]) -> pa.Table:
    made = [
        {
            "query_id": q,
            "sample": sample,
            "text": text,
            "model": "m",
            "calls": 1,
            "tokens_in": 1,
            "tokens_out": 1,
            "latency_s": seconds,
        }
        for q, sample, text, seconds in rows
    ]
    return pa.Table.from_pylist(made, TABLES["summaries"].schema)


def rankings(query_id: str, *documents: str, seconds: float = 0.0) -> pa.Table:
    made = [
        {
            "query_id": query_id,
            "level": level,
            "rank": rank,
            "item_id": item,
            "score": 1 / rank,
            "latency_s": seconds,
        }
        for level in ("document", "node")
        for rank, item in enumerate(documents, start=1)
    ]
    return pa.Table.from_pylist(made, TABLES["rankings"].schema)


def by_metric(scores: pa.Table, query_id: str) -> dict[str, float]:
    rows = scores.to_pylist()
    return {row["metric"]: row["value"] for row in rows if row["query_id"] == query_id}


def test_rouge_is_the_maximum_over_references_and_the_mean_over_samples() -> None:
    asked = queries({"query_id": "q", "document_id": "d", "references": ["a b c d", "boat lamp"]})
    answered = summaries(("q", 0, "boat lamp", 0.5), ("q", 1, "boat zebra", 0.25))
    scores = score_answers(asked, answered, rankings("q", "d", seconds=0.25))
    assert by_metric(scores, "q")["rouge1"] == pytest.approx((1.0 + 0.5) / 2)
    assert set(by_metric(scores, "q")) == {"rouge1", "rouge2", "rougeL"}
    assert set(scores["latency_s"].to_pylist()) == {1.0}


def test_retrieval_is_scored_where_a_question_concerns_the_corpus() -> None:
    asked = queries(
        {"query_id": "all", "relevant_document_ids": ["b", "c"]},
        {"query_id": "one", "document_id": "a", "relevant_document_ids": ["a"]},
        {"query_id": "unlabelled"},
    )
    ranked = [rankings(q, "a", "b", "x") for q in ("all", "one", "unlabelled")]
    scores = score_answers(asked, summaries(), pa.concat_tables(ranked))
    assert set(scores["query_id"].to_pylist()) == {"all"}
    found = by_metric(scores, "all")
    assert found["p@1"] == 0
    assert found["p@3"] == pytest.approx(1 / 3)
    assert found["r@3"] == pytest.approx(1 / 2)
    assert found["mrr"] == pytest.approx(1 / 2)


def scored(**values: list[tuple[str, float]]) -> pa.Table:
    rows = [
        {"query_id": q, "metric": "rouge1", "value": v, "latency_s": 0.5, "method": method}
        for method, found in values.items()
        for q, v in found
    ]
    names = [*TABLES["scores"].schema.names, "method"]
    return pa.Table.from_pylist(rows).select(names)


def test_leaderboard_means_by_split_kind_and_all_together() -> None:
    asked = queries(
        {"query_id": "a", "split": "train"},
        {"query_id": "b", "split": "dev"},
        {"query_id": "c", "split": "dev", "kind": "specific"},
    )
    values = [("a", 0.2), ("b", 0.4), ("c", 0.9), ("gone", 1.0)]
    board = leaderboard(asked, scored(dense=values, bm25=[("a", 0.3), ("b", 0.5), ("c", 0.1)]))
    means = {
        (row["method"], row["split"], row["kind"]): (row["mean"], row["n"])
        for row in board.to_pylist()
    }
    assert means["dense", "all", "general"] == (pytest.approx(0.3), 2)
    assert means["dense", "train", "general"] == (pytest.approx(0.2), 1)
    assert means["bm25", "all", "specific"] == (pytest.approx(0.1), 1)
    general, specific = grids(board)
    assert [row[0] for row in general.rows] == ["bm25", "dense"]
    assert [row[0] for row in specific.rows] == ["dense", "bm25"]
    assert "| bm25 | 40.0 ±10.0 | 0.500 |" in to_markdown(board)


def test_nothing_scored_gives_an_empty_board() -> None:
    scores = TABLES["scores"].empty().append_column("method", pa.array([], pa.string()))
    board = leaderboard(queries(), scores)
    assert board.num_rows == 0
    assert grids(board) == []
