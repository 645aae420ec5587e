"""Blocks on two Ray nodes: results as in one process, and what becomes of lost ones."""

import json
import os
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from gsum_assets.pipeline.tables import TABLES
from gsum_resources.store.content_hash import content_hash
from tests.cluster.ray_trials import NOT_STARTED
from tests.pipeline.homes import house_at
from tests.pipeline.test_kill import furnish, logged

pytest.importorskip("ray", reason="make test-cluster installs it")
pytestmark = pytest.mark.usefixtures("only_tables")
ROOT = Path(__file__).parents[2]
ALONE = ["unshare", "--net", "sh", "-c", 'ip link set lo up && exec "$@"', "sh"]
PATIENCE_S = 1500.0  # against hanging alone: a slow machine is no failure
_MOST_STARTS = 5
METHODS = ["dense", "lightpal"]
WRITTEN = ("documents", "chunks", "chunk_embeddings", "rankings", "contexts", "summaries", "scores")


def trial(name: str, folder: Path) -> dict[str, Any]:
    """Run a trial where nothing but loopback can be reached, and return what it found."""
    may_unshare = shutil.which("unshare") and not subprocess.run([*ALONE, "true"]).returncode
    if not may_unshare:
        pytest.skip("Ray listens on all interfaces: a network namespace needs root on Linux")
    command = [sys.executable, "-m", "tests.cluster.ray_trials", name, str(folder)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    starts = (
        subprocess.run(
            [*ALONE, *command],
            cwd=ROOT,
            env=environment,
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
        )
        for _ in range(_MOST_STARTS)
    )
    run = next((run for run in starts if run.returncode != NOT_STARTED), None)
    assert run, f"Ray's nodes did not start in {_MOST_STARTS} attempts"
    assert run.returncode == 0, run.stderr[-3000:]
    return {"stderr": run.stderr, **json.loads((folder / f"{name}.json").read_text())}


def test_results_on_two_nodes_equal_those_of_one_process(tmp_path: Path) -> None:
    found = trial("equal", tmp_path)
    assert "everyone who reaches its ports can run code" in found.pop("stderr")
    assert found.pop("processes") == 2
    assert found == dict.fromkeys(found, True)
    assert len(found) == 5


def test_a_lost_block_is_computed_again_and_a_fatal_one_named(tmp_path: Path) -> None:
    found = trial("lost_actor", tmp_path)
    assert found["once"] == [0, 1, 4, 9, 16, 25]
    assert found["always"].startswith("BlockError: chunk_embeddings: block ")
    assert "was lost with its Ray actor 4 times" in found["always"]
    assert found["own"].startswith("ValueError: block ")
    assert found["after"] == [1, 2]


def test_missing_resources_are_named(tmp_path: Path) -> None:
    found = trial("no_room", tmp_path)
    assert (
        "an actor needs 1 CPU and 1 GPU, but the Ray cluster has 1 CPU and 0 GPU" in found["none"]
    )
    late = (
        "BlockError: texts embedded: block 1: no Ray actor was ready within 2 s; each needs 1 CPU"
    )
    assert found["late"].startswith(late)
    assert "0 a100" in found["late"]
    assert found["held"] == [1, 2]
    assert "second step: other runs use the Ray cluster; waits for their end" in found["stderr"]


def test_runs_are_ray_jobs_that_survive_their_node(tmp_path: Path) -> None:
    with house_at(tmp_path / "alone") as alone:
        furnish(alone)
        assert alone.run(["bm25"]).errors == []
        expected = {name: alone.table(name) for name in WRITTEN}
    with house_at(tmp_path / "ray") as house:
        furnish(house)
        settings = house.folder / "corpus.toml"
        settings.write_text(f'methods = ["bm25"]\n{settings.read_text()}')
        found = trial("launched", house.home.root)
        assert (found["status"], found["resumed"]) == ("SUCCESS", 1)
        for name, table in expected.items():
            keys = [(key, "ascending") for key in (*TABLES[name].dimensions, *TABLES[name].key)]
            both = [rows.sort_by(keys).combine_chunks() for rows in (house.table(name), table)]
            assert len({content_hash(rows, TABLES[name].ignored_by_hash) for rows in both}) == 1, (
                name
            )
        assert set(Counter(logged(house, "asked.log")).values()) == {1}
