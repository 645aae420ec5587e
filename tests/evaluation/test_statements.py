"""Assertions met and claims, against cases that are plain to a reader."""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pytest

from gsum_assets.evaluation.statements import (
    DISTANCES,
    claims_of,
    is_met,
    n_clusters,
    statement_rows,
)
from gsum_assets.evaluation.support import Support
from gsum_assets.pipeline.tables import TABLES
from tests.rows import question_rows, rows_of


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


SUPPORT = Support(SharedWords)
ANSWER = (
    "The harbour board met in March. It approved a loan of 14,400 pounds for the new pump. "
    "The ferry was not repaired before the summer."
)


@pytest.mark.parametrize(
    ("assertion", "is_said"),
    [
        ("The board approved a loan of 14,400 pounds for the new pump.", True),
        ("The board approved a loan of 14400 pounds for the new pump.", True),
        ("The board approved a loan of 19,000 pounds for the new pump.", False),
        ("The board did not approve a loan of 14,400 pounds for the new pump.", False),
        ("The ferry was not repaired before the summer.", True),
        ("The ferry was repaired before the summer.", False),
        ("The library opened its reading room to children.", False),
    ],
)
def test_an_answer_meets_what_it_says(assertion: str, is_said: bool) -> None:
    assert is_met(assertion, ANSWER, SUPPORT) is is_said


def test_the_words_of_the_question_alone_meet_nothing() -> None:
    question, answer = "What was said about Port Maren?", "The port Maren is Port Maren."
    assertion = "Bram: The crane at Port Maren broke in a storm."
    assert not is_met(assertion, answer, SUPPORT, question)
    assert is_met(assertion, "Teo: The crane at Port Maren broke.", SUPPORT, question)


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


def scored(answers: dict[str, str], assertions: dict[str, list[str]], with_claims: bool) -> dict:
    questions = question_rows({"query_id": "a"}, {"query_id": "b"})
    rows = [{"query_id": i, "sample": 0, "text": text} for i, text in answers.items()]
    found = statement_rows(questions, rows_of("summaries", rows), assertions, SUPPORT, with_claims)
    return {(query_id, metric): value for query_id, metric, value in found}


def test_an_unanswered_question_meets_nothing() -> None:
    said = ["The harbour board met in March."]
    found = scored({"a": ANSWER}, {"a": said, "b": said}, with_claims=False)
    assert found == {("a", "assertions_met"): 1.0, ("b", "assertions_met"): 0.0}
    half = {"a": [*said, "The library opened its reading room."]}
    assert scored({"a": ANSWER}, half, with_claims=False) == {("a", "assertions_met"): 0.5}
    claims = scored({"a": "It leaked badly in May. " + "word " * 45}, {}, with_claims=True)
    assert claims["a", "claims_per_100"] == pytest.approx(2 * claims["a", "claims"])


def test_nothing_is_embedded_unless_requested() -> None:
    def refuses() -> SharedWords:
        raise AssertionError("an embedder was loaded")

    summaries = pa.Table.from_pylist([], TABLES["summaries"].schema)
    queries = question_rows({"query_id": "a"})
    assert list(statement_rows(queries, summaries, {}, Support(refuses), False)) == []
    assert scored({"a": ANSWER}, {}, with_claims=True)["a", "claims"] == 3
