"""Sentences that are embedded before a question reads their passages."""

from gsum_resources.llm.extractive import ExtractiveModel
from gsum_resources.protocols.models import Completion, Request
from tests.models import HashEmbedder

PASSAGES = (
    "The ferry left the harbour at nine. The clerk had lost the key. It rained all the morning",
    "and nobody saw the lamp. The bridge was closed for repairs. The letter arrived on Monday.",
)


def test_a_request_embeds_only_its_question_after_the_passages_were_prepared() -> None:
    embedder = HashEmbedder()
    model = ExtractiveModel(embedder)
    assert model.prepare(PASSAGES)
    before = embedder.n_embedded
    for passages in (PASSAGES, PASSAGES[:1], PASSAGES[1:]):
        request = Request("answer", "", "Why was the ferry late?", passages, max_words=40)
        (reply,) = model.complete([request])
        assert isinstance(reply, Completion)
        assert reply.text
    assert embedder.n_embedded - before <= 3  # the question, each time


def test_no_more_is_prepared_than_there_is_room_for() -> None:
    assert not ExtractiveModel(HashEmbedder(), cache_size=3).prepare(PASSAGES)
