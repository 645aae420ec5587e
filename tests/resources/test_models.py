"""Which settings change which model, and what models cost."""

import socket
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

from gsum_assets.cli.main import main
from gsum_assets.pipeline.tables import TABLES
from gsum_assets.refresh.usage import CountingLedger, Usage
from gsum_resources.embedding import processor as arithmetic
from gsum_resources.embedding.memoized import Batch
from gsum_resources.embedding.numpy_encoder import NumpyEncoder
from gsum_resources.embedding.processor import PRECISIONS
from gsum_resources.embedding.windows import Windows
from gsum_resources.models.by_work import Models
from gsum_resources.models.models_check import CheckedModel, check_models
from gsum_resources.protocols.models import Request
from gsum_resources.settings.schema import Settings, SettingsError
from gsum_resources.state.database import CALLS, state_of
from gsum_resources.store.parquet_store import ParquetStore
from tests.servers.scripted import scripted_server

SERVED = {"backend": "openai_compatible", "model": "small"}


def models(root: Path, **settings: dict) -> Models:
    validated = Settings.model_validate(settings)
    return Models(validated, ParquetStore(str(root)), TABLES["llm_calls"])


def test_precision_changes_the_embedder_and_not_the_extractive_model(tmp_path: Path) -> None:
    exact, fast = (models(tmp_path, embedding={"precision": p}) for p in PRECISIONS)
    assert exact.identity("embedding_model") != fast.identity("embedding_model")
    assert exact.identity("language_model") == fast.identity("language_model")
    inner = [m.bare("language_model").embedder for m in (exact, fast)]
    assert inner == [exact.embedder, fast.embedder]  # no sentence is embedded twice


FLAGS = {
    "flags : avx2 fma": "float32",
    "flags : avx512f avx512_vnni": "float32",
    "flags : avx512f avx512_bf16": "bfloat16",
    "flags : avx512f amx_bf16 amx_tile": "bfloat16",
    "Features : asimd bf16": "bfloat16",
}


@pytest.fixture
def processor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], None]]:
    """A function that lets the processor have flags."""

    def have(flags: str) -> None:
        info = tmp_path / "cpuinfo"
        info.write_text(flags)
        monkeypatch.setattr(arithmetic, "_CPU_INFO", str(info))
        arithmetic.bfloat16_supported.cache_clear()

    yield have
    arithmetic.bfloat16_supported.cache_clear()


@pytest.mark.parametrize(("flags", "precision"), FLAGS.items())
def test_a_new_home_has_the_precision_of_its_processor(
    tmp_path: Path, processor: Callable[[str], None], flags: str, precision: str
) -> None:
    processor(flags)
    assert models(tmp_path / "new").bare("embedding_model").precision == precision


def test_a_home_keeps_its_precision_on_another_processor(
    tmp_path: Path, processor: Callable[[str], None]
) -> None:
    processor("flags : avx2")
    written = models(tmp_path)
    written.embedder.embed(["The hull leaked."])
    processor("flags : avx512_bf16")
    moved = models(tmp_path)
    assert moved.identity("embedding_model") == written.identity("embedding_model")
    hint = "bfloat16 is faster on this processor; precision = 'bfloat16' embeds all texts again"
    assert checked(tmp_path)["embedding"].hint == hint
    chosen = models(tmp_path, embedding={"precision": "bfloat16"})
    assert "bfloat16" in chosen.identity("embedding_model")
    assert checked(tmp_path, embedding={"precision": "bfloat16"})["embedding"].hint == ""


def test_a_question_is_embedded_in_float32_without_torch(
    tmp_path: Path, processor: Callable[[str], None]
) -> None:
    processor("flags : avx512_bf16")
    asked = Models(Settings(), ParquetStore(str(tmp_path)), TABLES["llm_calls"], quick=True)
    embedder = asked.bare("embedding_model")
    assert (embedder.runtime, embedder.precision) == ("numpy", "float32")


