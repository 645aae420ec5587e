"""gsum in a Dagster project of somebody else, which `create-dagster` makes."""

import json
import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import dagster as dg
import pyarrow.parquet as pq
import pytest

from gsum import GsumCorpus
from gsum_assets.component.gsum_corpus import _home_of, _write_corpus
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
  folder: corpora/board
  methods: [bm25]
  schedule: "{cron}"
  owners: ["team:minutes"]
  upstream: [minutes]
  settings: {{scores: {{bertscore: false}}}}
"""
MATERIALIZE = """
import dagster as dg
from mine.definitions import defs

job = defs().resolve_implicit_global_asset_job_def()
graph = defs().resolve_asset_graph()
answers = dg.AssetSelection.keys("retrieval/scores").upstream()
mine = dg.AssetSelection.keys("judgements", "leaderboard", "minutes", "newsletter")
due = (answers | mine).resolve(graph)
due &= graph.materializable_asset_keys
buckets = {f"dagster/asset_partition_range_{end}": f"{bucket}|board"
           for end, bucket in (("start", "00"), ("end", "07"))}
one = "dagster/partition"
with dg.DagsterInstance.get() as instance:
    instance.add_dynamic_partitions("corpora", ["board"])
    instance.add_dynamic_partitions("buckets", [f"{i:02d}" for i in range(8)])
    observe = defs().resolve_job_def("observe_sources")
    observe.execute_in_process(instance=instance, tags={"gsum/corpus": "board"})
    while due:  # what one run can compute, as it has partitions of one kind
        first = next(k for k in graph.toposorted_asset_keys
                     if k in due and not graph.get(k).parent_keys & due)
        definition, keys = graph.get(first).partitions_def, {first}
        for key in graph.toposorted_asset_keys:
            node = graph.get(key)
            waits = node.parent_keys & due - keys
            if key in due and node.partitions_def == definition and not waits:
                keys |= node.execution_set_asset_keys | {key}
        names = getattr(definition, "partition_dimension_names", ["corpus"] if definition else [])
        of_method = {one: "board|bm25", f"{one}/corpus": "board", f"{one}/method": "bm25"}
        tags = (buckets if "bucket" in names else of_method if "method" in names
                else {one: "board"} if names else {})
        job.get_subset(asset_selection=keys).execute_in_process(instance=instance, tags=tags)
        due -= keys
