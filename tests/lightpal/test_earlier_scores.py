"""Context scores after a change of the corpus: only lists that changed are scored again."""

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from gsum_assets.lightpal.candidates import candidates
from gsum_assets.lightpal.context_scores import context_scores, scores_of
from gsum_assets.lightpal.earlier_scores import known_scores, note_scores
from gsum_assets.lightpal.lists import lists_of
from gsum_assets.pipeline.tables import TABLES
from gsum_assets.retrieval.collection import Collection
from gsum_resources.store.parquet_store import ParquetStore, Partition, Provenance
from tests.lightpal.test_earlier import CHANGES, SIZES, a_collection
from tests.lightpal.toys import TableScorer, pairs_of

TABLE, CORPUS, N = TABLES["lightpal.context_scores"], "tales", 5


def score(context: str, text: str) -> float:
    return len(context) - sum(text.encode()) / 64


def scored(store: ParquetStore, here: Collection, scorer: TableScorer) -> pa.Table:
    lists = lists_of(candidates(here, N), here)
    known = known_scores(store, CORPUS, lists, here, scorer.identity)
    return scores_of(lists, here, scorer, known)


@pytest.fixture
def store(tmp_path) -> ParquetStore:
    """With the scores of a corpus."""
    store, then, scorer = ParquetStore(str(tmp_path)), a_collection(SIZES), TableScorer(score)
    rows = scored(store, then, scorer)
    note_scores(store, CORPUS, rows, then, scorer.identity)
    store.write(TABLE, Partition(CORPUS), rows, Provenance("", "1"))
    return store


def contexts_scored(store: ParquetStore, here: Collection, scorer: TableScorer) -> set[str]:
    """Return the passages that are scored again; the result equals that of scoring all."""
    found: set[str] = set()

    def recorded(context: str, text: str) -> float:
        found.add(context)
        return score(context, text)

    rows = scored(store, here, replace_score(scorer, recorded))
    assert rows.equals(context_scores(candidates(here, N), here, TableScorer(score)))
    return found


def replace_score(scorer: TableScorer, recorded) -> TableScorer:
    other = TableScorer(recorded)
    other.identity = scorer.identity
    return other


@pytest.mark.parametrize("change", CHANGES)
def test_equals_scoring_all(store, change):
    here = CHANGES[change]
    again = contexts_scored(store, here, TableScorer(score))
    n_all = len(here.chunk_ids) + len(here.document_ids)
    assert len(again) < n_all
    assert bool(again) == (change != "nothing")


def test_another_text_of_a_document_is_scored_again(store):
    here = a_collection(SIZES)
    texts = ["another text" if name == "d03" else name for name in here.document_ids]
    again = contexts_scored(store, replace(here, document_texts=texts), TableScorer(score))
    assert "another text" in again
    assert not again & set(here.chunk_texts)


def test_another_scorer_scores_all(store):
    here, scorer = a_collection(SIZES), TableScorer(score)
    scorer.identity = "another"
    assert len(contexts_scored(store, here, scorer)) == len(here.chunk_ids) + len(here.document_ids)


def test_missing_scores_are_requested_again(store):
    here, silent = a_collection(SIZES), TableScorer(lambda context, text: np.nan)
    silent.identity = "silent"
    rows = scored(store, here, silent)
    assert {pair["value"] for pair in pairs_of(candidates(here, N), rows)} == {None}
    note_scores(store, CORPUS, rows, here, silent.identity)
    store.write(TABLE, Partition(CORPUS), rows, Provenance("", "1"))
    assert len(contexts_scored(store, here, silent)) == len(here.chunk_ids) + len(here.document_ids)


def test_note_of_a_table_that_was_not_written_is_ignored(store):
    here, scorer = a_collection(SIZES), TableScorer(lambda context, text: score(context, text) + 1)
    rows = context_scores(candidates(here, N), here, scorer)
    note_scores(store, CORPUS, rows, here, scorer.identity)  # and then the process was killed
    assert len(contexts_scored(store, here, scorer)) == len(here.chunk_ids) + len(here.document_ids)


def test_other_number_of_candidates_scores_all(store):
    here, scorer = a_collection(SIZES), TableScorer(score)
    lists = lists_of(candidates(here, N + 1), here)
    known = known_scores(store, CORPUS, lists, here, scorer.identity)
    assert all(np.isnan(values).all() for values in known.values())
