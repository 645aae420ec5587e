"""Context scores after a change of the corpus: only lists that changed are scored again."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from gsum_assets.lightpal.candidates import candidates
from gsum_assets.lightpal.context_scores import context_scores, scores_of
from gsum_assets.lightpal.earlier import basis_of
from gsum_assets.lightpal.earlier_scores import known_scores, text_digests_of
from gsum_assets.lightpal.lists import lists_of
from gsum_assets.pipeline.tables import TABLES
from gsum_assets.retrieval.collection import Collection
from gsum_resources.store.earlier import Earlier
from gsum_resources.store.lineage import code_version_of
from gsum_resources.store.parquet_store import ParquetStore, Partition, Provenance
from tests.lightpal.test_earlier import SIZES, a_collection
from tests.lightpal.toys import TableScorer, pairs_of

TABLE, CORPUS, N = TABLES["lightpal.context_scores"], "tales", 5


def score(context: str, text: str) -> float:
    return len(context) - sum(text.encode()) / 64


def scored(earlier: Earlier, here: Collection, scorer: TableScorer) -> pa.Table:
    lists = lists_of(candidates(here, N), here)
    return scores_of(lists, here, scorer, known_scores(earlier, lists, here))


def keep(earlier: Earlier, rows: pa.Table, here: Collection) -> None:
    """Store rows as a step does."""
    earlier.write_basis(rows, basis_of(text_digests_of(here)))
    written = Provenance("", code_version_of(TABLE, ""))
    assert earlier.store
    earlier.store.write(TABLE, Partition(CORPUS), rows, written)


@pytest.fixture
def earlier(tmp_path: Path) -> Earlier:
    """With the scores of a corpus."""
    earlier, then = Earlier(ParquetStore(str(tmp_path)), TABLE, CORPUS), a_collection(SIZES)
    keep(earlier, scored(earlier, then, TableScorer(score)), then)
    return earlier


def contexts_scored(earlier: Earlier, here: Collection) -> set[str]:
    """Return the passages that are scored again; the result equals that of scoring all."""
    found: set[str] = set()

    def recorded(context: str, text: str) -> float:
        found.add(context)
        return score(context, text)

    rows = scored(earlier, here, TableScorer(recorded))
    assert rows.equals(context_scores(candidates(here, N), here, TableScorer(score)))
    return found


def test_another_text_of_a_document_is_scored_again(earlier):
    here = a_collection(SIZES)
    texts = ["another text" if name == "d03" else name for name in here.document_ids]
    again = contexts_scored(earlier, replace(here, document_texts=texts))
    assert "another text" in again
    assert not again & set(here.chunk_texts)


def test_missing_scores_are_requested_again(earlier):
    here = a_collection(SIZES)
    rows = context_scores(candidates(here, N), here, TableScorer(lambda context, text: np.nan))
    assert {pair["value"] for pair in pairs_of(candidates(here, N), rows)} == {None}
    keep(earlier, rows, here)
    assert len(contexts_scored(earlier, here)) == len(here.chunk_ids) + len(here.document_ids)


def test_other_number_of_candidates_scores_all(earlier):
    here = a_collection(SIZES)
    known = known_scores(earlier, lists_of(candidates(here, N + 1), here), here)
    assert all(np.isnan(values).all() for values in known.values())
