"""`gsum.open`: what a home has, and what is said of what it has not."""

from pathlib import Path

import pandas as pd
import pytest

import gsum
from gsum_assets.pipeline.corpus_settings import CorpusError
from tests.gsum.harbour import METHODS, QUESTIONS, TEXTS


@pytest.fixture(scope="module")
def home(harbour: Path) -> gsum.Home:
    return gsum.open(harbour / "data")


def test_tables_of_all_kinds(home: gsum.Home) -> None:
    assert home.corpora == ["harbour"]
    assert set(home.table("documents")["document_id"]) == set(TEXTS)
    assert set(home.table("rankings", "harbour")["method"]) == set(METHODS)
    two = home.table("scores", "harbour", method=["bm25", "gor"], columns=["value"])
    assert set(two["method"]) == {"bm25", "gor"}
    assert list(two.columns) == ["value", "corpus", "method"]
    assert len(home.table("llm_calls", columns=["asset"])) == len(
        home.table("llm_calls", "harbour")
    )
    edges = home.table("gor.record_edges", corpus="harbour")
    nodes = home.table("gor.record_nodes", corpus="harbour")
    assert len(edges) > 0
    assert set(edges["source_id"]) <= set(nodes["node_id"])


def test_sql_sees_the_same_rows(home: gsum.Home) -> None:
    by_sql = home.sql("select * from chunks order by chunk_id")
    by_name = home.table("chunks").sort_values("chunk_id", ignore_index=True)
    pd.testing.assert_frame_equal(by_sql[by_name.columns], by_name)
    assert home.sql("select count(*) as n from gor.record_edges")["n"][0] > 0
    with pytest.raises(gsum.QueryError, match="chunk does not exist"):
        home.sql("select * from chunk")


@pytest.mark.parametrize("metric", ["rouge1", "rougeL", "mrr"])
def test_a_difference_is_that_of_the_table_comparisons(home: gsum.Home, metric: str) -> None:
    rows = home.table("comparisons", "harbour")
    rows = rows[(rows["metric"] == metric) & (rows["split"] == "all")]
    for row in rows.to_dict("records"):
        found = home.compare(row["method"], row["opponent"], metric=metric)
        for name in ("difference", "low", "high", "p_value", "n"):
            assert getattr(found, name) == pytest.approx(row[name]), name
    assert len(rows) == (3 if metric.startswith("rouge") else 0)


def test_comparisons_of_some_questions(home: gsum.Home) -> None:
    assert home.compare("gor", "dense", split="test", kind="general").n == len(QUESTIONS)
    with pytest.raises(ValueError, match="no question in common"):
        home.compare("gor", "dense", kind="specific")
    with pytest.raises(gsum.UnknownNameError, match="metric of gor on corpus 'harbour' 'rogue1'"):
        home.compare("gor", "dense", metric="rogue1")


def test_the_leaderboard_is_best_first(home: gsum.Home) -> None:
    board = home.leaderboard("harbour")
    assert board.index.names == ["kind", "method"]
    assert board["rouge1"].is_monotonic_decreasing
    with pytest.raises(LookupError, match="nothing on split 'dev'; splits: all, test"):
        home.leaderboard("harbour", split="dev")


def test_an_answer_has_its_sources(home: gsum.Home) -> None:
    found = home.ask("harbour", "When was the mill built?", method="dense")
    assert "1846" in found.text
    assert found.sources["document_id"][0] == "mill"
    assert str(found).splitlines()[-1].startswith("found by dense; written by extractive")


def test_what_is_not_there(home: gsum.Home, tmp_path: Path) -> None:
    with pytest.raises(gsum.UnknownNameError, match=r"did you mean 'gor\.record_edges'"):
        home.table("gor.record_edge")
    with pytest.raises(CorpusError, match="did you mean 'harbour'"):
        home.table("chunks", corpus="harbor")
    with pytest.raises(gsum.UnknownNameError, match="unknown method 'gore'"):
        home.table("scores", "harbour", method="gore")
    with pytest.raises(gsum.UnknownNameError, match="dimension of chunks 'method'"):
        home.table("chunks", "harbour", method="gor")
    with pytest.raises(gsum.UnknownNameError, match="column of chunks 'txt'; did you mean 'text'"):
        home.table("chunks", columns=["txt"])
    with pytest.raises(LookupError, match="run `gsum run harbour --methods tfidf`"):
        home.table("scores", "harbour", method=["gor", "tfidf"])
    with pytest.raises(LookupError, match="run `gsum run harbour --methods graphrag-c0`"):
        home.table("graphrag.entities", "harbour")
    with pytest.raises(CorpusError, match="run `gsum run harbour --methods jerr` first"):
        home.ask("harbour", "Who?", method="jerr")
    with pytest.raises(FileNotFoundError, match=r"is no home of gsum: .* `gsum init FOLDER`"):
        gsum.open(tmp_path)