"""


def _component(**attributes: Any) -> GsumCorpus:
    return GsumCorpus.from_attributes_dict(attributes=attributes)


def _project(folder: Path, *components: GsumCorpus) -> Any:
    """Return what a component reads of its context: the project, and all components of it."""
    tree = SimpleNamespace(get_all_components=lambda _: list(components))
    return SimpleNamespace(project_root=folder, component_tree=tree, path=folder / "defs/board")


def test_a_corpus_is_a_link_and_its_settings_are_those_of_the_component(tmp_path: Path) -> None:
    folder = tmp_path / "minutes"
    folder.mkdir()
    component = _component(folder="minutes", methods=["bm25"], settings={"title": "Board"})
    home = Home.from_environment(tmp_path / "data")
    for _ in range(2):
        _write_corpus(component, "board", home, tmp_path)
    assert (home.corpora / "board").resolve() == folder
    assert tomllib.loads((folder / "corpus.toml").read_text()) == {
        "title": "Board",
        "methods": ["bm25"],
    }
    (folder / "corpus.toml").write_text("title = 'Mine'\n")
    with pytest.raises(SettingsError, match=r"corpus.toml was written by somebody else; move"):
        _write_corpus(component, "board", home, tmp_path)
    assert (folder / "corpus.toml").read_text() == "title = 'Mine'\n"


@pytest.mark.parametrize(
    ("attributes", "message"),
    [
        ({"methods": ["bm52"]}, "unknown method 'bm52'; did you mean 'bm25'"),
        ({"settings": {"titel": "x"}}, "defs.yaml: unknown key 'titel'.*did you mean 'title'"),
        ({"folder": "elsewhere"}, "is no folder; name the folder with the documents"),
    ],
)
def test_wrong_attributes_are_named(tmp_path: Path, attributes: dict, message: str) -> None:
    (tmp_path / "minutes").mkdir()
    component = _component(**{"folder": "minutes", **attributes})
    with pytest.raises(CorpusError, match=message):
        _write_corpus(component, "board", Home.from_environment(tmp_path / "data"), tmp_path)


def test_components_of_a_project_share_one_home(tmp_path: Path) -> None:
    one, other = _component(folder="a", home="x"), _component(folder="b", home="y")
    with pytest.raises(SettingsError, match="share one home; 'home' is 'x' and 'y'"):
        _home_of(one, _project(tmp_path, one, other))
    local, remote = _component(folder="a"), _component(folder="memory://bucket/corpora/b")
    with pytest.raises(SettingsError, match="must all be folders of one URL"):
        _home_of(local, _project(tmp_path, local, remote))
    assert _home_of(remote, _project(tmp_path, remote)).corpora_url == "memory://bucket/corpora"


def test_the_component_is_registered_for_dg() -> None:
    entry_points = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["entry-points"]
    assert entry_points["dagster_dg_cli.registry_modules"] == {"gsum": "gsum"}
    assert issubclass(GsumCorpus, dg.Component)


class Project:
    """A project with two corpora of gsum beside assets of its own, and commands in it."""

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


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A new project with the corpora `board` and `tales`."""
    if not (BIN / "create-dagster").exists():
        pytest.skip("create-dagster is not installed: see requirements-dev.lock")
    folder = tmp_path_factory.mktemp("projects")
    project = Project(folder)
    project.call("create-dagster", "project", "mine", "--no-uv-sync", folder=folder)
    defs = project.folder / "src" / "mine" / "defs"
    for corpus, sample in (("board", "sample-meetings"), ("tales", "sample-stories")):
        project.call("dg", "scaffold", "defs", "gsum.GsumCorpus", corpus)
        assert f"folder: corpora/{corpus}" in (defs / corpus / "defs.yaml").read_text()
        for file in sorted((ROOT / "data" / "corpora" / sample).glob("0[12]*")):
            shutil.copy(file, project.folder / "corpora" / corpus)
    question = {"query_id": "q", "text": "Who takes the minutes?", "references": ["Wren."]}
    (project.folder / "corpora" / "board" / "queries.jsonl").write_text(json.dumps(question))
    (defs / "board" / "defs.yaml").write_text(BOARD.format(cron="0 2 * * *"))
    (defs / "mine.py").write_text(MINE)
    return project


@pytest.mark.slow
def test_definitions_of_both_load_and_are_one_lineage(project: Project) -> None:
    project.call("dg", "check", "defs")
    listed = json.loads(project.call("dg", "list", "defs", "--json"))
    assets = {asset["asset_key"]: asset for asset in listed["assets"]}
    assert set(assets["documents"]["dependency_keys"]) == {"minutes", "source_documents"}
    assert set(assets["newsletter"]["dependency_keys"]) == {"leaderboard", "minutes"}
    assert assets["documents"]["owners"] == assets["leaderboard"]["owners"] == [{"team": "minutes"}]
    assert "refresh_board" in {schedule["name"] for schedule in listed["schedules"]}


@pytest.mark.slow
def test_assets_of_both_are_materialized_by_the_project(project: Project) -> None:
    script = project.folder / "materialize.py"
    script.write_text(MATERIALIZE)
    project.call("python", str(script))
    home = project.folder / "data"
    assert sorted(path.name for path in (home / "corpora").iterdir()) == ["board", "tales"]
    written = home / "warehouse" / "documents" / "corpus=board"
    assert len(list(written.rglob("*.parquet"))) == 8
    (leaderboard,) = (home / "warehouse" / "leaderboard" / "corpus=board").rglob("*.parquet")
    assert pq.read_table(leaderboard)["method"].unique().to_pylist() == ["bm25"]
    mine = Path(project.environment["DAGSTER_HOME"])  # where its own IO manager writes
    assert all(list(mine.rglob(name)) for name in ("minutes", "newsletter"))
