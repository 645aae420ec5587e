"""One request for each question and passage; a failure costs its row alone."""

from gsum_assets.gae.reflect import reflections
from gsum_resources.embedding.embedder import LocalEmbedder
from gsum_resources.llm.extractive import ExtractiveModel
from tests.gae.toy_contexts import BRIDGE, COOKING, QUESTION, SETTINGS, contexts, queries
from tests.gor.toy_documents import Scripted

ASKED = queries({"q1": QUESTION, "q2": "Who cooks?"})


def test_every_pair_is_requested_at_once_and_failures_are_reported() -> None:
    found = contexts({"q2": ["one"], "q1": ["one", "dynamite"], "unknown": ["one"]})
    model = Scripted(lambda r: None if "dynamite" in r.passages else '{"score": 6}')
    judged = reflections(found, ASKED, model)
    assert len(model.calls) == 1
    assert [(r.question, r.passages, r.document_id) for r in model.requests] == [
        (QUESTION, ("one",), "d1"),
        (QUESTION, ("dynamite",), "d2"),
        ("Who cooks?", ("one",), "d1"),
    ]
    assert judged.rows.select(["query_id", "node_id", "relevance", "model"]).to_pylist() == [
        {"query_id": q, "node_id": "c1", "relevance": 6, "model": "scripted"} for q in ("q1", "q2")
    ]
    assert judged.failures == ["question 'q1', passage 'c2': not judged: the server is tired"]


def test_choice_question_is_shown_with_its_options() -> None:
    questions = queries({"q1": "Which?"}, form="choice", options=["a boat", "a bridge"])
    model = Scripted(lambda r: '{"score": 6}')
    reflections(contexts({"q1": ["one"]}), questions, model)
    assert model.requests[0].question == "Which?\n(A) a boat\n(B) a bridge"


def test_embedded_model_separates_relevant_passages() -> None:
    found = contexts({"q1": [BRIDGE, COOKING]})
    judged = reflections(found, ASKED, ExtractiveModel(LocalEmbedder()))
    bridge, cooking = judged.rows["relevance"].to_pylist()
    assert bridge >= SETTINGS.high
    assert cooking < SETTINGS.medium
