"""Other models than the packaged one: pooling, prefixes, two encoders, damaged folders."""

import json
import shutil

import numpy as np
import pytest

from gsum_resources.embedding.embedder import LocalEmbedder
from gsum_resources.embedding.model_files import (
    ModelNotFoundError,
    query_encoder_name,
    read_model_settings,
)
from tests.embedding.tiny_models import token_ids, write_bert, write_dpr, write_pooling


@pytest.fixture(scope="module")
def bert(tmp_path_factory):
    return write_bert(tmp_path_factory.mktemp("models") / "plain-bert")


def embedder(folder, **settings):
    return LocalEmbedder(
        str(folder), **{"window_tokens": 16, "device": "cpu", "threads": 1, **settings}
    )


def hidden_states(folder, text):
    """Token vectors `(length, 32)` by transformers alone: one text, no padding."""
    import torch
    from transformers import AutoModel

    model = AutoModel.from_pretrained(folder, attn_implementation="eager").eval()
    with torch.inference_mode():
        ids = torch.tensor([[2, *token_ids(text), 3]])
        return model(input_ids=ids).last_hidden_state[0].double().numpy()


def unit(vector):
    return vector / np.linalg.norm(vector)


@pytest.mark.parametrize(
    ("pooling", "pool"),
    [
        ("mean", lambda h: h.mean(0)),
        ("cls", lambda h: h[0]),
        ("max", lambda h: h.max(0)),
        ("last", lambda h: h[-1]),
    ],
)
def test_each_pooling_equals_its_definition(bert, tmp_path, pooling, pool):
    folder = shutil.copytree(bert, tmp_path / "pooled")
    write_pooling(folder, {"pooling_mode": pooling if pooling != "last" else "lasttoken"})
    got = embedder(folder).embed(["a b c d e", "x y"])
    for text, vector in zip(["a b c d e", "x y"], got, strict=True):
        np.testing.assert_allclose(vector, unit(pool(hidden_states(bert, text))), atol=1e-6)


def test_long_text_is_the_token_weighted_mean_of_its_windows(bert):
    windows = ["a b c d", "e f g h", "i j"]
    raw = [hidden_states(bert, window).mean(0) for window in windows]
    expected = unit((4 * raw[0] + 4 * raw[1] + 2 * raw[2]) / 10)
    got = embedder(bert, window_tokens=4).embed([" ".join(windows)])
    np.testing.assert_allclose(got[0], expected, atol=1e-6)


def with_prompts(bert, folder, **prompts):
    """A copy of a model with prompts of sentence-transformers."""
    shutil.copytree(bert, folder)
    content = json.dumps({"prompts": prompts})
    (folder / "config_sentence_transformers.json").write_text(content)
    return folder


def test_prefixes_precede_the_text(bert, tmp_path):
    plain = embedder(bert)
    with_prefix = embedder(with_prompts(bert, tmp_path / "p", query="q x ", document="p "))
    np.testing.assert_allclose(
        with_prefix.embed_queries(["a b", "c"]), plain.embed(["q x a b", "q x c"]), atol=1e-6
    )
    np.testing.assert_allclose(with_prefix.embed(["a b"]), plain.embed(["p a b"]), atol=1e-6)
    assert len({plain.identity, with_prefix.identity}) == 2


def test_settings_come_from_the_model_files(bert, tmp_path):
    folder = with_prompts(bert, tmp_path / "described", query="ask ", document="tell ")
    write_pooling(folder, {"pooling_mode_cls_token": True, "pooling_mode_mean_tokens": False})
    read = read_model_settings(folder, "described")
    assert (read.pooling, read.query_prefix, read.passage_prefix) == ("cls", "ask ", "tell ")
    assert (read.dimension, read.max_tokens) == (32, 40)

    write_pooling(folder, {"pooling_mode": ["mean", "max"]})
    with pytest.raises(ValueError, match=r"pooling \['mean', 'max'\] is not supported"):
        read_model_settings(folder, "described")
    modules = [{"idx": 0, "path": "", "type": "sentence_transformers.models.Dense"}]
    (folder / "modules.json").write_text(json.dumps(modules))
    with pytest.raises(ValueError, match="module 'Dense' is not supported"):
        read_model_settings(folder, "described")


