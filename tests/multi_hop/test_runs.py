"""Both methods over texts in memory: the index of other families is made for them."""

from typing import Any

import pandas as pd
import pytest

import gsum
from gsum_assets.registry.families import METHODS
from tests.models import HashEmbedder

TEXTS = {
    "born": "Marit Olsen was born in Tarnholt. It rained.",
    "river": "Tarnholt lies on the river Vesk. It is old.",
    "lake": "The river Vesk flows into Lake Orrin. Boats wait there.",
    "other": "Somebody else was born near a river in the province of Dov.",
    "more": "A lake has boats. Rain is rare.",
}
QUESTION = {"query_id": "q", "text": "On which river lies the birthplace of Marit Olsen?"}
ABOUT_ONE = {"query_id": "one", "text": "Where was Marit Olsen born?", "document_id": "born"}


def ranked(method: str, texts: dict[str, str], *questions: dict[str, Any]) -> pd.DataFrame:
    models = {"embedding_model": HashEmbedder()}
    result = gsum.run(method, texts, questions, models=models, progress=False)
    rows = result.tables["rankings"]
    assert not result.failures
    return rows.query("level == 'document'")


@pytest.mark.parametrize("method", ["linear-rag", "hippo-rag"])
def test_passages_are_found_over_entities(method: str) -> None:
    rows = ranked(method, TEXTS, QUESTION, ABOUT_ONE)
    found = rows[rows["query_id"] == "q"]["item_id"].tolist()
    assert sorted(found) == sorted(TEXTS)
    assert found.index("river") < min(found.index("other"), found.index("more"))
    assert rows[rows["query_id"] == "one"]["item_id"].tolist() == ["born"]


@pytest.mark.parametrize("method", ["linear-rag", "hippo-rag"])
def test_texts_without_an_entity_are_ranked_by_their_vectors(method: str) -> None:
    texts = {"a": "it rained all day.", "b": "they went home."}
    question = {"query_id": "q", "text": "what happened?"}
    order = [ranked(name, texts, question)["item_id"].tolist() for name in (method, "dense")]
    assert order[0] == order[1]


def test_they_run_by_name_alone() -> None:
    assert not {"linear-rag", "hippo-rag"}.intersection(METHODS.default)
    assert not {"linear-rag", "hippo-rag"}.intersection(METHODS.without_questions)
