"""Which questions are shown, and what is known of each."""

from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gsum_assets.pipeline.corpus_settings import CorpusError
from gsum_assets.report.board import boards
from gsum_assets.report.page import build
from gsum_assets.report.questions import detail, spread
from gsum_assets.report.stored import read_stored
from gsum_resources.store.parquet_store import ParquetStore
from tests.report import toys


@given(st.lists(st.sampled_from(["general", "specific", "other"]), max_size=40), st.integers(0, 50))
def test_questions_are_spread_over_kinds(kinds: list[str], n: int) -> None:
    rows = [{"kind": kind, "query_id": i} for i, kind in enumerate(kinds)]
    chosen = spread(rows, n)
    assert len(chosen) == min(n, len(rows))
    assert [row["query_id"] for row in chosen] == sorted({row["query_id"] for row in chosen})
    n_questions, shown = Counter(kinds), Counter(row["kind"] for row in chosen)
    cut = [shown[kind] for kind in n_questions if shown[kind] < n_questions[kind]]
    if cut:  # a kind that is cut short has as many as any other, but for the remainder
        assert max(shown.values(), default=0) - min(cut) <= 1


def test_question_with_all_fields(tmp_path: Path) -> None:
    stored = toys.stored(tmp_path)
    question = detail(stored, "all", 10).questions[1]
    assert question.row["query_id"] == "q1"
    assert question.document == "The orchard "
    assert [stored.methods[answer.method - 1] for answer in question.answers] == list(toys.METHODS)
    first = question.answers[0]
    assert first.scores["rouge1"] == pytest.approx(0.89)
    assert first.tokens == 980
    assert [grade.verdicts for grade in first.grades] == [["4"]]
    assert [duel.tallies for duel in question.duels] == [{"overall": (2, 0, 0, 0)}]
    used = [context.passage.text for context in first.samples[0].contexts]
    assert used == [f"Passage {n} of the orchard. " for n in range(3)]
    contexts = detail(stored, "all", 10).questions[0].answers[0].samples[0].contexts
    assert [context.is_evidence for context in contexts] == [False, True, False]


def test_missing_tables_are_reported_with_remedy(tmp_path: Path) -> None:
    store = toys.write_tables(tmp_path / "warehouse")
    empty = ParquetStore(str(tmp_path / "empty"))
    (tmp_path / "corpora" / "tales").mkdir(parents=True)
    for bad_store, corpus, methods, fragments in (
        (store, "fables", None, ["'fables' does not exist", "did you mean 'tales'"]),
        (empty, "tales", None, ["'tales'", "no table 'documents'", "gsum run tales"]),
        (store, "../tales", None, ["use letters"]),
        (store, "tales", ["gor"], ["no results of gor", "known: bm25, dense", "--methods gor"]),
    ):
        with pytest.raises(CorpusError) as error:
            read_stored(bad_store, tmp_path / "corpora", corpus, methods)
        assert all(fragment in str(error.value) for fragment in fragments)
    with pytest.raises(CorpusError, match="no split 'exam'; known: dev, test, all"):
        build(read_stored(store, tmp_path, "tales"), "exam", 5)


def test_only_requested_methods_are_read(tmp_path: Path) -> None:
    store = toys.write_tables(tmp_path / "warehouse")
    stored = read_stored(store, tmp_path, toys.CORPUS, ["dense"])
    assert set(stored.summaries["method"].to_pylist()) == {"dense"}
    page = build(stored, "all", 5)
    assert page.is_subset
    assert [answer.method for q in page.detail.questions for answer in q.answers] == [1] * 4


# Grids of the leaderboard, on rows with known answers.


def test_best_is_marked_and_clearly_worse_ones_are_not(tmp_path: Path) -> None:
    stored = toys.stored(tmp_path, n=40)
    general, specific = boards(stored.leaderboard, stored.comparisons, toys.METHODS, "all")
    assert (general.kind, general.n, specific.kind, specific.n) == ("general", 1, "specific", 39)
    assert [row.method for row in specific.main.rows] == list(toys.METHODS)
    first = [row.cells[0] for row in specific.main.rows]
    assert [cell.standing for cell in first if cell] == ["best", "other", "other"]
    assert specific.main.metrics == ["rouge1", "mrr"]
    assert specific.rest.metrics == ["ndcg@8"]
    hidden = boards(stored.leaderboard, stored.comparisons, ["dense", "full_context"], "all")[1]
    first = [row.cells[0] for row in hidden.main.rows]
    assert [cell.standing for cell in first if cell] == ["other", "other"]  # the best is hidden


def test_pairs_are_symmetric(tmp_path: Path) -> None:
    stored = toys.stored(tmp_path, n=40)
    pairs = boards(stored.leaderboard, stored.comparisons, toys.METHODS, "all")[1].pairs
    assert pairs is not None
    assert [pairs.rows[i][i] for i in range(3)] == [None] * 3
    better, worse = pairs.rows[0][1], pairs.rows[1][0]
    assert better is not None
    assert worse is not None
    assert (better.difference, better.sign) == ("+30.0", "+")
    assert (worse.difference, worse.sign) == ("−30.0", "-")
    assert (better.low, better.high) == ("+30.0", "+30.0")