def test_a_question_is_embedded_once_to_search_and_to_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    embedded, encode = [], NumpyEncoder.encode

    def counted(encoder: NumpyEncoder, windows: Windows, *others: Any) -> np.ndarray:
        embedded.append(len(windows.ids))
        return encode(encoder, windows, *others)

    monkeypatch.setattr(NumpyEncoder, "encode", counted)
    store = ParquetStore(str(tmp_path))
    asked, question = Models(Settings(), store, TABLES["llm_calls"], quick=True), "Who broke it?"
    asked.embedder.embed_queries([question])
    request = Request("answer", "", question, ("Ann broke the pump.",), max_words=20)
    (reply,) = asked.bare("answers").complete([request])
    assert reply.text
    assert embedded == [1, 1]  # the question, and the sentence
    assert len(list(tmp_path.rglob("*.parquet"))) == 1  # the sentence alone is stored


def test_identity_changes_with_the_model_and_not_with_limits(tmp_path: Path) -> None:
    def identity(**changed: object) -> str:
        llm = {**SERVED, "api_key_env": "", **changed}
        return models(tmp_path, llm=llm).identity("language_model")

    assert identity() == identity(base_url="http://elsewhere/v1", max_concurrent=2, max_retries=0)
    assert len({identity(), identity(model="large"), identity(version="2")}) == 3


def test_judge_defaults_to_the_language_model(tmp_path: Path) -> None:
    same = models(tmp_path, llm={**SERVED, "api_key_env": ""})
    assert same.identity("judge_model") == same.identity("language_model")
    judge = {**SERVED, "api_key_env": "", "model": "strict"}
    apart = models(tmp_path, judge=judge)
    assert apart.identity("judge_model") == "openai_compatible-1/strict"
    assert apart.identity("language_model").startswith("extractive")


def test_passage_scorer_follows_its_settings(tmp_path: Path) -> None:
    def identity(**scorer: object) -> str:
        return models(tmp_path, scorer=scorer).identity("passage_scorer")

    local = identity(backend="transformers_local", model="some/hub-id")
    assert local == "transformers_local-1/some/hub-id"
    assert len({local, identity(), identity(mu=5.0)}) == 3


@pytest.mark.parametrize("table", ["llm", "judge", "embedding"])
def test_missing_key_raises_before_any_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, table: str
) -> None:
    monkeypatch.delenv("NO_SUCH_KEY", raising=False)
    served = models(tmp_path, **{table: {**SERVED, "api_key_env": "NO_SUCH_KEY"}})
    with pytest.raises(SettingsError, match=rf"NO_SUCH_KEY is not set.* in \[{table}\]"):
        served.check()


def test_local_models_need_no_check(tmp_path: Path) -> None:
    models(tmp_path).check()


def test_task_uses_the_language_model_unless_it_has_a_table(tmp_path: Path) -> None:
    served = {**SERVED, "api_key_env": "", "base_url": "http://here/v1"}
    own = models(tmp_path, llm=served, models={"extraction": {"backend": "extractive"}})
    assert own.identity("extraction").startswith("extractive")
    assert own.identity("reports") == own.identity("answers") == own.identity("language_model")
    assert own.bare("reports") is own.bare("language_model")
    apart = models(tmp_path, llm=served, models={"reports": {"model": "large"}})
    assert apart.identity("reports") == "openai_compatible-1/large"
    assert apart.identity("judge_model") == apart.identity("language_model")
    judged = models(tmp_path, llm=served, models={"judge": {"model": "strict"}})
    assert judged.identity("judge_model") == "openai_compatible-1/strict"


def test_tokenizer_for_cutting_affects_only_the_version(tmp_path: Path) -> None:
    plain = models(tmp_path, llm=SERVED)
    limited = models(tmp_path, llm={**SERVED, "context_tokens": 4096, "tokenizer": "server"})
    assert plain.version("answers") == plain.identity("answers") == limited.identity("answers")
    assert limited.version("answers") == f"{plain.identity('answers')}/context=4096/server"


# `gsum models` reports models that answer and models that do not.


def checked(root: Path, **settings: dict) -> dict[str, CheckedModel]:
    validated = Settings.model_validate(settings)
    models = Models(validated, ParquetStore(str(root)), TABLES["llm_calls"])
    return {one.table: one for one in check_models(models)}


