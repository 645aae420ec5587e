"""BERTScore of answers: the package's numbers, the best reference, and nothing computed twice."""

import numpy as np
import pytest

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


def test_equal_to_the_package_and_remembered():
    from bert_score import score

    embedder, memo = Counting(), Remembered()
    found = bertscore_f1(ANSWERED, embedder, memo)
    expected = []
    for answer, references in ANSWERED:
        values = score(
            [answer] * len(references),
            references,
            model_type=str(model_folder(PACKAGED)),
            num_layers=6,
            batch_size=1,
            device="cpu",
        )[2]
        expected.append(float(values.max()))
    assert found == pytest.approx(expected, abs=1e-4)
    asked = embedder.n_texts
    again = bertscore_f1(ANSWERED[::-1], embedder, memo)
    assert embedder.n_texts == asked
    assert np.array_equal(again, found[::-1])


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
