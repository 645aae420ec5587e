"""BERTScore of answers: the package's numbers, the best reference, and nothing computed twice."""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from gsum_assets.evaluation import bertscore_f1 as bertscore_f1_module
from gsum_assets.evaluation.bertscore_f1 import LocalBertScorer, bertscore_f1
from gsum_assets.graphs.bertscore import bertscore
from gsum_resources.embedding.model_files import PACKAGED, model_folder
from gsum_resources.embedding.token_embeddings import LocalTokenEmbedder
from tests.embedding.tiny_models import write_bert

ANSWERED = [
    ("The boat was late.", ["The ferry came late.", "Nobody knows the price."]),
    ("They chose the electric drive.", ["An electric motor was chosen by the board."]),
    ("Quarry Landing stays closed until spring, said Marit.", ["Marit: it opens in spring."]),
]


class Counting:
    """The packaged model, and how many answers it compared."""

    def __init__(self) -> None:
        self._within = LocalBertScorer(device="cpu", threads=1)
        self.identity = self._within.identity
        self.n_answers = 0

    def best_f1(self, answered):
        self.n_answers += len(answered)
        return self._within.best_f1(answered)


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


def scores(answered, scorer, memo=None):
    memo = Remembered() if memo is None else memo
    return bertscore_f1(answered, scorer, memo, lambda done, total: None)


def f1(scorer, pairs):
    return scorer.best_f1([(answer, [reference]) for answer, reference in pairs])


@pytest.fixture(scope="module")
def scorer():
    return Counting()


WORDS = ("boat", "lamp", "river", "Dr", "Lin's", "12,5", "naïve", "—", "雪", "paid")
words = st.lists(st.sampled_from(WORDS), min_size=1)
texts = st.one_of(words.map(" ".join), st.text(min_size=1, max_size=60).filter(str.strip))


@settings(max_examples=25)
@example("¯", ["paid river"])  # their score is negative
@given(answer=texts, references=st.lists(texts, min_size=1, max_size=3))
def test_equals_the_package_on_random_texts(package, scorer, answer, references):
    (found,) = scores([(answer, references)], scorer)
    assert found == pytest.approx(package(answer, references), abs=1e-5)


def test_stored_scores_depend_on_neither_batch_nor_threads(scorer):
    memo = Remembered()
    found = scores(ANSWERED, scorer, memo)
    compared = scorer.n_answers
    assert np.array_equal(scores(ANSWERED[::-1], scorer, memo), found[::-1])
    assert scorer.n_answers == compared
    apart = [scores([one], LocalBertScorer(device="cpu", threads=4))[0] for one in ANSWERED]
    assert np.array_equal(apart, found)


@pytest.mark.parametrize(("room", "n_again"), [(bertscore_f1_module._KEPT, 1), (0, 3)])
def test_references_are_embedded_once_for_all_methods(monkeypatch, room, n_again):
    monkeypatch.setattr(bertscore_f1_module, "_KEPT", room)
    scorer, embedded = LocalBertScorer(device="cpu", threads=1), []
    embed = LocalTokenEmbedder.embed_tokens
    monkeypatch.setattr(
        LocalTokenEmbedder,
        "embed_tokens",
        lambda self, texts: (embedded.extend(texts), embed(self, texts))[1],
    )
    for answer in ("The boat was late.", "The ferry came."):
        embedded.clear()
        scorer.best_f1([(answer, ANSWERED[0][1])])
    assert len(embedded) == n_again


def test_blank_texts_score_nothing(scorer):
    answered = [(" ", ["A boat."]), ("A boat.", ["\n", "\u200b"]), ("A boat.", ["A boat.", " "])]
    assert scores(answered, scorer).tolist() == [0, 0, 1]


@pytest.mark.parametrize("layer", [1, 2])
def test_configured_layer_is_used(tmp_path, layer):
    folder = str(write_bert(tmp_path / "bert"))
    embedder, scorer = (
        LocalTokenEmbedder(folder, layer, "cpu"),
        LocalBertScorer(folder, layer, "cpu"),
    )
    one, other = embedder.embed_tokens(["a b c d", "b a"])
    np.testing.assert_allclose(
        f1(scorer, [("a b c d", "b a")]), bertscore([other], [one]).f1[0], atol=1e-5
    )
    with pytest.raises(ValueError, match=r"layer = 3: .* has 2 layers"):
        f1(LocalBertScorer(folder, 3, "cpu"), [("a", "b")])
