"""BERTScore of answers: the package's numbers, the best reference, and nothing computed twice."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gsum_assets.evaluation.bertscore_f1 import bertscore_f1
from gsum_resources.embedding.model_files import PACKAGED, model_folder
from gsum_resources.token_embeddings import LocalTokenEmbedder, RecentTokenEmbedder

ANSWERED = [
    ("The boat was late.", ["The ferry came late.", "Nobody knows the price."]),
    ("They chose the electric drive.", ["An electric motor was chosen by the board."]),
    ("Quarry Landing stays closed until spring, said Marit.", ["Marit: it opens in spring."]),
]


class Counting:
    """The packaged model, and how many texts it was asked for."""

    def __init__(self) -> None:
        self._within = LocalTokenEmbedder(device="cpu", threads=1)
        self.identity = self._within.identity
        self.n_texts = 0

    def embed_tokens(self, texts):
        self.n_texts += len(texts)
        return self._within.embed_tokens(texts)


class Remembered(dict):
    """A memo in memory."""

    def get(self, keys):
        return {key: self[key] for key in keys if key in self}

    def put(self, items):
        self.update(items)


@pytest.fixture(scope="module")
def package():
    """The best F1 of an answer against its references, by the `bert-score` package."""
    from bert_score import BERTScorer

    scorer = BERTScorer(model_type=str(model_folder(PACKAGED)), num_layers=6, device="cpu")

    def best(answer: str, references: list[str]) -> float:
        values = scorer.score([answer] * len(references), references, batch_size=1)[2]
        return float(values.max())

    return best


@pytest.fixture(scope="module")
def embedder():
    return Counting()


WORDS = ("boat", "lamp", "river", "Dr", "Lin's", "12,5", "naïve", "—", "雪", "paid")
words = st.lists(st.sampled_from(WORDS), min_size=1)
texts = st.one_of(words.map(" ".join), st.text(min_size=1, max_size=60).filter(str.strip))


@settings(max_examples=25)
@given(answer=texts, references=st.lists(texts, min_size=1, max_size=3))
def test_equal_to_the_package_on_random_texts(package, embedder, answer, references):
    (found,) = bertscore_f1([(answer, references)], embedder, Remembered())
    assert found == pytest.approx(package(answer, references), abs=1e-4)


def test_remembered_whatever_the_company(package, embedder):
    memo = Remembered()
    found = bertscore_f1(ANSWERED, embedder, memo)
    assert found == pytest.approx([package(*one) for one in ANSWERED], abs=1e-4)
    asked = embedder.n_texts
    again = bertscore_f1(ANSWERED[::-1], embedder, memo)
    assert embedder.n_texts == asked
    assert np.array_equal(again, found[::-1])
    alone = [bertscore_f1([one], embedder, Remembered())[0] for one in ANSWERED]
    assert np.array_equal(alone, found)


def test_texts_seen_lately_are_not_embedded_again():
    within = Counting()
    recent = RecentTokenEmbedder(within, max_bytes=34_000)
    first = recent.embed_tokens(["a b", "c d e", "a b"])
    assert within.n_texts == 2
    again = recent.embed_tokens(["c d e", "a b"])
    assert within.n_texts == 2
    assert all(x is y for x, y in zip(again, first[1:], strict=True))
    recent.embed_tokens(["long " * 20])  # pushes the others out
    recent.embed_tokens(["a b"])
    assert within.n_texts == 4
