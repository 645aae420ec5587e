"""Scores and leaderboard against numbers worked out by hand."""

import pyarrow as pa
import pytest

from gsum_assets.evaluation.comparisons import comparisons, groups
from gsum_assets.evaluation.leaderboard import grids, leaderboard, to_markdown
from gsum_assets.evaluation.score import score_answers
from gsum_assets.pipeline.tables import TABLES
from tests.rows import question_rows, rows_of

CUTS = (1, 3)


def summaries(*rows: tuple[str, int, str, float]) -> pa.Table:
    names = ("query_id", "sample", "text", "latency_s")
    return rows_of("summaries", (dict(zip(names, row, strict=True)) for row in rows))


def rankings(query_id: str, *documents: str, seconds: float = 0.0) -> pa.Table:
    table_rows = [
        {"query_id": query_id, "level": level, "rank": rank, "item_id": item}
        | {"score": 1 / rank, "latency_s": seconds}
        for level in ("document", "node")
        for rank, item in enumerate(documents, start=1)
    ]
    return pa.Table.from_pylist(table_rows, TABLES["rankings"].schema)


def by_metric(scores: pa.Table, query_id: str) -> dict[str, float]:
    rows = scores.to_pylist()
    return {row["metric"]: row["value"] for row in rows if row["query_id"] == query_id}


def test_rouge_is_the_maximum_over_references_and_the_mean_over_samples() -> None:
    questions = question_rows(
        {"query_id": "q", "document_id": "d", "references": ["a b c d", "boat lamp"]}
    )
    answered = summaries(("q", 0, "boat lamp", 0.5), ("q", 1, "boat zebra", 0.25))
    scores = score_answers(questions, answered, rankings("q", "d", seconds=0.25), CUTS)
    assert by_metric(scores, "q")["rouge1"] == pytest.approx((1.0 + 0.5) / 2)
    assert set(by_metric(scores, "q")) == {"rouge1", "rouge2", "rougeL", "coverage"}
    assert set(scores["latency_s"].to_pylist()) == {1.0}


def test_sentences_from_marked_evidence_are_counted() -> None:
    questions = question_rows(
        {"query_id": "q", "document_id": "d", "relevant_chunk_ids": ["b", "c"]},
        {"query_id": "unmarked", "document_id": "d"},
    )
    found = [("q", 1, 1, "a"), ("q", 1, 2, "b"), ("q", 2, 1, None), ("unmarked", 1, 1, "b")]
    sources = pa.Table.from_pylist(
        [
            {"query_id": q, "sample": 0, "sentence": n, "source": source, "chunk_id": chunk}
            for q, n, source, chunk in found
        ],
        TABLES["answer_sources"].schema,
    )
    ranked = TABLES["rankings"].empty()
    scores = score_answers(questions, summaries(), ranked, CUTS, sources=sources)
    assert by_metric(scores, "q") == {"answer_p": 1 / 2}
    assert not by_metric(scores, "unmarked")


def test_retrieval_is_scored_for_corpus_questions() -> None:
    questions = question_rows(
        {"query_id": "all", "relevant_document_ids": ["b", "c"]},
        {"query_id": "one", "document_id": "a", "relevant_document_ids": ["a"]},
        {"query_id": "unlabelled"},
    )
    ranked = [rankings(q, "a", "b", "x") for q in ("all", "one", "unlabelled")]
    scores = score_answers(questions, summaries(), pa.concat_tables(ranked), CUTS)
    assert set(scores["query_id"].to_pylist()) == {"all"}
    found = by_metric(scores, "all")
    assert found["p@1"] == 0
    assert found["p@3"] == pytest.approx(1 / 3)
    assert found["r@3"] == pytest.approx(1 / 2)
    assert found["mrr"] == pytest.approx(1 / 2)


def test_passages_are_scored_if_marked() -> None:
    questions = question_rows(
        {"query_id": "q", "document_id": "a", "relevant_chunk_ids": ["c", "z"]}
    )
    found = by_metric(
        score_answers(questions, summaries(), rankings("q", "b", "c", "x"), CUTS), "q"
    )
    assert found["chunk_p@3"] == pytest.approx(1 / 3)
    assert found["chunk_r@3"] == found["chunk_mrr"] == 1 / 2
    assert not [metric for metric in found if not metric.startswith("chunk_")]


def test_answer_form_selects_the_metrics() -> None:
    questions = question_rows(
        {"query_id": "name", "form": "short", "references": ["the Ebro", "Ebro river"]},
        {"query_id": "pick", "form": "choice", "options": ["a boat", "a train"]}
        | {"references": ["a train"]},
    )
    answered = summaries(("name", 0, "Ebro.", 0.0), ("pick", 0, "(B)", 0.0))
    scores = score_answers(questions, answered, TABLES["rankings"].empty(), CUTS)
    name = by_metric(scores, "name")
    assert (name["token_f1"], name["exact_match"]) == (1, 1)
    assert "rouge1" in name
    assert by_metric(scores, "pick") == {"accuracy": 1, "coverage": 1}


