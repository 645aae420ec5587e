"""BM25 on real questions, where the data are at hand: the published figures are reached."""

import os
from pathlib import Path

import numpy as np
import pytest

from gsum_assets.corpus.importers.odsum import read_odsum_story
from gsum_assets.retrieval.bm25 import Bm25Index, Bm25Settings
from gsum_assets.retrieval.ranking import top

STORIES = Path(os.environ.get("GSUM_DATASETS", "../shared/datasets")) / "odsum" / "story"


@pytest.mark.skipif(not STORIES.is_dir(), reason=f"no dataset at {STORIES}; set GSUM_DATASETS")
def test_bm25_reaches_the_published_precision():
    contents = read_odsum_story(STORIES)
    ids = np.array([document.document_id for document in contents.documents])
    texts = [document.text for document in contents.documents]
    queries = contents.queries
    assert (len(ids), len(queries)) == (1138, 375)
    scores = Bm25Index(texts, Bm25Settings()).scores([query.retrieval_text for query in queries])
    hits = np.array(
        [
            np.isin(ids[best], query.relevant_document_ids)
            for best, query in zip(top(scores, ids.tolist(), 10), queries, strict=True)
        ]
    )
    assert 100 * hits[:, :3].mean() >= 70
    assert 100 * hits.mean() >= 44
