"""Blocks of heavy steps: in this process, and as an engine elsewhere would get them."""

import gc
import pickle
import signal
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from pydantic import create_model

from gsum_assets.graphs import nearest as nearest_module
from gsum_assets.graphs.nearest import nearest, nearest_by_product
from gsum_resources.embedding import memoized
from gsum_resources.embedding.memoized import Batch, MemoizedEmbedder
from gsum_resources.engine import ray_engine
from gsum_resources.engine.blocks import LOCAL, Engine, engine_of
from gsum_resources.engine.garbage import collected_rarely
from gsum_resources.engine.threads import ahead, in_threads
from gsum_resources.llm.transformers_local import SpreadModel
from gsum_resources.models.by_work import Models
from gsum_resources.protocols.models import Completion, Reply, Request
from gsum_resources.scoring.memoized import MemoizedScorer
from gsum_resources.settings.schema import EngineSettings, Settings, SettingsError
from gsum_resources.store.parquet_store import ParquetStore
from tests.models import FirstWords, HashEmbedder


class PickledEngine(Engine):
    """Computes blocks from copies, as another process would, and notes what it was given."""

    spreads = True
    threads = 2

    def __init__(self) -> None:
        self.blocks: list[Any] = []
        self.models: list[str] = []

    def map_blocks(
        self, make_function: Callable, blocks: Iterable, step: str, model: str = ""
    ) -> Iterator:
        self.models.append(model)
        function = pickle.loads(pickle.dumps(make_function))()
        for block in blocks:
            self.blocks.append(block)
            yield pickle.loads(pickle.dumps(function(pickle.loads(pickle.dumps(block)))))


class MovableEmbedder(HashEmbedder):
    def unloaded(self, threads: int | None) -> "MovableEmbedder":
        return MovableEmbedder(self.identity)

    def embed(self, texts: Sequence[str]) -> np.ndarray:
        if "?" in texts:
            raise ValueError("refused")
        return super().embed(texts)

    def embed_queries(self, texts: Sequence[str]) -> np.ndarray:
        return -self.embed(texts)


class MovableScorer:
    """Scores by the length of the texts; a candidate "?" has no score."""

    identity = "lengths"
    is_pairwise = True

    def unloaded(self, threads: int | None) -> "MovableScorer":
        return self

    def score(
        self, contexts: Sequence[str], candidates: Sequence[Sequence[str]], on_row: Any = None
    ) -> list[np.ndarray]:
        assert on_row is None
        return [
            np.array([np.nan if text == "?" else len(context) / len(text) for text in row])
            for context, row in zip(contexts, candidates, strict=True)
        ]


class MovableModel(FirstWords):
    """Answers with first words; a reply has the requested structure."""

    structure, failure_scope, window = "rules", "none", None

    def unloaded(self, threads: int | None) -> "MovableModel":
        return MovableModel(self.identity)

    def _one(self, request: Request) -> Reply:
        reply = super()._one(request)
        assert isinstance(reply, Completion)
        parsed = request.schema(word=reply.text) if request.schema else None
        text = parsed.model_dump_json() if parsed else reply.text
        return Completion(text, "m", 1, 1, 0.0, parsed)


@pytest.fixture
def store(tmp_path: Path) -> ParquetStore:
    return ParquetStore(str(tmp_path))


def test_local_blocks_are_computed_when_their_turn_comes() -> None:
    made, seen = [], []

    def make() -> Callable[[int], int]:
        made.append("function")
        return lambda block: seen.append(block) or block * block

    results = LOCAL.map_blocks(make, range(3), "squares")
    assert next(results) == 0
    assert (made, seen) == (["function"], [0])
    assert list(results) == [1, 4]
    assert (LOCAL.spreads, LOCAL.threads) == (False, None)


@pytest.mark.parametrize("run", [in_threads, ahead])
def test_results_of_threads_are_in_the_order_of_the_blocks(run) -> None:
    for n in (0, 1, 5):
        assert list(run(lambda i: i * i, range(n))) == [i * i for i in range(n)]