@pytest.mark.parametrize(
    ("name", "pooling", "query_prefix"),
    [
        ("facebook/contriever-msmarco", "mean", ""),
        ("facebook/dragon-plus-context-encoder", "cls", ""),
        ("BAAI/bge-small-en-v1.5", "cls", "Represent"),
        ("BAAI/bge-m3", "cls", ""),
        ("intfloat/e5-base-v2", "mean", "query: "),
        ("somebody/unheard-of", "mean", ""),
    ],
)
def test_known_families_are_recognized(bert, name, pooling, query_prefix):
    read = read_model_settings(bert, name)
    assert read.pooling == pooling
    assert read.query_prefix.startswith(query_prefix)
    assert bool(read.query_prefix) == bool(query_prefix)


def test_dpr_uses_each_encoder_for_its_side(tmp_path):
    context = write_dpr(tmp_path / "dpr-ctx_encoder-tiny", "Context", seed=1)
    question = write_dpr(tmp_path / "dpr-question_encoder-tiny", "Question", seed=2)
    assert query_encoder_name(str(context)) == str(question)
    pair = embedder(context)

    import torch
    from transformers import DPRContextEncoder, DPRQuestionEncoder

    ids = torch.tensor([[2, *token_ids("a b c"), 3]])
    with torch.inference_mode():
        passage = DPRContextEncoder.from_pretrained(context).eval()(ids).pooler_output[0].numpy()
        query = DPRQuestionEncoder.from_pretrained(question).eval()(ids).pooler_output[0].numpy()
    np.testing.assert_allclose(pair.embed(["a b c"])[0], unit(passage), atol=1e-6)
    np.testing.assert_allclose(pair.embed_queries(["a b c"])[0], unit(query), atol=1e-6)


def test_missing_dpr_partner_raises(bert, tmp_path):
    folder = shutil.copytree(bert, tmp_path / "dragon-tiny-context-encoder")
    with pytest.raises(ModelNotFoundError, match="dragon-tiny-query-encoder"):
        embedder(folder).embed_queries(["a"])


def test_missing_weights_raise(bert, tmp_path):
    from safetensors.numpy import load_file, save_file

    folder = shutil.copytree(bert, tmp_path / "damaged")
    weights = load_file(folder / "model.safetensors")
    del weights["encoder.layer.1.output.dense.weight"]
    save_file(weights, folder / "model.safetensors", {"format": "pt"})
    with pytest.raises(ValueError, match=r"1 parameters .*encoder\.layer\.1\.output"):
        embedder(folder).embed(["a"])


def test_unavailable_models_raise(bert, tmp_path, monkeypatch):
    with pytest.raises(ModelNotFoundError, match="no such folder"):
        embedder(tmp_path / "nowhere").identity  # noqa: B018
    empty = shutil.copytree(bert, tmp_path / "empty")
    (empty / "model.safetensors").unlink()
    with pytest.raises(ModelNotFoundError, match=r"no model\*\.safetensors"):
        embedder(empty).identity  # noqa: B018

    def no_network(*_, **__):
        raise ConnectionError("name not known")

    monkeypatch.setattr("huggingface_hub.snapshot_download", no_network)
    with pytest.raises(ModelNotFoundError, match=r"name not known.*hf download facebook/contr"):
        embedder("facebook/contriever").identity  # noqa: B018


def test_identity_depends_on_content_not_path(bert, tmp_path):
    from safetensors.numpy import load_file, save_file

    copy = shutil.copytree(bert, tmp_path / "elsewhere")
    original = embedder(bert)
    assert embedder(copy).identity == original.identity
    assert embedder(copy, threads=2, device="auto").identity == original.identity

    weights = load_file(copy / "model.safetensors")
    weights["embeddings.LayerNorm.bias"][3] += 1e-3
    save_file(weights, copy / "model.safetensors", {"format": "pt"})
    pooled = shutil.copytree(bert, tmp_path / "pooled")
    write_pooling(pooled, {"pooling_mode": "cls"})
    others = [
        embedder(copy),
        embedder(bert, precision="bfloat16"),
        embedder(pooled),
        embedder(bert, window_tokens=8),
        embedder(with_prompts(bert, tmp_path / "query", query="q ")),
        embedder(with_prompts(bert, tmp_path / "passage", document="q ")),
    ]
    assert len({original.identity, *(other.identity for other in others)}) == 7


def test_window_longer_than_the_model_raises(bert):
    with pytest.raises(ValueError, match=r"window_tokens = 39: .* takes at most 38"):
        embedder(bert, window_tokens=39).embed(["a"])
    assert embedder(bert, window_tokens=38).embed(["a " * 50]).shape == (1, 32)
