"""Context scores: each passage with its candidates, in the order of the candidates."""

import numpy as np
import pytest

from gsum_assets.lightpal.candidates import candidates
from gsum_assets.lightpal.context_scores import context_scores
from gsum_assets.pipeline.tables import TABLES
from gsum_assets.retrieval.collection import Collection
from gsum_resources.scoring.unigram import UnigramScorer
from tests.lightpal.toys import EMPTY, TableScorer, pairs_of, topic_tables
from tests.retrieval.toys import collection


def test_score_is_of_the_candidate_given_the_passage():
    here, scorer = collection(), TableScorer(lambda context, text: len(context) - len(text) / 64)
    found = candidates(here, 3)
    rows = context_scores(found, here, scorer)
    assert rows.schema.equals(TABLES["lightpal.context_scores"].schema)
    text_of = dict(zip(here.document_ids, here.document_texts, strict=True))
    text_of |= dict(zip(here.chunk_ids, here.chunk_texts, strict=True))
    for row in pairs_of(found, rows):
        passage, candidate = text_of[row["passage_id"]], text_of[row["candidate_id"]]
        assert row["value"] == len(passage) - len(candidate) / 64


def test_unavailable_score_is_null():
    here = collection()
    silent = TableScorer(lambda context, text: np.nan if "clouds" in text else -1.0)
    found = candidates(here, 2)
    rows = pairs_of(found, context_scores(found, here, silent))
    assert {(row["candidate_id"], row["value"]) for row in rows if row["level"] == "document"} == {
        ("apples", -1.0),
        ("boats", -1.0),
        ("clouds", None),
    }


def test_default_scorer_prefers_shared_words():
    here = Collection.from_tables(*topic_tables(2, 3, 4))
    found = candidates(here, 100)
    rows = pairs_of(found, context_scores(found, here, UnigramScorer()))
    same = [r["value"] for r in rows if r["passage_id"][:3] == r["candidate_id"][:3]]
    other = [r["value"] for r in rows if r["passage_id"][:3] != r["candidate_id"][:3]]
    assert np.mean(same) > max(0, np.mean(other))


@pytest.mark.parametrize("here", [EMPTY, collection().document(0), collection().document(2)])
def test_few_or_no_passages(here):
    found = candidates(here, 5)
    rows = context_scores(found, here, UnigramScorer())
    assert rows.num_rows == found.num_rows == len(here.chunk_ids) + len(here.document_ids)
    assert len(pairs_of(found, rows)) == (2 if len(here.chunk_ids) == 2 else 0)
