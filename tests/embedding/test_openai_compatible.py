"""Vectors over real sockets: nothing cut, nothing wrong accepted, independent of the batch."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gsum_resources.embedding.memoized import Batch, MemoizedEmbedder
from gsum_resources.embedding.openai_compatible import EmbeddingError, OpenAICompatibleEmbedder, cut
from gsum_resources.endpoint import Endpoint
from gsum_resources.protocols.models import Embedder, Metered, ModelUnavailableError
from gsum_resources.settings.schema import EmbeddingSettings
from gsum_resources.store.parquet_store import ParquetStore
from tests.servers.clients import client_of, settings_for
from tests.servers.replies import embedding_of
from tests.servers.scripted import scripted_server


@contextmanager
def embedder_of(tmp_path: Path, settings: dict[str, Any], **script: Any) -> Iterator[Any]:
    """An embedder and its server."""
    with scripted_server(tmp_path / "requests.jsonl", **script) as server:
        given = {"max_retries": 2, "timeout_s": 30.0} | settings
        chosen = settings_for(server.base_url, EmbeddingSettings, **given)
        with client_of(chosen, OpenAICompatibleEmbedder) as embedder:
            yield embedder, server


def unit(vector: Any) -> np.ndarray:
    return np.asarray(vector) / np.linalg.norm(vector)


TEXTS = ["A boat.", "Ein Boot 🚣 fährt.", "雪が降る。", *(f"text {i}" for i in range(100))]


def test_texts_return_unit_vectors_in_order(tmp_path: Path) -> None:
    faults = {"every": {"429": 3, "500": 4}, "retry_after": "0.02"}
    with embedder_of(tmp_path, {"max_retries": 9}, **faults) as (model, _):
        assert isinstance(model, Embedder)
        vectors = model.embed(TEXTS)
        assert vectors.shape == (103, 8)
        assert vectors.dtype == np.float32
        expected = np.array([unit(embedding_of(text, 8)) for text in TEXTS])
        np.testing.assert_allclose(vectors, expected, atol=1e-6)
        np.testing.assert_array_equal(model.embed_queries(TEXTS[5:3:-1]), vectors[5:3:-1])
        assert model.embed([]).shape == (0, 8)


def test_tokens_are_counted_and_batches_priced(tmp_path: Path) -> None:
    price = {"usd_per_million_tokens": 2.0}
    with embedder_of(tmp_path, price) as (model, server):
        assert isinstance(model, Metered)
        batches: list[Batch] = []
        memoized = MemoizedEmbedder(model, ParquetStore(str(tmp_path / "store")))
        message = memoized.reporting(lambda done, total: None, batches.append)
        message.embed(TEXTS)
        message.embed(TEXTS[::-1])  # known by now
        tokens = sum(line["tokens"] for line in server.lines("/embeddings"))
    (batch,) = batches
    assert (batch.model, batch.n_texts, batch.tokens_in) == (model.identity, 103, tokens)
    assert batch.cost_usd == pytest.approx(tokens * 2e-6)
    assert batch.latency_s > 0


def test_dimension_is_requested_once_and_missing_counts_of_tokens_estimated(
    tmp_path: Path,
) -> None:
    with embedder_of(tmp_path, {}, dimension=5, usage=False) as (model, server):
        assert model.dimension == model.dimension == 5
        assert len(server.lines()) == 1
        before = model.tokens_read
        model.embed(["a boat on the lake"])
        assert model.tokens_read - before == 18 // 4


def test_long_text_is_the_mean_of_its_windows(tmp_path: Path) -> None:
    text = " ".join(f"word{i}" for i in range(200))
    with embedder_of(tmp_path, {"max_tokens": 50}) as (model, _):
        windows = list(cut(text, 100))
        assert len(windows) > 10
        mean = sum(len(w) * np.asarray(embedding_of(w, 8)) for w in windows)
        np.testing.assert_allclose(model.embed([text])[0], unit(mean), atol=1e-6)


def test_overlong_window_is_halved(tmp_path: Path) -> None:
    texts = ["short", " ".join(["word"] * 500), "x" * 3000, "another"]
    with embedder_of(tmp_path, {"max_tokens": 2000}, max_input_tokens=100) as (model, _):
        together = model.embed(texts)
        for text, vector in zip(texts, together, strict=True):  # in any batch
            np.testing.assert_allclose(model.embed([text])[0], vector, atol=1e-6)
    with (
        embedder_of(tmp_path, {}, max_input_tokens=3) as (model, server),
        pytest.raises(EmbeddingError, match=f"'m' at {server.base_url} rejects the text 'xxx"),
    ):
        model.embed(["x" * 3000])


@pytest.mark.parametrize(
    ("status", "most", "message"),
    [
        (500, 8, "batch size {n} > maximum allowed batch size 8"),  # text-embeddings-inference
        (422, 8, "batch size {n} > maximum allowed batch size 8"),
        (400, 10, "Value error, batch size is invalid, it should not be larger than 10.: input"),
        (400, 1, "Too many inputs. The max number of inputs is 1. See fwlink/?linkid=2113195"),
        (400, 3, "too many items in one request"),  # 32, 16, 8, 4, 2
    ],
)
def test_a_limit_of_batches_is_learnt_once(
    tmp_path: Path, status: int, most: int, message: str
) -> None:
    def rejects(body: dict) -> tuple[int, dict] | None:
        n = len(body["input"])
        return (status, {"message": message.format(n=n)}) if n > most else None

    settings = {"max_concurrent": 1}
    with embedder_of(tmp_path, settings, rejects=rejects) as (model, server):
        vectors = model.embed(TEXTS)
        np.testing.assert_allclose(
            vectors, [unit(embedding_of(text, 8)) for text in TEXTS], atol=1e-6
        )
        refused = [line["status"] for line in server.lines("/embeddings") if line["status"] != 200]
        assert refused == [status] * (4 if most == 3 else 1)
        model.embed(TEXTS[::-1])
        assert sum(line["status"] != 200 for line in server.lines("/embeddings")) == len(refused)


def test_an_input_that_a_server_calls_too_large_with_status_500_is_halved(tmp_path: Path) -> None:
    def rejects(body: dict) -> tuple[int, dict] | None:
        longest = max(len(text.split()) for text in body["input"])
        message = (
            f"input ({longest} tokens) is too large to process. increase the physical batch size "
            "(current batch size: 16)"  # llama.cpp
        )
        return (500, {"error": {"message": message, "code": 500}}) if longest > 16 else None

    texts = ["short", "considerable " * 120, *TEXTS]
    with embedder_of(tmp_path, {"max_concurrent": 1}, rejects=rejects) as (model, server):
        together = model.embed(texts)
        np.testing.assert_allclose(model.embed(texts[:1])[0], together[0], atol=1e-6)
        n = len(server.lines("/embeddings"))
        model.embed(TEXTS)
        assert len(server.lines("/embeddings")) - n == 4  # batches of 32 as before


@given(st.text(), st.integers(4, 50))
def test_halving_drops_only_blank_windows(text: str, max_bytes: int) -> None:
    text = text.encode("utf-8", "replace").decode()
    windows = list(cut(text, max_bytes))
    assert "".join("".join(windows).split()) == "".join(text.split())
    assert all(0 < len(window.encode()) <= max_bytes and window.strip() for window in windows)


@pytest.mark.parametrize(
    ("fault", "message"),
    [("nan", "not finite"), ("short", "of length 7"), ("few", "sent 1 vectors for 2 texts")],
)
def test_wrong_vectors_raise_with_model_and_server(
    tmp_path: Path, fault: str, message: str
) -> None:
    with embedder_of(tmp_path, {}, first=(fault,)) as (model, server):
        with pytest.raises(EmbeddingError, match=f"model 'm' at {server.base_url} .*{message}"):
            model.embed(["a", "b"])
        assert len(server.lines()) == 1


def test_vectors_before_a_failure_are_reported(tmp_path: Path) -> None:
    """Windows go out in batches of 32, one batch after the other; the second is refused."""
    texts = [f"text {i}" for i in range(31)] + ["a long text " * 20, "another"]
    received: dict[int, np.ndarray] = {}
    settings = {"max_concurrent": 1, "max_tokens": 50}
    with embedder_of(tmp_path, settings, first=("ok", "401")) as (model, _):
        with pytest.raises(ModelUnavailableError, match="401"):
            model.embed_streaming(texts, received.__setitem__)
        assert sorted(received) == list(range(31))  # of the long one, there is a part alone
        whole = model.embed_streaming(texts, received.__setitem__)
        assert len(received) == len(texts)
        np.testing.assert_array_equal(whole, [received[i] for i in range(len(texts))])


def test_text_without_a_vector_is_an_error(tmp_path: Path) -> None:
    with embedder_of(tmp_path, {}, always_fail="poison") as (model, server):
        with pytest.raises(ModelUnavailableError, match=f"'m' at {server.base_url}: .*500"):
            model.embed(["a", "poison"])
        with pytest.raises(EmbeddingError, match="text 1 of those to embed is blank"):
            model.embed(["a", " \n"])


def test_identity_distinguishes_models_and_windows() -> None:
    def identity(**settings: Any) -> str:
        chosen = EmbeddingSettings(backend="openai_compatible", **{"model": "m"} | settings)
        return OpenAICompatibleEmbedder(chosen, Endpoint(chosen)).identity

    assert identity() == "openai_compatible-1/m/window=8000"
    assert identity(version="2", max_tokens=512) == "openai_compatible-1/m/version=2/window=512"
    assert identity(base_url="http://x/v1", api_key_env="K", max_concurrent=2) == identity()