def test_defaults_answer_without_a_server(tmp_path: Path) -> None:
    found = checked(tmp_path)
    assert list(found) == ["llm", "embedding", "scorer"]  # the judge is the model of [llm]
    assert not any(one.failure for one in found.values())
    assert (found["llm"].model, found["llm"].structure) == ("extractive", "rules")
    assert found["llm"].usd == ()


def test_served_model_reports_speed_structure_and_price(tmp_path: Path) -> None:
    with scripted_server(tmp_path / "log") as server:
        served = {"backend": "openai_compatible", "model": "small", "base_url": server.base_url}
        served |= {"usd_per_million_tokens_in": 0.5, "context_tokens": 4096}
        judge = {**served, "structured_output": "prompt"}
        found = checked(tmp_path, llm=served, judge=judge)
    assert not any(one.failure for one in found.values()), found
    assert found["llm"].tokens_per_s is not None
    assert (found["llm"].structure, found["judge"].structure) == ("json_schema", "prompt")
    assert (found["llm"].usd, found["llm"].context_tokens) == ((0.5, 0.0), 4096)


def test_each_failing_model_is_a_line_and_status_1(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.socket() as nobody:  # bound, but not listening
        nobody.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{nobody.getsockname()[1]}/v1"
        (tmp_path / "gsum.toml").write_text(
            f'[llm]\nbackend = "openai_compatible"\nmodel = "small"\nbase_url = "{url}"\n'
            'max_retries = 0\n[scorer]\nbackend = "transformers_local"\nmodel = "./no/such/one"\n'
        )
        monkeypatch.setenv("GSUM_HOME", str(tmp_path))
        result = CliRunner().invoke(main, ["models"])
    assert result.exit_code == 1, result.output
    rows = {line.split()[0]: line.split() for line in result.output.splitlines() if line}
    answers = ["yes" in rows[f"[{table}]"] for table in ("llm", "embedding", "scorer")]
    assert answers == [False, True, False]
    assert "Traceback" not in result.output
    failures = [line for line in result.output.splitlines() if line.startswith(("[llm]:", "[scor"))]
    assert f"the server at {url} " in failures[-2]
    assert "base_url in [llm] of gsum.toml is right" in failures[-2]
    assert "no such folder" in failures[-1]


def row(document_id: str, cached: bool = False, error: str | None = None) -> dict:
    """A row of the ledger: a call of 10 tokens in, 2 out, 0.5 dollars."""
    numbers = {"tokens_in": 10, "tokens_out": 2, "latency_s": 0.1, "calls": 1, "retries": 0}
    flags = {"structured": False, "left_out": 0, "cached": cached, "error": error}
    of = {"corpus": "tales", "asset": "a", "document_id": document_id, "model": "m"}
    cost = 0.0 if cached else 0.5
    return {**numbers, **flags, **of, "prompt_hash": "", "cost_usd": cost, "run_id": "r", "time": 1}


def test_rows_of_the_ledger_are_counted(tmp_path: Path) -> None:
    store, usage = ParquetStore(str(tmp_path)), Usage()
    ledger = CountingLedger(store, TABLES["llm_calls"], "tales", "a", "r", usage)
    ledger.enter([row("one"), row("one", cached=True), row("two", error="no reply"), row("")])
    assert usage.metadata() == {
        "llm/requests": 4,
        "llm/calls": 3,
        "llm/tokens_in": 30,
        "llm/tokens_out": 6,
        "llm/cost_usd": 1.5,
        "llm/failures": 1,
        "llm/cached_share": 0.25,
    }
    with state_of(store).reading() as connection:
        assert len(connection.execute(CALLS.select()).all()) == 4


def test_a_step_without_models_has_none() -> None:
    assert Usage().metadata() == {}
    batches = [Batch("m", 3, 40, 0.1, 0.25), Batch("m", 2, 10, 0.1, 0.25)]
    shown = Usage(batches=batches).metadata()
    assert shown == {"embedding/texts": 5, "embedding/tokens_in": 50, "embedding/cost_usd": 0.5}
