"""Every method answers over corpora in which its graph is empty or its search finds nothing."""

from collections.abc import Mapping

import pytest

import gsum
from gsum_assets.evaluation.answer import NOTHING_FOUND
from gsum_assets.registry.families import FAMILIES
from gsum_assets.retrieval.oracles import ORACLES
from gsum_resources.llm.extractive import ExtractiveModel
from tests.models import HashEmbedder

CHINESE = {"a": "港口委员会在五月开会。码头的吊车坏了。", "b": "渡船三月停航。水泵在六月运到。"}
ONE_SENTENCE = {"a": "It rains."}
QUESTIONS = ["什么坏了？", "Who paid the zebra?"]
QUICK = {
    "scores": {"bertscore": False},
    "gor": {"training": {"epochs": 1}},
    "gae": {"training": {"epochs": 1}},
}
METHODS = [name for family in FAMILIES for name in family.methods if name not in ORACLES]


class Reading(ExtractiveModel):
    """The extractive model, which fails where an answer is requested from nothing."""

    def complete(self, requests, on_reply=None):
        """Return the replies of the extractive model."""
        for request in requests:
            assert request.task != "answer" or any(map(str.strip, request.passages))
        return super().complete(requests, on_reply)


@pytest.mark.parametrize("texts", [CHINESE, ONE_SENTENCE], ids=["chinese", "one-sentence"])
@pytest.mark.parametrize("method", METHODS)
def test_every_method_answers(method: str, texts: Mapping[str, str]) -> None:
    embedder = HashEmbedder()
    models = {"language_model": Reading(embedder), "embedding_model": embedder}
    found = gsum.run(method, texts, QUESTIONS, settings=QUICK, models=models, progress=False)
    assert found.failures == []
    assert all(found.answers["answer"])
    if method.startswith("graphrag-c"):  # no name, no report: chunks are read
        assert NOTHING_FOUND not in set(found.answers["answer"])