def test_only_missing_texts_are_embedded_elsewhere(
    store: ParquetStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(memoized, "_BATCH", 2)
    engine, embedder, seen = PickledEngine(), MovableEmbedder(), []
    MemoizedEmbedder(embedder, store).embed(["b"])
    batches: list[Batch] = []
    spread = MemoizedEmbedder(embedder, store, engine)
    spread = spread.reporting(lambda *counts: seen.append(counts), batches.append)
    texts = ["a", "b", "c", "d", "a"]
    np.testing.assert_array_equal(spread.embed(texts), HashEmbedder().embed(texts))
    assert engine.blocks == [("passage", ["a", "c"]), ("passage", ["d"])]
    assert embedder.n_embedded == 1
    assert seen == [(0, 3), (2, 3), (3, 3)]
    assert [(batch.n_texts, batch.model) for batch in batches] == [(2, "hash"), (1, "hash")]
    spread.embed(texts)
    np.testing.assert_array_equal(spread.embed_queries(["b"]), -HashEmbedder().embed(["b"]))
    assert engine.blocks[2:] == [("query", ["b"])]  # nothing is computed twice
    assert engine.models == ["hash"] * len(engine.models)


def test_vectors_before_a_failure_are_kept(
    store: ParquetStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(memoized, "_BATCH", 1)
    engine = PickledEngine()
    spread = MemoizedEmbedder(MovableEmbedder(), store, engine)
    with pytest.raises(ValueError, match="refused"):
        spread.embed(["a", "?"])
    assert "a" in [text for _, texts in engine.blocks for text in texts]
    engine.blocks.clear()
    spread.embed(["a"])
    assert engine.blocks == []


def test_an_embedder_that_cannot_move_stays_here(store: ParquetStore) -> None:
    engine, embedder = PickledEngine(), HashEmbedder()
    MemoizedEmbedder(embedder, store, engine).embed(["a"])
    assert (engine.models, embedder.n_embedded) == ([], 1)


def test_only_missing_pairs_are_scored_elsewhere(store: ParquetStore) -> None:
    engine = PickledEngine()
    scorer = MemoizedScorer(MovableScorer(), store, engine)
    contexts = [f"context {i}" for i in range(10)]
    candidates = [["ab", "c", "?"][: 1 + i % 3] for i in range(10)]
    scores = scorer.score(contexts, candidates)
    expected = MovableScorer().score(contexts, candidates)
    assert all(map(partial(np.array_equal, equal_nan=True), scores, expected))
    assert [len(block[0]) for block in engine.blocks] == [8, 2]  # four for each thread
    assert scorer.n_scored == 16
    engine.blocks.clear()
    scorer.score(contexts, candidates)
    assert engine.blocks == [(contexts[2::3], [["?"]] * 3)]


def test_replies_from_elsewhere_have_the_class_of_the_request() -> None:
    schema = create_model("Word", word=(str, ...))
    requests = [
        Request("answer", "", "q", (f"word{i} two",), max_words=1, schema=schema if i % 2 else None)
        for i in range(5)
    ]
    engine, received = ByReference(), []
    model = SpreadModel(MovableModel(), engine)  # type: ignore[arg-type]
    replies = model.complete(requests, lambda index, reply: received.append((index, reply)))
    texts = [f'{{"word":"word{i}"}}' if i % 2 else f"word{i}" for i in range(5)]
    assert [reply.text for reply in replies] == texts
    assert replies[1].parsed == schema(word="word1")  # type: ignore[union-attr]
    assert replies[0].parsed is None  # type: ignore[union-attr]
    assert received == list(enumerate(replies))
    assert [len(block) for block in engine.blocks] == [2, 2, 1]
    assert (model.identity, model.failure_scope) == ("first-words", "none")


class ByReference(PickledEngine):
    """Does not copy: a class made in a test cannot be pickled by reference."""

    def map_blocks(
        self, make_function: Callable, blocks: Iterable, step: str, model: str = ""
    ) -> Iterator:
        function = make_function()
        for block in blocks:
            self.blocks.append(block)
            yield function(block)


def test_neighbours_do_not_depend_on_the_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    from scipy.sparse import csr_matrix

    monkeypatch.setattr(nearest_module, "_CELLS_AT_ONCE", 512)
    vectors = np.random.default_rng(1).normal(size=(64, 8)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    starts, engine, done = np.arange(0, 65, 4), PickledEngine(), []
    found = nearest(vectors, starts, 3, lambda n, of: done.append((n, of)), engine)
    for theirs, ours in zip(found, nearest(vectors, starts, 3), strict=True):
        assert all(map(np.array_equal, theirs, ours))
    assert len(engine.blocks) == 8
    assert done == [(n, 64) for n in range(8, 65, 8)]
    sparse = csr_matrix(np.where(vectors > 0.3, vectors, 0))
    pairs = zip(nearest_by_product(sparse, 3, engine), nearest_by_product(sparse, 3), strict=True)
    assert all(np.array_equal(theirs, ours) for theirs, ours in pairs)
    assert len(engine.blocks) == 16


# --- settings -------------------------------------------------------------------------------------


def test_one_question_is_answered_in_this_process(store: ParquetStore) -> None:
    settings = Settings(engine=EngineSettings(kind="ray"))
    models = partial(Models, settings, store, None)
    assert models(quick=True).engine is LOCAL
    assert models().engine.spreads
    assert models().engine is models().engine
    assert engine_of(EngineSettings()) is LOCAL


def test_resources_are_a_list_of_names_and_amounts() -> None:
    text = "a100=1, fast_disk = 0.5,"
    settings = EngineSettings(kind="ray", resources=text, num_gpus=0.5)
    needs = {"CPU": 1, "GPU": 0.5, "a100": 1, "fast_disk": 0.5}
    assert ray_engine._needs(settings) == needs
    assert ray_engine._room({"CPU": 9, "GPU": 2, "a100": 3, "fast_disk": 4}, needs) == 3
    nodes = [
        {"Alive": True, "Resources": {**needs, "a100": 0.0}},
        {"Alive": False, "Resources": needs},
    ]
    assert not ray_engine._has_room(nodes, needs)
    assert ray_engine._has_room([*nodes, {"Alive": True, "Resources": needs}], needs)
    for wrong in ("a100", "a100=many", "=1"):
        with pytest.raises(ValueError, match="a list such as 'a100=1"):
            EngineSettings(resources=wrong)


def ray_that(init: Callable[..., object]) -> SimpleNamespace:
    """Return what stands for the package `ray`, not connected yet."""
    return SimpleNamespace(is_initialized=lambda: False, init=init)


def test_a_missing_package_or_address_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def init(address: str, **_: Any) -> None:
        raise ConnectionError(f"nobody at {address}\nmore")

    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    settings = EngineSettings(kind="ray")
    monkeypatch.setattr(ray_engine, "_ray", _missing)
    with pytest.raises(SettingsError, match=r"pip install 'gsum\[ray\]'"):
        list(engine_of(settings).map_blocks(lambda: abs, [1], "step"))
    monkeypatch.setattr(ray_engine, "_ray", lambda: ray_that(init))
    with pytest.raises(SettingsError, match=r"without an address.*RAY_ADDRESS"):
        ray_engine.connected(settings)
    monkeypatch.setenv("RAY_ADDRESS", "10.0.0.9:6379")
    with pytest.raises(SettingsError, match=r"no Ray cluster answers at '10.0.0.9:6379' \(Conn"):
        ray_engine.connected(settings)


def test_the_handler_of_sigterm_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    ray = ray_that(lambda *_, **__: signal.signal(signal.SIGTERM, signal.SIG_IGN))
    before = signal.getsignal(signal.SIGTERM)
    monkeypatch.setattr(ray_engine, "_ray", lambda: ray)
    assert ray_engine.connected(EngineSettings(kind="ray", address="auto")) is ray
    assert signal.getsignal(signal.SIGTERM) == before


def _missing() -> None:
    raise ImportError("ray")


def test_older_objects_are_left_out_only_meanwhile() -> None:
    before = gc.get_threshold(), gc.get_freeze_count()
    try:
        with collected_rarely():
            assert gc.get_freeze_count() > 10_000
            assert gc.get_threshold()[1:] == before[0][1:]
            raise KeyError
    except KeyError:
        pass
    assert (gc.get_threshold(), gc.get_freeze_count()) == (before[0], 0)
