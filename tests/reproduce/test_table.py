"""Published figures beside ours: values with intervals, and paired differences."""

import re
from pathlib import Path

from gsum_assets.reproduce.homes import Part
from gsum_assets.reproduce.preset import Preset, PublishedTable
from gsum_assets.reproduce.table import NONE, read_scores, read_wins, side_by_side
from gsum_resources.settings.home import Home
from gsum_resources.store.parquet_store import ParquetStore
from gsum_resources.store.partition import Partition
from tests.rows import write_rows

PRESET = Preset.model_validate(
    {
        "title": "T",
        "paper": "P",
        "benchmark": "qmsum",
        "headline": "gor",
        "tables": [
            {
                "name": "table 1",
                "metrics": ["rouge1", "rouge2"],
                "rows": {
                    "BM25": ["bm25", 32.0, 6.1],
                    "DPR": ["dense@dpr", 31.0, 6.7],
                    "Gemma": ["", 33.5, ""],
                    "GoR": ["gor", 34.5, 7.8],
                },
            },
            {
                "name": "table 2",
                "metrics": ["win:overall"],
                "rows": {"BM25": ["bm25", 61.3], "TF-IDF": ["tfidf", 59.4]},
            },
        ],
    }
)
VALUES = {f"q{i}": i / 100 for i in range(20, 40)}


def test_published_and_ours_stand_side_by_side() -> None:
    scores = {
        "bm25": {"rouge1": VALUES},
        "gor": {"rouge1": {q: v + 0.05 for q, v in VALUES.items()} | {"other": 1.0}},
    }
    first, second = side_by_side(PRESET, scores, {("bm25", "overall"): (0.6, 0.5, 0.7)})
    assert first.header[2:] == [
        "rouge1, paper",
        "ours",
        "rouge2, paper",
        "ours",
        "gor − row",
        "ours",
    ]
    rows = {row[0]: row[1:] for row in first.rows}
    assert rows["BM25"][:2] == ["bm25", "32"]
    assert re.fullmatch(r"29\.5 ±[23]\.\d", rows["BM25"][2])
    assert rows["BM25"][5:] == ["+2.5", "+5.0 ±0.0"]  # over the questions of both
    assert rows["DPR"][2:] == [NONE, "6.7", NONE, "+3.5", NONE]
    assert rows["Gemma"] == [NONE, "33.5", NONE, NONE, NONE, "+1.0", NONE]
    assert rows["GoR"][5:] == ["", ""]
    assert [list(row) for row in second.rows] == [
        ["BM25", "bm25", "61.3", "60.0 ±10.0"],
        ["TF-IDF", "tfidf", "59.4", NONE],
    ]


def test_f1_of_means_is_that_of_mean_precision_and_mean_recall() -> None:
    rows = {"BM25": ["bm25", 21.46]}
    table = PRESET.tables[0].model_copy(update={"rows": rows, "metrics": ["F1@1"]})
    preset = PRESET.model_copy(update={"tables": [table]})
    scores = {"bm25": {"p@1": {"a": 1.0, "b": 0.0}, "r@1": {"a": 0.5, "b": 0.0}}}
    (shown,) = side_by_side(preset, scores, {})
    assert shown.rows[0][2:4] == ["21.46", "33.3"]  # 2 * 0.5 * 0.25 / 0.75


def part_of(root: Path, rows: dict[str, list[str]]) -> Part:
    return Part(Home(root, str(root)), "c", rows, None)


def test_scores_and_ratings_are_read_by_row(tmp_path: Path) -> None:
    store = ParquetStore(str(tmp_path))
    score = {"query_id": "q1", "metric": "rouge1", "value": 0.25}
    rated = {"method": "bm25", "query_id": "q1", "judge": "llm_rater", "criterion": "lr1"}
    write_rows(store, "scores", Partition("c", method="bm25"), [score])
    write_rows(store, "judgements", Partition("c"), [{**rated, "opponent": None, "value": 1.0}])
    ranked = {"query_id": "q1", "latency_s": 0.5, "level": "node", "item_id": "a"}
    write_rows(store, "rankings", Partition("c", method="bm25"), [ranked])
    spent = {"method": "bm25", "stage": "index", "latency_s": 8.0}
    write_rows(store, "costs", Partition("c"), [spent])
    times = {"seconds:query": {"q1": 0.5}, "seconds:index": {"": 8.0}}
    of_row = {"rouge1": {"q1": 0.25}, "lr1": {"q1": 1.0}, **times}
    part = part_of(tmp_path, {"bm25": ["bm25", "bm25@x"]})
    assert read_scores([part]) == {"bm25": of_row, "bm25@x": of_row}


def test_wins_are_those_of_the_headline(tmp_path: Path) -> None:
    names = ("gor", "bm25", "dense")
    wins = [("gor", "bm25", 0.75), ("bm25", "gor", 0.25), ("dense", "bm25", 0.5)]
    rows = [
        {"method": method, "opponent": opponent, "criterion": "c", "win_rate": rate}
        | {"low": 0.1, "high": 0.9}
        for method, opponent, rate in wins
    ]
    write_rows(ParquetStore(str(tmp_path)), "win_rates", Partition("c"), rows)
    part = part_of(tmp_path, {name: [name] for name in names})
    assert read_wins([part], "gor") == {("bm25", "c"): (0.75, 0.1, 0.9)}


def test_times_are_shown_in_seconds() -> None:
    metrics = ["seconds:query", "seconds:index"]
    table = PublishedTable(name="table 4", metrics=metrics, rows={"BM25": ["bm25", 0.02, ""]})
    preset = PRESET.model_copy(update={"tables": [table]})
    times = {"seconds:query": {"q1": 0.5, "q2": 1.0}, "seconds:index": {"": 812.4}}
    (shown,) = side_by_side(preset, {"bm25": times}, {})
    assert ": seconds, ours" in shown.title
    assert list(shown.rows[0]) == ["BM25", "bm25", "0.02", "0.75", NONE, "812"]