def test_unanswered_question_scores_0() -> None:
    options = {"options": ["a boat", "a train"], "references": ["a train"]}
    questions = question_rows(
        {"query_id": "answered", "references": ["a boat"]},
        {"query_id": "blank", "references": ["a boat"]},
        {"query_id": "missing", "form": "short", "references": ["a boat"]},
        {"query_id": "unpicked", "form": "choice", **options},
        {"query_id": "unlabelled"},
    )
    answered = summaries(("answered", 0, "The documents do not say.", 0.0), ("blank", 0, " ", 0.0))

    def scorer(pairs: list) -> list[float]:
        assert pairs == [("The documents do not say.", ["a boat"])]
        return [-0.5]

    scores = score_answers(questions, answered, TABLES["rankings"].empty(), CUTS, scorer)
    found = {q: by_metric(scores, q) for q in ("answered", "blank", "missing", "unpicked")}
    assert [found[q]["coverage"] for q in found] == [1, 0, 0, 0]
    assert found["answered"]["bertscore_f1"] == 0
    for query_id in ("blank", "missing", "unpicked"):
        assert set(found[query_id].values()) == {0}
    assert {"token_f1", "exact_match", "bertscore_f1"} < set(found["missing"])
    assert set(found["unpicked"]) == {"accuracy", "coverage"}
    assert "unlabelled" not in scores["query_id"].to_pylist()


def scored(**values: list[tuple[str, float]]) -> pa.Table:
    rows = [
        {"query_id": q, "metric": "rouge1", "value": v, "latency_s": 0.5} | {"method": method}
        for method, found in values.items()
        for q, v in found
    ]
    names = [*TABLES["scores"].schema.names, "method"]
    return pa.Table.from_pylist(rows).select(names)


def board_of(questions: pa.Table, scores: pa.Table) -> pa.Table:
    grouped = groups(questions, scores)
    columns = (scores[name].to_pylist() for name in ("method", "query_id", "latency_s"))
    seconds = {(method, query): s for method, query, s in zip(*columns, strict=True)}
    return leaderboard(grouped, comparisons(grouped), seconds)


def test_leaderboard_averages_by_split_kind_and_overall() -> None:
    questions = question_rows(
        {"query_id": "a", "split": "train"},
        {"query_id": "b", "split": "dev"},
        {"query_id": "c", "split": "dev", "kind": "specific"},
    )
    values = [("a", 0.2), ("b", 0.4), ("c", 0.9), ("gone", 1.0)]
    board = board_of(questions, scored(dense=values, bm25=[("a", 0.3), ("b", 0.5), ("c", 0.1)]))
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
    assert "| bm25 | 40.0 ±50.0 | 0.500 |" in to_markdown(board)


def test_costs_are_shown_where_something_is_paid() -> None:
    board = board_of(question_rows({"query_id": "a"}), scored(cheap=[("a", 0.5)], rich=[("a", 1)]))

    def spent(calls: int, usd: float) -> pa.Table:
        columns = {"stage": "query", "n": 2, "tokens_in": 300, "tokens_out": 40, "latency_s": 0.0}
        paid = {"cheap": (2, 0.0), "rich": (calls, usd)}
        rows = [
            {"method": m, "calls": n, "cost_usd": price} | columns for m, (n, price) in paid.items()
        ]
        return pa.Table.from_pylist(rows, TABLES["costs"].schema)

    (free,) = grids(board, costs=spent(2, 0.0))
    assert free == grids(board)[0]
    (grid,) = grids(board, costs=spent(9, 0.03))
    assert grid.header[-4:] == ["calls/q", "tokens/q", "$/q", "s"]
    assert [row[-4:-1] for row in grid.rows] == [["4.5", "170", "0.0150"], ["1.0", "170", "0.0000"]]


def test_insignificant_differences_are_marked() -> None:
    ids = [f"q{i}" for i in range(40)]
    questions = question_rows(*({"query_id": i} for i in ids))
    best = [(i, 0.5 + 0.01 * (n % 5)) for n, i in enumerate(ids)]
    near = [(i, value + (0.02 if n % 2 else -0.021)) for n, (i, value) in enumerate(best)]
    far = [(i, value - 0.1) for i, value in best]
    board = board_of(questions, scored(best=best, near=near, far=far))
    rows = {row["method"]: row for row in board.to_pylist() if row["split"] == "all"}
    assert rows["best"]["p_best"] is None
    assert rows["best"]["ties_best"]
    assert rows["near"]["ties_best"]
    assert not rows["far"]["ties_best"]
    assert rows["near"]["p_best"] > 0.05 > rows["far"]["p_best"]
    cells = {row[0]: row[1] for row in grids(board)[0].rows}
    assert [cells[method][-1] for method in ("best", "near", "far")] == ["*", "≈", " "]


def test_methods_are_compared_on_common_questions() -> None:
    questions = question_rows(*({"query_id": i} for i in "abc"))
    scores = scored(one=[("a", 0.1), ("b", 0.5)], two=[("b", 0.25), ("c", 0.9)], three=[("a", 0)])
    grouped = groups(questions, scores)
    found = [row for row in comparisons(grouped).to_pylist() if row["split"] == "all"]
    rows = {(row["method"], row["opponent"]): row for row in found}
    assert set(rows) == {("one", "two"), ("one", "three")}
    assert (rows["one", "two"]["difference"], rows["one", "two"]["n"]) == (0.25, 1)
    assert rows["one", "three"]["difference"] == pytest.approx(0.1)
