"""A memo of scores: nothing is requested twice, and only reported scores are stored."""

import uuid
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gsum_resources.embedding.memoized import Batch
from gsum_resources.protocols.models import ModelUnavailableError, OnRow, PassageScorer
from gsum_resources.scoring import memoized
from gsum_resources.scoring.memoized import MemoizedScorer
from gsum_resources.store.parquet_store import ParquetStore

PRICE = 3.0


class CountingScorer:
    """Draws scores from the texts, of whole rows where pairs cannot stand alone; counts pairs.

    A text that holds `refuses` has no score; after `most` rows the model is away.
    """

    def __init__(self, is_pairwise: bool = True, refuses: str = "?", most: int = 1 << 30) -> None:
        self.identity = f"counting/{is_pairwise}"
        self.is_pairwise = is_pairwise
        self.refuses = refuses
        self.usd_per_million_tokens = PRICE
        self.tokens_read = 0
        self.pairs: list[tuple[str, str]] = []
        self._most = most

    def score(
        self,
        contexts: Sequence[str],
        candidates: Sequence[Sequence[str]],
        on_row: OnRow | None = None,
    ) -> list[np.ndarray]:
        scores = []
        for index, (context, row) in enumerate(zip(contexts, candidates, strict=True)):
            if index == self._most:
                raise ModelUnavailableError("away")
            company = "" if self.is_pairwise else "".join(row)
            drawn = [self._draw(f"{context}|{text}|{company}", text) for text in row]
            self.pairs += [(context, text) for text in row]
            self.tokens_read += 10 * len(row)
            scores.append(np.array(drawn))
            if on_row:
                on_row(index, scores[-1])
        return scores

    def _draw(self, context: str, text: str) -> float:
        if self.refuses in text:
            return np.nan
        return -np.random.default_rng(list(context.encode())).random() / 3


@pytest.fixture
def store(tmp_path: Path) -> ParquetStore:
    return ParquetStore(str(tmp_path))


CONTEXTS = ["a", "b", "a"]
CANDIDATES = [["b", "c", "b"], ["a"], ["c", "d"]]


def assert_equal(got: list[np.ndarray], expected: list[np.ndarray]) -> None:
    for one, other in zip(got, expected, strict=True):
        assert one.dtype == np.float64
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("is_pairwise", [True, False])
def test_nothing_is_requested_twice(store: ParquetStore, is_pairwise: bool) -> None:
    inner = CountingScorer(is_pairwise)
    scorer = MemoizedScorer(inner, store)
    assert isinstance(scorer, PassageScorer)
    assert (scorer.identity, scorer.is_pairwise) == (inner.identity, is_pairwise)
    expected = CountingScorer(is_pairwise).score(CONTEXTS, CANDIDATES)
    assert_equal(scorer.score(CONTEXTS, CANDIDATES), expected)
    distinct = [("a", "b"), ("a", "c"), ("a", "d"), ("b", "a")]
    assert sorted(inner.pairs) == (distinct if is_pairwise else sorted(_pairs()))
    assert scorer.n_scored == len(inner.pairs)
    n_requests = len(inner.pairs)
    another = MemoizedScorer(inner, store)  # as in another process
    assert_equal(another.score(CONTEXTS, CANDIDATES), expected)
    assert len(inner.pairs) == n_requests
    assert another.n_scored == 0


def _pairs() -> list[tuple[str, str]]:
    return [(c, text) for c, row in zip(CONTEXTS, CANDIDATES, strict=True) for text in row]


def test_only_missing_candidates_are_requested(store: ParquetStore) -> None:
    inner = CountingScorer()
    scorer = MemoizedScorer(inner, store)
    scorer.score(["a"], [["b", "c"]])
    scores = scorer.score(["a", "e"], [["d", "c", "b"], []])
    assert inner.pairs == [("a", "b"), ("a", "c"), ("a", "d")]
    assert_equal(scores, CountingScorer().score(["a", "e"], [["d", "c", "b"], []]))
    assert scorer.n_scored == 3


@pytest.mark.parametrize("is_pairwise", [True, False])
def test_failed_scores_are_requested_again(store: ParquetStore, is_pairwise: bool) -> None:
    failures: list[str] = []
    inner = CountingScorer(is_pairwise)
    scorer = MemoizedScorer(inner, store).reporting(_ignore, _ignore, failures.append)
    scores = scorer.score(["a", "b"], [["b", "c?"], ["c"]])
    assert [np.isnan(row).tolist() for row in scores] == [[False, True], [False]]
    assert (scorer.n_scored, failures) == (2, [""])
    inner.refuses, inner.pairs = "!", []
    again = MemoizedScorer(inner, store).score(["a", "b"], [["b", "c?"], ["c"]])
    assert inner.pairs == ([("a", "c?")] if is_pairwise else [("a", "b"), ("a", "c?")])
    assert not np.isnan(np.concatenate(again)).any()


def test_scores_before_an_abort_are_kept(store: ParquetStore) -> None:
    contexts, candidates = [f"{i}" for i in range(9)], [["x", "y"]] * 9
    with pytest.raises(ModelUnavailableError):
        MemoizedScorer(CountingScorer(most=4), store).score(contexts, candidates)
    inner = CountingScorer()
    MemoizedScorer(inner, store).score(contexts, candidates)
    assert [context for context, _ in inner.pairs] == [c for c in contexts[4:] for _ in range(2)]


def test_saved_scores_survive_a_kill(store: ParquetStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memoized, "_SAVE_EVERY_S", 0.0)
    seen: list[int] = []

    def snapshot(done: int, total: int) -> None:
        other = MemoizedScorer(CountingScorer(), store)  # another process, in the middle of it
        other.score(["0", "1", "2"], [["x"]] * 3)
        seen.append(3 - other.n_scored)

    scorer = MemoizedScorer(CountingScorer(), store).reporting(snapshot, _ignore, _ignore)
    scorer.score(["0"], [["x"]])
    assert seen == [1]


def test_progress_and_cost_are_reported(store: ParquetStore) -> None:
    progress: list[tuple[int, int]] = []
    batches: list[Batch] = []
    scorer = MemoizedScorer(CountingScorer(), store)
    scorer.score(["b"], [["a"]])
    reporting = scorer.reporting(lambda *done: progress.append(done), batches.append, _ignore)
    reporting.score(CONTEXTS, CANDIDATES)
    assert progress == [(1, 1)]  # both rows of passage a are one
    (batch,) = batches
    assert (batch.model, batch.n_texts, batch.tokens_in) == (reporting.identity, 3, 30)
    assert batch.cost_usd == pytest.approx(30 * PRICE / 1e6)
    assert batch.latency_s > 0
    assert reporting.n_scored == 3
    reporting.score(CONTEXTS, CANDIDATES)
    assert len(batches) == 1


TEXTS = st.sampled_from(["a", "b", "c", "d?", "e"])
CALLS = st.lists(st.lists(st.tuples(TEXTS, st.lists(TEXTS, max_size=4)), max_size=4), max_size=4)


@given(CALLS, st.booleans())
def test_scores_do_not_depend_on_earlier_requests(
    calls: list[list[tuple[str, list[str]]]], is_pairwise: bool
) -> None:
    store = ParquetStore(f"memory://{uuid.uuid4()}")
    inner = CountingScorer(is_pairwise)
    for rows in calls:
        contexts, candidates = [c for c, _ in rows], [row for _, row in rows]
        scores = MemoizedScorer(inner, store).score(contexts, candidates)
        assert_equal(scores, CountingScorer(is_pairwise).score(contexts, candidates))


def _ignore(*reported: object) -> None:
    """Ignore the report."""
