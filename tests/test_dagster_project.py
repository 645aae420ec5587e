"""gsum in a Dagster project of somebody else, which `create-dagster` makes."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import dagster as dg
import pyarrow.parquet as pq
import pytest

from gsum import GsumCorpus
from gsum_assets.pipeline.corpus_settings import CorpusError
from gsum_resources.settings.home import Home
from gsum_resources.settings.schema import SettingsError

ROOT = Path(__file__).parents[1]
BIN = Path(sys.executable).parent
MINE = """
import dagster as dg


@dg.asset
def minutes() -> int:
    return 1


@dg.asset(deps=[dg.AssetKey("leaderboard")])
def newsletter(minutes: int) -> int:
    return minutes
"""
BOARD = """
type: gsum.GsumCorpus
attributes:
  corpus: board
  families: [retrieval]
  schedule: "0 5 * * *"
  upstream: [minutes]
post_processing:
  assets:
    - attributes:
        group_name: "gsum_{{ asset.group_name }}"
        owners: ["team:minutes"]
"""
MATERIALIZE = """
import dagster as dg
from mine.definitions import defs

with dg.DagsterInstance.get() as instance:
    instance.add_dynamic_partitions("corpora", ["board"])
    mine = dict(instance=instance, asset_selection=[dg.AssetKey("minutes")])
    everything = defs().resolve_implicit_global_asset_job_def()
    assert everything.execute_in_process(**mine).success
    index = defs().resolve_job_def("index")
    assert index.execute_in_process(instance=instance, partition_key="board").success
    mine["asset_selection"] = [dg.AssetKey("newsletter")]
    assert everything.execute_in_process(**mine).success
