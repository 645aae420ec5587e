"""The definitions: light to load, complete in what they say, and accepted by Dagster's tools."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import dagster as dg
import networkx as nx
import pytest

from gsum_assets.answering.workspace import open_workspace
from gsum_assets.dagster_assets.partitions import corpora
from gsum_assets.dagster_assets.sources import external_assets
from gsum_assets.definitions import definitions_of, defs
from gsum_assets.pipeline.tables import TABLES
from gsum_assets.registry.declared import STEPS
from gsum_assets.registry.families import FAMILIES, METHODS
from gsum_resources.settings.home import Home

ROOT = Path(__file__).parents[1]
HEAVY = {
    "torch",
    "dgl",
    "transformers",
    "graspologic",
    "bert_score",
    "sklearn",
    "matplotlib",
    "pandas",
    "openai",
    "sentence_transformers",
}
ASIDE = ("gsum_assets.corpus.importers", "gsum_assets.graphrag.views", "gsum_assets.report")
"""What only a command needs."""
graph = defs.resolve_asset_graph()
MADE = sorted(graph.materializable_asset_keys)


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    (tmp_path / "dagster").mkdir()
    home = {"GSUM_HOME": str(tmp_path), "DAGSTER_HOME": str(tmp_path / "dagster")}
    return {**os.environ, **home, "VIRTUAL_ENV": sys.prefix}


def said(environment: dict[str, str], *command: str) -> str:
    """Return the standard output of a command."""
    result = subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=120
    )
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout


def tool(name: str) -> str:
    return str(Path(sys.executable).with_name(name))


def test_loading_imports_nothing_heavy_and_writes_nothing(environment: dict[str, str]) -> None:
    load = "import sys, gsum_assets.cli.main, gsum_assets.cli.terminal, gsum_assets.definitions"
    modules = said(environment, sys.executable, "-c", f"{load}; print(*sys.modules)").split()
    loaded = {name.split(".")[0] for name in modules}
    assert "dagster" in loaded
    assert loaded & HEAVY == set()
    assert [name for name in modules if name.startswith(ASIDE)] == []
    home = Path(environment["GSUM_HOME"])
    assert sorted(home.rglob("*")) == [home / "dagster"]


def test_temporary_instance_of_dagster_dev_is_refused(environment: dict[str, str]) -> None:
    """As a code server of `dagster dev` loads the definitions, with and without `DAGSTER_HOME`."""
    served = environment | {"DAGSTER_IS_DEV_CLI": "1"}
    load = (sys.executable, "-c", "from gsum_assets.definitions import defs")
    said(served, *load)
    refused = subprocess.run(
        load,
        cwd=ROOT,
        env=served | {"DAGSTER_HOME": ""},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert refused.returncode
    home = Path(environment["GSUM_HOME"])
    *_, message = refused.stderr.strip().splitlines()
    assert "type `gsum ui`" in message
    assert f"DAGSTER_HOME={home / 'dagster'} dagster dev -w workspace.yaml" in message
    assert sorted(home.rglob("*")) == [home / "dagster"]


def test_every_asset_has_one_partition_a_corpus() -> None:
    for key in MADE:
        node = graph.get(key)
        assert node.partitions_def == corpora, key
        assert node.group_name not in (None, "default"), key
        assert node.code_version or key.path[0].startswith("source_"), key
        assert (node.description or "").startswith("One row per "), key


def test_families_are_chosen_with_what_they_need_and_nothing_else(tmp_path: Path) -> None:
    """Every asset that another one depends on is defined, whatever is chosen."""
    workspace = open_workspace(Home(tmp_path, str(tmp_path / "warehouse")))
    n_assets = {}
    for family in FAMILIES:
        few = definitions_of(workspace, families=[family.name]).resolve_asset_graph()
        defined = {*few.materializable_asset_keys, *(spec.key for spec in external_assets)}
        assert few.get_all_asset_keys() == defined
        assert dg.AssetKey([family.name, "scores"]) in defined
        assert dg.AssetKey("leaderboard") in defined
        n_assets[family.name] = len(defined)
    assert max(n_assets.values()) < len(MADE) / 2


@pytest.mark.parametrize("method", METHODS.known)
def test_steps_of_other_families_are_needed_with_all_that_they_depend_on(method: str) -> None:
    """`linear-rag` reads the names of `graphrag`, which are read from its mentions."""
    family = METHODS.family_of(method).name
    writer_of = {asset: declared for declared in STEPS for asset in declared.assets}
    for declared in STEPS:
        if declared.is_needed([method]) and not declared.step.aggregates_methods:
            for writer in filter(None, map(writer_of.get, declared.read_assets)):
                if writer.group != family:
                    assert writer.is_needed([method]), f"{declared.name} reads {writer.name}"


def test_facts_of_a_step_name_its_tables() -> None:
    for declared in STEPS:
        step = declared.step
        assert {*step.checks} <= set(step.writes), declared.name
        named = {*step.untracked, *step.dictionaries}
        assert named <= {*declared.reads, *declared.by_index}, declared.name


def test_a_step_does_not_wait_for_optional_inputs() -> None:
    waiting = {
        (declared.name, name)
        for declared in STEPS
        for name in declared.step.optional
        if dg.AssetKey(declared.path(name))
        in graph.get(dg.AssetKey(declared.path(declared.step.table))).parent_keys
    }
    assert not waiting
    assert any(declared.step.optional for declared in STEPS)


def test_index_of_each_family_is_one_node() -> None:
    """Of the graph's arrows into a family's question half, one comes from its index."""
    for family in FAMILIES:
        index = dg.AssetKey([family.name, "index"])
        read = [
            name
            for name in family.read_by_questions
            if "method" not in family.table(name).dimensions
        ]
        tables = {dg.AssetKey(family.path(name)) for name in read}
        assert graph.get(index).parent_keys == tables
        for key in (dg.AssetKey([family.name, name]) for name in ("rankings", "contexts")):
            parents = graph.get(key).parent_keys
            assert index in parents
            assert not parents & tables


def test_groups_are_drawn_from_left_to_right() -> None:
    """A cycle of groups puts the last one of them first in the lineage."""
    groups = {key: graph.get(key).group_name for key in graph.get_all_asset_keys()}
    edges = {(groups[p], group) for k, group in groups.items() for p in graph.get(k).parent_keys}
    drawn = nx.DiGraph((source, target) for source, target in edges if source != target)
    assert nx.is_directed_acyclic_graph(drawn)
    assert nx.ancestors(drawn, "evaluation") == drawn.nodes - {"evaluation"}


@pytest.mark.parametrize("table", TABLES.values(), ids=lambda table: table.name)
def test_every_column_has_a_name_and_a_meaning(table) -> None:
    names = [column.name for column in table.columns]
    for part in (*table.name.split("."), *names):
        assert re.fullmatch(r"[a-z][a-z0-9]*(_[a-z0-9]+)*", part), part
    assert all(column.meaning.strip() for column in table.columns)
    assert len(set(names)) == len(names)
    assert set(table.key) <= set(names)
    assert not set(table.dimensions) & set(names)
    assert table.dimensions in (("corpus",), ("corpus", "bucket"), ("corpus", "method"))
    assert table.row
    assert not table.row.endswith(".")


@pytest.mark.slow
def test_dagster_tools_accept_the_definitions(environment: dict[str, str]) -> None:
    assert "loaded successfully" in said(environment, tool("dg"), "check", "defs")
    listed = json.loads(said(environment, tool("dg"), "list", "defs", "--json"))
    names = {asset["asset_key"] for asset in listed["assets"]}
    assert {key.to_user_string() for key in graph.get_all_asset_keys()} <= names
    named = {
        kind: {one["name"] for one in listed[kind]} for kind in ("sensors", "schedules", "jobs")
    }
    assert named == {
        "sensors": {"watch_corpora"},
        "schedules": {"nightly", "weekly_training", "hourly_upkeep"},
        "jobs": {"index", "retrain", "forget", "upkeep"},
    }
