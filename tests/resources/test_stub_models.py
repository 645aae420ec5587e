"""Understudies of served models, and the copy of a home that they play in."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from gsum_assets.evaluation.generate_questions import Personas
from gsum_assets.pipeline.tables import TABLES
from gsum_resources.embedding.memoized import MemoizedEmbedder
from gsum_resources.embedding.openai_compatible import OpenAICompatibleEmbedder
from gsum_resources.llm.ledger import Ledger
from gsum_resources.llm.ledgered_model import LedgeredModel
from gsum_resources.llm.stub_model import STUB, DryRunModel, Recalled, StubModel
from gsum_resources.models.by_work import Models
from gsum_resources.models.stub_models import stub_models
from gsum_resources.protocols.models import Completion, CompletionError, Request
from gsum_resources.protocols.results import Score
from gsum_resources.scoring.prompt_logprobs import ServedScorer
from gsum_resources.settings.schema import EmbeddingSettings, LlmSettings, ScorerSettings, Settings
from gsum_resources.store.appended import read_appended
from gsum_resources.store.parquet_store import ParquetStore
from tests.models import FirstWords
from tests.servers.clients import client_of, settings_for
from tests.servers.scripted import ScriptedServer, scripted_server

SERVED = LlmSettings(backend="openai_compatible", model="m", api_key_env="")
TEXTS = [f"The {word} met the boat at the bridge, and nobody said a word. " * 4 for word in "abcde"]


@pytest.fixture
def server(tmp_path: Path) -> Iterator[ScriptedServer]:
    with scripted_server(tmp_path / "log.jsonl") as running:
        yield running


def request_of(text: str, schema: type | None = None) -> Request:
    return Request("answer", "Say it.", passages=(text,), max_words=20, schema=schema)


def test_prompt_is_counted_with_its_directions() -> None:
    """ "Say it." and "[1]\\nboat" have 7 and 8 bytes."""
    plain, structured = request_of("boat"), request_of("boat", Score)
    assert StubModel(SERVED, "m", FirstWords()).prompt_tokens(plain) == 4
    assert StubModel(SERVED, "m", FirstWords()).prompt_tokens(structured) == 4
    prompted = SERVED.model_copy(update={"structured_output": "prompt"})
    assert StubModel(prompted, "m", FirstWords()).prompt_tokens(structured) > 30


def test_schema_that_the_extractive_model_cannot_fill_still_counts() -> None:
    stub = StubModel(SERVED, "m", FirstWords(refuses="boat"))
    free, structured = stub.complete([request_of("one boat"), request_of("one boat", Score)])
    assert isinstance(free, Completion)
    assert free.text == "[1] one boat"
    assert isinstance(structured, CompletionError)
    assert (structured.tokens_in, structured.tokens_out) == (5, 26)


def test_lists_from_which_requests_follow_are_invented() -> None:
    stub = StubModel(SERVED, "m", FirstWords(refuses="boat"))
    asked = [replace(request_of(f"boat {n}", Personas), task="question") for n in range(2)]
    replies = stub.complete(asked)
    personas = [p for reply in replies for p in reply.parsed.personas]
    assert len({persona.name for persona in personas}) == 20
    assert [reply.tokens_out for reply in replies] == [26, 26]


def test_memo_gives_the_usage_of_the_real_model(tmp_path: Path) -> None:
    store = ParquetStore(str(tmp_path))
    ledger = Ledger(store, TABLES["llm_calls"], "c", "a")
    real = FirstWords("m")
    LedgeredModel(real, store, ledger).complete([request_of(text) for text in TEXTS[:2]])
    received: list[Recalled] = []
    stub = StubModel(SERVED, "m", FirstWords("writer"))
    dry_run_model = DryRunModel(stub, store, ledger, None, None, received.append)
    for _ in range(2):  # what was rehearsed is in the memo by then, and is no reply of the real one
        replies = dry_run_model.complete([request_of(text) for text in TEXTS])
        estimated = [stub.prompt_tokens(request_of(text)) for text in TEXTS]
        assert [reply.model for reply in replies] == ["m"] * 2 + [STUB] * 3
        assert received == [Recalled(1, 1, len(TEXTS[0]), n) for n in estimated[:2]]
        received.clear()
    rows = read_appended(store, TABLES["llm_calls"], "c").to_pylist()
    paid = [row for row in rows if not row["cached"] and row["model"] == STUB]
    assert sorted(row["tokens_in"] for row in paid) == sorted(estimated[2:])


def test_permanent_failures_are_not_planned_again(tmp_path: Path) -> None:
    class Greedy(FirstWords):
        failure_scope = "repairs=2"

        def complete(self, requests, on_reply=None):
            return [CompletionError("no", "m", repeats=True) for _ in requests]

    store = ParquetStore(str(tmp_path))
    ledger = Ledger(store, TABLES["llm_calls"], "c", "a")
    LedgeredModel(Greedy("m"), store, ledger).complete([request_of(TEXTS[0])])
    for scope, n_requests in [("repairs=3", 1), ("repairs=2", 0)]:
        ledger = Ledger(store, TABLES["llm_calls"], scope, "a")
        stub = StubModel(SERVED, "m", FirstWords("writer", refuses="the"), scope)
        model = DryRunModel(stub, store, ledger, None, None, lambda one: None)
        model.complete([request_of(TEXTS[0])])
        rows = read_appended(store, TABLES["llm_calls"], scope).to_pylist()
        assert [row["cached"] for row in rows] == [not n_requests]


def test_embedder_stub_matches_the_memo(server: ScriptedServer, tmp_path: Path) -> None:
    settings = settings_for(server.base_url, EmbeddingSettings, usd_per_million_tokens=1.0)
    store = ParquetStore(str(tmp_path / "warehouse"))
    with client_of(settings, OpenAICompatibleEmbedder) as real:
        MemoizedEmbedder(real, store).embed(TEXTS[:1])
    models = Models(Settings(embedding=settings), store, TABLES["llm_calls"])
    stub = stub_models(models, store)
    vectors = stub.embedder.embed(TEXTS)  # one remembered, the others filled up or cut
    assert stub.identity("embedding_model") == real.identity
    assert vectors.shape == (len(TEXTS), real.dimension)
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)
    assert len(server.lines()) == 1
    played = stub.overrides["embedding_model"]
    counted = real.tokens_read * (len(TEXTS) - 1)
    assert played.tokens_read == pytest.approx(counted, rel=0.05)  # type: ignore[union-attr]


def test_scorer_stub_counts_the_same_tokens(server: ScriptedServer, tmp_path: Path) -> None:
    settings = settings_for(server.base_url, ScorerSettings)
    with client_of(settings, ServedScorer) as real:
        real.score(TEXTS[:2], [TEXTS[1:4], TEXTS[2:5]])
    models = Models(Settings(scorer=settings), ParquetStore(str(tmp_path)), TABLES["llm_calls"])
    stub = stub_models(models, models.store).overrides["passage_scorer"]
    scores = stub.score(TEXTS[:2], [TEXTS[1:4], TEXTS[2:5]])  # type: ignore[union-attr]
    assert [row.shape for row in scores] == [(3,), (3,)]
    assert stub.tokens_read == pytest.approx(  # type: ignore[union-attr]
        real.tokens_read, rel=0.05
    )
