"""Claims of an answer, against cases that are plain to a reader."""

from collections.abc import Sequence

import numpy as np

from gsum_assets.evaluation.claims import DISTANCES, claim_rows, claims_of, n_clusters
from gsum_assets.pipeline.tables import TABLES
from tests.rows import rows_of


class SharedWords:
    """An embedder whose cosine is that of the words that two texts share."""

    identity, dimension = "words", 512

    def embed(self, texts: Sequence[str]) -> np.ndarray:
        rows = np.zeros((len(texts), self.dimension), np.float32)
        for row, text in zip(rows, texts, strict=True):
            for word in text.lower().replace(".", " ").split():
                row[sum(map(ord, word)) % self.dimension] = 1
            row /= max(1e-9, np.linalg.norm(row))
        return rows

    embed_queries = embed


def test_claims_are_distinct_statements_without_headings() -> None:
    answer = (
        "## Repairs of the ferry\n\nThe harbour board approved a loan. "
        "The harbour board approved a loan. Yes. The ferry sank near the old jetty."
    )
    assert claims_of(answer, SharedWords().embed) == [
        "The harbour board approved a loan.",
        "The ferry sank near the old jetty.",
    ]
    assert claims_of("", SharedWords().embed) == []
    assert claims_of("The documents do not say.", SharedWords().embed) == []


def test_clusters_by_complete_linkage() -> None:
    same = "the board approved the loan"
    # ROUGE-L of the first two is 4/5, of each with the third 0
    claims = [same, "the board refused the loan", "ferries sink near jetties"]
    assert n_clusters(claims) == [2] * len(DISTANCES)
    # neighbours share half of their words, the ends nothing: complete linkage joins one pair
    chain = ["alpha beta gamma delta", "gamma delta omega kappa", "omega kappa sigma zeta"]
    assert n_clusters(chain) == [2, 2, 2, 2]
    assert n_clusters([same]) == [1] * len(DISTANCES)
    assert n_clusters([]) == [0] * len(DISTANCES)


def test_claims_of_every_question() -> None:
    answer = (  # 25 words
        "The harbour board met in March. It approved a loan of 14,400 pounds for the new pump. "
        "The ferry was not repaired before the summer."
    )
    rows = [{"query_id": "a", "sample": 0, "text": answer}]
    found = claim_rows(["a", "b"], rows_of("summaries", rows), SharedWords())
    scores = {(query_id, metric): value for query_id, metric, value in found}
    assert scores["a", "claims"] == 3
    assert scores["a", "claims_per_100"] == 12
    assert scores["b", "claims"] == scores["b", "claim_clusters@0.5"] == 0
    assert list(claim_rows([], TABLES["summaries"].empty(), SharedWords())) == []