"""


def _component(**attributes: Any) -> GsumCorpus:
    return GsumCorpus.from_attributes_dict(attributes=attributes)


def _project(folder: Path, *components: GsumCorpus) -> Any:
    """Return what a component reads of its context: the project, and all components of it."""
    tree = SimpleNamespace(get_all_components=lambda _: list(components))
    return SimpleNamespace(project_root=folder, component_tree=tree)


def test_families_are_those_of_the_methods_that_a_corpus_keeps(tmp_path: Path) -> None:
    home = Home(tmp_path, str(tmp_path / "warehouse"))
    board = home.corpora / "board"
    board.mkdir(parents=True)
    (board / "corpus.toml").write_text("methods = ['bm25', 'gor']")
    assert set(_component(corpus="board").chosen_families(home)) == {"retrieval", "gor"}
    chosen = _component(corpus="board", families=["jerr"])
    assert chosen.chosen_families(home) == ["jerr"]
    assert "retrieval" in _component(corpus="new").chosen_families(home)  # has no folder yet
    with pytest.raises(CorpusError, match="corpus 'board': no family goor; choose of retrieval"):
        _component(corpus="board", families=["goor"]).chosen_families(home)


def test_own_schedule_replaces_the_nightly_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("GSUM_HOME", raising=False)
    for name in ("board", "tales"):
        (tmp_path / "data/corpora" / name).mkdir(parents=True)
        (tmp_path / "data/corpora" / name / "a.txt").write_text("A boat met a lamp.")
    board = _component(corpus="board", families=["retrieval"], schedule="0 5 * * *")
    tales = _component(corpus="tales", families=["retrieval"])
    context = _project(tmp_path, board, tales)
    assert tales.build_defs(context) == dg.Definitions()
    definitions = board.build_defs(context)
    repository = definitions.get_repository_def()
    requested = {}
    (tmp_path / "dagster").mkdir()
    with dg.DagsterInstance.local_temp(str(tmp_path / "dagster")) as instance:
        instance.add_dynamic_partitions("corpora", ["board", "tales"])
        for schedule in repository.schedule_defs:
            if schedule.job_name == "index":
                tick = dg.build_schedule_context(instance, repository_def=repository)
                requests = schedule.evaluate_tick(tick).run_requests or []
                requested[schedule.name] = [request.partition_key for request in requests]
    assert requested == {"nightly": ["tales"], "nightly_board": ["board"]}
    assert not (tmp_path / "data/warehouse").exists()


def test_components_of_a_project_share_one_home(tmp_path: Path) -> None:
    one, other = _component(corpus="a", home="x"), _component(corpus="b", home="y")
    with pytest.raises(SettingsError, match="share one home; 'home' is x and y"):
        one.build_defs(_project(tmp_path, one, other))


def test_alert_of_the_docs_names_the_corpus_and_the_reason(
    capsys: pytest.CaptureFixture[str],
) -> None:
    page = (ROOT / "docs" / "operating.md").read_text()
    (recipe,) = re.findall(r"```python\n([^`]+run_failure_sensor[^`]+)```", page)
    namespace: dict[str, Any] = {"__name__": "alerts"}
    exec(recipe, namespace)
    sensor = namespace["night_failed"]

    @dg.asset(partitions_def=dg.StaticPartitionsDefinition(["board"]))
    def chunks() -> None:
        raise dg.Failure("no server answers at 127.0.0.1:1; start it")

    with dg.DagsterInstance.ephemeral() as instance:
        definitions = dg.Definitions([chunks], jobs=[dg.define_asset_job("index")])
        result = definitions.resolve_job_def("index").execute_in_process(
            instance=instance, partition_key="board", raise_on_error=False
        )
        context = dg.build_run_status_sensor_context(
            "night_failed",
            dagster_instance=instance,
            dagster_run=result.dagster_run,
            dagster_event=result.get_run_failure_event(),
        ).for_run_failure()
        sensor(context)
    printed = capsys.readouterr().out
    assert "index of board failed" in printed
    assert "chunks: no server answers at 127.0.0.1:1; start it" in printed


class Project:
    """A project with a corpus of gsum beside assets of its own, and commands in it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "mine"
        entry = folder / "site" / "gsum_entry-0.dist-info"  # also where gsum is not installed anew
        entry.mkdir(parents=True)
        (entry / "METADATA").write_text("Metadata-Version: 2.1\nName: gsum-entry\nVersion: 0\n")
        (entry / "entry_points.txt").write_text("[dagster_dg_cli.registry_modules]\ngsum = gsum\n")
        (folder / "dagster").mkdir()
        (folder / "dagster" / "dagster.yaml").write_text("telemetry:\n  enabled: false\n")
        paths = (ROOT, folder / "site", self.folder / "src")
        self.environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith("GSUM_")},
            "PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}",
            "PYTHONPATH": os.pathsep.join(map(str, paths)),
            "DAGSTER_HOME": str(folder / "dagster"),
            "DAGSTER_CLI_CONFIG": str(folder / "dg.toml"),
        }

    def call(self, *command: str, folder: Path | None = None) -> str:
        """Return what a command prints; it must succeed."""
        done = subprocess.run(
            [str(BIN / command[0]), *command[1:]],
            cwd=folder or self.folder,
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=3000,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def files(self) -> dict[Path, float]:
        """Return the files of the project, except compiled ones, with their times."""
        found = (path for path in self.folder.rglob("*") if path.is_file())
        return {path: path.stat().st_mtime for path in found if path.suffix != ".pyc"}


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A new project with the corpus `board`."""
    if not (BIN / "create-dagster").exists():
        pytest.skip("create-dagster is not installed: see requirements-dev.lock")
    folder = tmp_path_factory.mktemp("projects")
    project = Project(folder)
    project.call("create-dagster", "project", "mine", "--no-uv-sync", folder=folder)
    defs = project.folder / "src" / "mine" / "defs"
    project.call("dg", "scaffold", "defs", "gsum.GsumCorpus", "board")
    assert "corpus: board" in (defs / "board" / "defs.yaml").read_text()
    corpus = project.folder / "data" / "corpora" / "board"
    for file in sorted((ROOT / "data" / "corpora" / "sample-meetings").glob("0[12]*")):
        shutil.copy(file, corpus)
    question = {"query_id": "q", "text": "Who takes the minutes?", "references": ["Wren."]}
    (corpus / "queries.jsonl").write_text(json.dumps(question))
    (corpus / "corpus.toml").write_text("methods = ['bm25']\nscores.bertscore = false\n")
    (defs / "board" / "defs.yaml").write_text(BOARD)
    (defs / "mine.py").write_text(MINE)
    return project


@pytest.mark.slow
def test_definitions_of_both_load_as_one_lineage_and_write_nothing(project: Project) -> None:
    before = project.files()
    project.call("dg", "check", "defs")
    listed = json.loads(project.call("dg", "list", "defs", "--json"))
    assert project.files() == before
    assets = {asset["asset_key"]: asset for asset in listed["assets"]}
    assert assets["source_documents"]["dependency_keys"] == ["minutes"]
    assert set(assets["newsletter"]["dependency_keys"]) == {"leaderboard", "minutes"}
    assert assets["chunks"]["group_name"] == "gsum_corpus"
    assert assets["chunks"]["owners"] == [{"team": "minutes"}]
    assert {key.partition("/")[0] for key in assets if "/" in key} == {"retrieval"}
    names = {schedule["name"] for schedule in listed["schedules"]}
    assert names == {"nightly", "nightly_board", "hourly_upkeep"}


@pytest.mark.slow
def test_assets_of_both_are_materialized_by_the_project(project: Project) -> None:
    script = project.folder / "materialize.py"
    script.write_text(MATERIALIZE)
    project.call("python", str(script))
    board = project.folder / "data" / "warehouse" / "leaderboard" / "corpus=board"
    (leaderboard,) = board.rglob("*.parquet")
    assert pq.read_table(leaderboard)["method"].unique().to_pylist() == ["bm25"]
    mine = Path(project.environment["DAGSTER_HOME"])  # where its own IO manager writes
    assert all(list(mine.rglob(name)) for name in ("minutes", "newsletter"))
