"""`gsum reproduce`, from official files to published figures beside ours, on a scripted server."""

import json
import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from gsum_assets.cli.main import main
from gsum_assets.reproduce import preset as presets
from gsum_assets.runner import run as runner
from gsum_resources.settings.home import Home
from tests.conftest import keep_no_step_logs, tables_only
from tests.evaluation.judges.scripted_judges import verdict
from tests.reproduce.official import WRITE
from tests.servers.replies import text_for, value_for, wanted_schema
from tests.servers.scripted import ScriptedServer, scripted_server

FIVE = {
    "gor-qmsum": ["gor", "qmsum"],
    "gae-odsum-meeting": ["gae", "odsum-meeting"],
    "lightpal-odsum-story": ["lightpal", "odsum-story"],
    "jerr-quality": ["jerr", "quality"],
    "graphrag-multihop-rag": ["graphrag"],
}
MODELS = """
[embedding]
backend = "openai_compatible"
model = "scripted"
base_url = "{url}"
api_key_env = ""

[llm]
backend = "openai_compatible"
model = "scripted"
base_url = "{url}"
api_key_env = ""
usd_per_million_tokens_in = 0.5
usd_per_million_tokens_out = 1.5
"""
WITHOUT_BERTSCORE = """
base = "{name}"
[corpus.scores]
bertscore = false
"""


def says(body: dict) -> str:
    """A valid reply of any form; of two answers the first is the better one."""
    schema, digest = wanted_schema(body), str(sum(json.dumps(body["messages"]).encode()))
    if schema is None:
        return text_for(body["messages"][-1]["content"], digest)
    if "mark" in schema["properties"]:
        return verdict(body, winner=1, rating=4)
    return json.dumps(value_for(schema, digest))


def gsum(*arguments: str) -> Result:
    result = CliRunner().invoke(main, ["reproduce", *arguments])
    if result.exception and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setenv("GSUM_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("DAGSTER_HOME", raising=False)
    home = tmp_path / "home"
    home.mkdir()
    for name in FIVE:
        root = home / "reproduce" / name
        keep_no_step_logs(Home(root, str(root / "warehouse")))
        monkeypatch.setenv("DAGSTER_HOME", "")  # as it was before the line above
    monkeypatch.setattr(runner, "pipeline_for", partial(runner.pipeline_for, presented=False))
    with tables_only():
        yield home


@pytest.fixture
def server(home: Path, tmp_path: Path) -> Iterator[ScriptedServer]:
    with scripted_server(tmp_path / "requests.jsonl", says) as served:
        (home / "gsum.toml").write_text(MODELS.format(url=served.base_url))
        yield served


def official(tmp_path: Path, name: str) -> Path:
    folder = tmp_path / "official"
    folder.mkdir()
    WRITE[presets.load(name).benchmark](folder)
    return folder


@pytest.mark.slow
@pytest.mark.parametrize("name", FIVE)
def test_a_paper_is_reproduced_and_a_second_command_pays_nothing(
    home: Path, server: ScriptedServer, tmp_path: Path, name: str
) -> None:
    command = [*FIVE[name], str(official(tmp_path, name))]
    preset = presets.load(name)
    if not any("bertscore_f1" in table.metrics for table in preset.tables):
        file = tmp_path / "quick.toml"  # loading that model would take longer than the run
        file.write_text(WITHOUT_BERTSCORE.format(name=name))
        command += ["--preset", str(file)]
    done = gsum(*command, "--yes")
    assert done.exit_code == 0, done.output
    for table in preset.tables:
        assert f"{preset.paper}, {table.name}" in " ".join(done.output.split())
    assert "departures:" in done.output
    without = re.findall(r"^  (\S+@\w+): not run", done.output, re.MULTILINE)
    expected = set(preset.methods) - set(without)
    if all(table.metrics[0].startswith("win:") for table in preset.tables):
        expected.remove(preset.headline)  # has no win rate against itself
    for method in expected:
        rows = [line for line in done.output.splitlines() if f"│ {method} " in line]
        assert any(re.search(r"\d\.\d ±", row) for row in rows), (method, done.output)
    n_requests = len(server.lines("/chat/completions"))
    again = gsum(*command)
    assert again.exit_code == 0, again.output
    assert "nothing to do, all is up to date" in again.output
    assert len(server.lines("/chat/completions")) == n_requests


@pytest.mark.slow
def test_the_cost_is_planned_and_nothing_paid_without_consent(
    home: Path, server: ScriptedServer, tmp_path: Path
) -> None:
    command = [*FIVE["lightpal-odsum-story"], str(official(tmp_path, "lightpal-odsum-story"))]
    for more, status in ((["--plan"], 0), ([], 1)):
        result = CliRunner().invoke(main, ["reproduce", *command, *more], input="n\n")
        assert result.exit_code == status, result.output
        assert "requests of a run" in result.output
    assert not server.lines("/chat/completions")


@pytest.mark.slow
def test_another_embedder_has_a_home_of_its_own(home: Path, tmp_path: Path) -> None:
    (home / "gsum.toml").write_text("[budget]\ncalls = 7\n")
    folder = official(tmp_path, "gor-qmsum")
    missing = str(tmp_path / "no-model")
    result = gsum(
        *["gor", "qmsum", str(folder), "--embedder", f"dpr={missing}"],
        *["--methods", "dense@dpr,bm25,dense@dragon"],
    )
    assert result.exit_code == 1
    assert f"GSUM_HOME={home}/reproduce/gor-qmsum-dpr" in result.output
    assert "dense@dragon: not run; its model is not given: --embedder dragon=PATH" in result.output
    assert "nothing to pay: no model is on a server" in result.output
    assert missing in result.output  # why there is nothing of dense@dpr
    settings = (home / "reproduce/gor-qmsum-dpr/gsum.toml").read_text()
    assert f'model = "{missing}"' in settings
    assert "calls = 7" in settings
    assert re.search(r"BM25 +│ bm25 +│ +18.4 +│ +\d+\.\d ±", result.output)


@pytest.mark.parametrize(
    ("arguments", "fragments"),
    [
        (["gro", "qmsum", "."], ["no preset 'gro-qmsum'; did you mean 'gor-qmsum'"]),
        (["gor", "."], ["'gor' has the datasets academiceval, booksum", "name one"]),
        (["gor"], ["give METHOD, DATASET and the PATH"]),
        (["gor", "qmsum", "nowhere"], ["qmsum: nowhere does not exist; expected QMSum's jsonl"]),
        (["graphrag", "."], ["multihop-rag: .: expected a folder with corpus.json"]),
        (["gor", "qmsum", ".", "--embedder", "dpr"], ["--embedder dpr: give NAME=MODEL"]),
        (["gor", "qmsum", ".", "--embedder", "drp=x"], ["no embedder 'drp'; did you mean 'dpr'?"]),
        (["gor", "qmsum", ".", "--methods", "bm52"], ["no method 'bm52'; did you mean 'bm25'?"]),
    ],
)
def test_mistakes_are_named(home: Path, arguments: list[str], fragments: list[str]) -> None:
    result = gsum(*arguments)
    assert result.exit_code in (1, 2)
    for fragment in fragments:
        assert fragment in " ".join(result.output.split())


def test_presets_are_listed_and_shown(home: Path, tmp_path: Path) -> None:
    listed = gsum()
    for name in presets.names():
        assert f"{name} " in listed.output
    shown = gsum("gor", "wcep", "--show").output
    file = tmp_path / "own.toml"
    file.write_text(shown)
    assert presets.load("gor-wcep", file) == presets.load("gor-wcep")
