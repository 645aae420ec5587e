"""Relevance of topics, one request for each question and cluster, and of each passage."""

import json

import pytest

from gsum_assets.corpus.chunk import n_word_pieces
from gsum_assets.gae.rank import Clusters
from gsum_assets.gae.relevance import reflections, topics
from gsum_resources.embedding.embedder import LocalEmbedder
from gsum_resources.llm.extractive import ExtractiveModel
from tests.gae.toy_contexts import BRIDGE, COOKING, PROMPT_TOKENS, QUESTION, contexts, queries
from tests.gor.toy_documents import Scripted

CLUSTERS = Clusters({"c1": 4, "c2": 0, "c3": 4}, {})
ASKED = queries({"q1": QUESTION, "q2": "Who cooks?"})
FOUND = contexts({"q1": ["best", "second", "third"], "q2": ["only"]})


def reply(relevance: int = 8) -> str:
    return json.dumps({"topic": "A  topic", "relevance": relevance})


def test_all_clusters_of_a_question_are_requested_at_once() -> None:
    model = Scripted(lambda request: reply(relevance=len(request.passages)))
    named = topics(FOUND, CLUSTERS, ASKED, model, PROMPT_TOKENS)
    assert len(model.calls) == 1
    assert [(r.question, r.passages) for r in model.requests] == [
        (QUESTION, ("second",)),
        (QUESTION, ("best", "third")),
        ("Who cooks?", ("only",)),
    ]
    names = ["query_id", "cluster", "topic", "relevance", "n_passages", "n_read", "calls"]
    assert [tuple(row[name] for name in names) for row in named.rows.to_pylist()] == [
        ("q1", 0, "A topic", 1, 1, 1, 1),
        ("q1", 4, "A topic", 2, 2, 2, 1),
        ("q2", 4, "A topic", 1, 1, 1, 1),
    ]
    assert named.failures == []


def test_failure_costs_its_row_and_is_reported() -> None:
    model = Scripted(lambda request: None if len(request.passages) == 2 else reply())
    named = topics(FOUND, CLUSTERS, ASKED, model, PROMPT_TOKENS)
    assert named.rows["cluster"].to_pylist() == [0, 4]
    assert named.failures == ["question 'q1', cluster 4: no topic: the server is tired"]


@pytest.mark.parametrize("prompt_tokens", [250, 1000, 6000])
def test_prompt_holds_the_best_fitting_passages(prompt_tokens: int) -> None:
    texts = [f"Number {i}. {BRIDGE}" for i in range(30)]
    found, clusters = contexts({"q1": texts}), Clusters({f"c{i}": 0 for i in range(1, 31)}, {})
    model = Scripted(lambda request: reply())
    named = topics(found, clusters, ASKED, model, prompt_tokens)
    (request,) = model.requests
    n_read = named.rows["n_read"][0].as_py()
    assert named.rows["n_passages"][0].as_py() == 30
    length, one = n_word_pieces([f"{request.instructions}\n{request.render()}", texts[0]])
    assert length <= prompt_tokens
    assert n_read == 30 or length > prompt_tokens - one - 5  # no other one would fit
    assert list(request.passages) == texts[:n_read]


def test_overlong_single_passage_is_cut() -> None:
    model = Scripted(lambda request: reply())
    named = topics(contexts({"q1": [BRIDGE * 20]}), CLUSTERS, ASKED, model, 300)
    (request,) = model.requests
    assert named.rows["n_read"].to_pylist() == [1]
    assert (BRIDGE * 20).startswith(request.passages[0])
    assert n_word_pieces([f"{request.instructions}\n{request.render()}"])[0] <= 300


def test_embedded_model_names_and_distinguishes_clusters() -> None:
    found = contexts({"q1": [COOKING, BRIDGE]})
    model = ExtractiveModel(LocalEmbedder())
    named = topics(found, Clusters({"c1": 0, "c2": 1}, {}), ASKED, model, PROMPT_TOKENS)
    cooking, bridge = named.rows.to_pylist()
    assert "carrots" in cooking["topic"].lower()
    assert "bridge" in bridge["topic"].lower()
    assert cooking["relevance"] < 4
    assert bridge["relevance"] >= 7
    cooking, bridge = reflections(found, ASKED, model).rows["relevance"].to_pylist()
    assert cooking < 4
    assert bridge >= 7


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
    asked = queries({"q1": "Which?"}, form="choice", options=["a boat", "a bridge"])
    reflections(contexts({"q1": ["one"]}), asked, model)
    assert model.requests[-1].question == "Which?\n(A) a boat\n(B) a bridge"
