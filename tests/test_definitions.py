"""The definitions load fast and light, and say what everything is."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import dagster as dg
import pytest

from gsum_assets.definitions import FAMILIES
from gsum_assets.tables import TABLES, table_of
from tests.conftest import House

ROOT = Path(__file__).parents[1]
HEAVY = [
    "torch",
    "dgl",
    "transformers",
    "sentence_transformers",
    "graspologic",
    "bert_score",
    "sklearn",
    "scipy",
    "numba",
    "matplotlib",
    "openai",
    "bm25s",
    "nltk",
    "rouge_score",
]
COLUMNS = {  # read by others: design, section 7
    "queries": "query_id text document_id references relevant_document_ids split",
    "rankings": "query_id level rank item_id score",
    "contexts": "query_id rank node_id node_kind document_id score text",
    "summaries": "query_id text model calls tokens_in tokens_out latency_s",
    "scores": "query_id metric value",
    "llm_calls": "asset document_id model prompt_hash tokens_in tokens_out latency_s retries "
    "cached cost_usd",
}


def in_process(*command: str, home: Path) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "GSUM_HOME": str(home), "DAGSTER_HOME": str(home / "dagster")}
    (home / "dagster").mkdir(exist_ok=True)
    return subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )


def test_loading_imports_nothing_heavy(tmp_path: Path) -> None:
    code = (
        "import sys, json, gsum_assets.definitions;"
        f"print(json.dumps([m for m in {HEAVY!r} if m in sys.modules]))"
    )
    done = in_process(sys.executable, "-c", code, home=tmp_path)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == []


@pytest.mark.parametrize(
    "command",
    [
        ("dagster", "definitions", "validate", "-w", "workspace.yaml"),
        ("dg", "list", "defs", "--json"),
    ],
)
def test_dagster_and_dg_load_the_project(command: tuple[str, ...], tmp_path: Path) -> None:
    executable = str(Path(sys.executable).with_name(command[0]))
    done = in_process(executable, *command[1:], home=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    if command[0] == "dg":
        assert "retrieval/scores" in done.stdout


def test_every_asset_says_what_it_is(house: House) -> None:
    graph = house.pipeline().definitions.resolve_asset_graph()
    for key in graph.materializable_asset_keys:
        node = graph.get(key)
        assert table_of(key.path).name in TABLES
        assert node.description
        assert node.description.startswith("One row per "), key
        assert node.group_name != "default", key
        assert node.code_version, key
        assert isinstance(node.automation_condition, dg.AutomationCondition), key
    for key in graph.observable_asset_keys:
        assert graph.get(key).description


def test_every_column_has_a_meaning_and_a_plain_name() -> None:
    for table in TABLES.values():
        names = [column.name for column in table.columns]
        assert len(set(names)) == len(names)
        assert set(table.key) <= set(names)
        for column in table.columns:
            assert re.fullmatch(r"[a-z][a-z0-9_]*", column.name)
            assert len(column.meaning) > 5


def test_the_columns_that_others_read_are_there() -> None:
    for name, columns in COLUMNS.items():
        assert set(columns.split()) <= set(TABLES[name].schema.names), name
        assert "corpus" in TABLES[name].dimensions
    for name in ("rankings", "contexts", "summaries", "scores"):
        assert TABLES[name].dimensions == ("corpus", "method")


def test_variants_are_unique_over_all_families() -> None:
    variants = [variant for family in FAMILIES for variant in family.variants]
    assert len(set(variants)) == len(variants)
    for family in FAMILIES:
        assert set(family.default) <= set(family.variants)
