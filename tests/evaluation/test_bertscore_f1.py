"""BERTScore of answers: the package's numbers, the best reference, and nothing computed twice."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gsum_assets.evaluation.bertscore_f1 import PackageScorer, bertscore_f1
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
    """The packaged model, and how many pairs it compared."""

    def __init__(self) -> None:
        self._within = PackageScorer(device="cpu", threads=1)
        self.identity = self._within.identity
        self.n_pairs = 0

    def f1(self, pairs):
        self.n_pairs += len(pairs)
        return self._within.f1(pairs)


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
def scorer():
    return Counting()


WORDS = ("boat", "lamp", "river", "Dr", "Lin's", "12,5", "naïve", "—", "雪", "paid")
words = st.lists(st.sampled_from(WORDS), min_size=1)
texts = st.one_of(words.map(" ".join), st.text(min_size=1, max_size=60).filter(str.strip))


@settings(max_examples=25)
@given(answer=texts, references=st.lists(texts, min_size=1, max_size=3))
def test_equals_the_package_on_random_texts(package, scorer, answer, references):
    (found,) = bertscore_f1([(answer, references)], scorer, Remembered())
    assert found == pytest.approx(package(answer, references), abs=1e-6)


def test_stored_scores_do_not_depend_on_batch(package, scorer):
    memo = Remembered()
    found = bertscore_f1(ANSWERED, scorer, memo)
    assert found == pytest.approx([package(*one) for one in ANSWERED], abs=1e-6)
    compared = scorer.n_pairs
    again = bertscore_f1(ANSWERED[::-1], scorer, memo)
    assert scorer.n_pairs == compared
    assert np.array_equal(again, found[::-1])
    alone = [bertscore_f1([one], scorer, Remembered())[0] for one in ANSWERED]
    assert np.array_equal(alone, found)


def test_equals_the_ranking_of_gor_nodes():
    embedder, scorer = LocalTokenEmbedder(device="cpu", threads=1), PackageScorer(device="cpu")
    texts = [text for answer, references in ANSWERED for text in (answer, *references)]
    vectors = embedder.embed_tokens(texts)
    every = scorer.f1([(answer, reference) for reference in texts for answer in texts])
    np.testing.assert_allclose(every, bertscore(vectors, vectors).f1.ravel(), atol=1e-5)


def test_references_are_embedded_once_for_all_methods(monkeypatch):
    from bert_score import utils

    embedded, embed = [], utils.get_bert_embedding

    def counted(texts, *others, **named):
        embedded.extend(texts)
        return embed(texts, *others, **named)

    monkeypatch.setattr(utils, "get_bert_embedding", counted)
    scorer = PackageScorer(device="cpu", threads=1)
    first = scorer.f1([("a boat", "a ferry"), ("a boat", "a lamp")])
    again = scorer.f1([("a river", "a lamp"), ("a boat", "a lamp"), ("a boat", "a ferry")])
    assert embedded == ["a boat", "a ferry", "a lamp", "a river", "a boat"]
    assert again[:0:-1].tolist() == first.tolist()


def test_threads_do_not_change_a_score():
    import torch

    pairs = [(answer, text) for answer, references in ANSWERED * 3 for text in references]
    before = torch.get_num_threads()
    one, four = (PackageScorer(device="cpu", threads=n).f1(pairs) for n in (1, 4))
    assert np.array_equal(one, four)
    assert torch.get_num_threads() == before


def test_blank_texts_score_nothing(scorer):
    answered = [(" ", ["A boat."]), ("A boat.", ["\n", "\u200b"]), ("A boat.", ["A boat.", " "])]
    assert bertscore_f1(answered, scorer, Remembered()).tolist() == [0, 0, 1]


@pytest.mark.parametrize("layer", [1, 2])
def test_configured_layer_is_used(tmp_path, layer):
    folder = str(write_bert(tmp_path / "bert"))
    embedder, scorer = LocalTokenEmbedder(folder, layer, "cpu"), PackageScorer(folder, layer, "cpu")
    one, other = embedder.embed_tokens(["a b c d", "b a"])
    np.testing.assert_allclose(
        scorer.f1([("a b c d", "b a")]), bertscore([other], [one]).f1[0], atol=1e-5
    )
    with pytest.raises(ValueError, match=r"bertscore_layer = 3: .* has 2 layers"):
        PackageScorer(folder, 3, "cpu").f1([("a", "b")])


def test_folder_named_like_another_model_is_refused(tmp_path):
    folder = write_bert(tmp_path / "other")
    assert PackageScorer(str(folder), device="cpu").f1([("a", "a")]) == pytest.approx(1)
    moved = folder.rename(tmp_path / "part5")
    with pytest.raises(ValueError, match="by the 't5' in its path; copy the folder"):
        PackageScorer(str(moved), device="cpu").f1([("a", "a")])
