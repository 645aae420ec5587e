"""`gsum models` reports models that answer and models that do not."""

import socket
from pathlib import Path

import pytest
from click.testing import CliRunner

from gsum_assets.cli.main import main
from gsum_assets.pipeline.tables import TABLES
from gsum_resources.models.by_work import Models
from gsum_resources.models.models_check import CheckedModel, check_models
from gsum_resources.settings.schema import Settings
from gsum_resources.store.parquet_store import ParquetStore
from tests.servers.scripted import scripted_server


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
        judge = {**served, "structured_output": "json_object"}
        found = checked(tmp_path, llm=served, judge=judge)
    assert not any(one.failure for one in found.values()), found
    assert found["llm"].tokens_per_s is not None
    assert (found["llm"].structure, found["judge"].structure) == ("json_schema", "json_object")
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
    assert [rows[f"[{table}]"][3] for table in ("llm", "embedding", "scorer")] == [
        "no",
        "yes",
        "no",
    ]
    assert "Traceback" not in result.output
    failures = [line for line in result.output.splitlines() if line.startswith(("[llm]:", "[scor"))]
    assert f"the server at {url} " in failures[-2]
    assert "base_url in [llm] of gsum.toml is right" in failures[-2]
    assert "no such folder" in failures[-1]
