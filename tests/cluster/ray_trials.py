"""What `test_ray.py` tries on Ray, each in a process of a network namespace with loopback alone.

Ray listens on all interfaces. Run as `python -m tests.cluster.ray_trials TRIAL FOLDER`, under
`unshare --net`; what was found is written to `FOLDER/TRIAL.json`.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.resources import files
from pathlib import Path
from typing import Any

import dagster as dg
import numpy as np
import pytest

from gsum_assets.graphs import nearest as nearest_module
from gsum_assets.graphs.nearest import nearest
from gsum_assets.pipeline.tables import TABLES
from gsum_resources.dagster_io.instance import CONFIG_FILE, prepare
from gsum_resources.embedding import memoized
from gsum_resources.embedding.embedder import LocalEmbedder
from gsum_resources.embedding.memoized import MemoizedEmbedder
from gsum_resources.engine import ray_engine
from gsum_resources.engine.blocks import Engine, engine_of
from gsum_resources.scoring.causal_scorer import CausalScorer
from gsum_resources.scoring.memoized import MemoizedScorer
from gsum_resources.settings.home import Home
from gsum_resources.settings.schema import EngineSettings, ScorerSettings
from gsum_resources.store.parquet_store import ParquetStore
from tests.cluster.hosts import PATIENCE_S, eventually
from tests.cluster.servers import postgres_server
from tests.conftest import CORPUS, House
from tests.pipeline.stalling_run import stalled
from tests.scoring.tiny_models import write_model

BATCH = 2  # texts of a block
STEP = "summaries"  # where `stalling_definitions` stalls
TEXTS = [f"{first} {second} {third}" for first in "abcd" for second in "efg" for third in "hij"]


_RAY_ON_A_BUSY_MACHINE = {
    "RAY_worker_niceness": "0",  # with Ray's own, 15, workers starve
    "RAY_health_check_timeout_ms": "300000",
    "RAY_gcs_server_request_timeout_seconds": "300",
    "RAY_gcs_rpc_server_connect_timeout_s": "300",
    "RAY_worker_register_timeout_seconds": "600",
    "RAY_DASHBOARD_STARTUP_TIMEOUT_S": "600",
}
"""Ray's settings under which a slow process does not count as a lost one."""


NOT_STARTED = 75
"""Exit status of a trial whose Ray nodes did not start: it can be repeated."""


def _waiting(get_node: Callable[..., Any]) -> Callable[..., Any]:
    """Let Ray wait for a node that it starts for two minutes; by itself it waits for 30 s."""

    def get(*arguments: Any) -> Any:
        deadline = time.monotonic() + 120
        while True:
            try:
                return get_node(*arguments)
            except RuntimeError:  # the node is not registered yet
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.2)

    return get


@contextmanager
def ray_nodes(n_nodes: int = 2, **head: Any) -> Iterator[Any]:
    """Start Ray nodes of one processor each on this machine, and stop them.

    Exits with `NOT_STARTED` if a node does not start: where Ray's agent of a node takes longer than
    Ray's own limit, which has no setting, the node ends itself.
    """
    folder = tempfile.mkdtemp(prefix="ray", dir="/tmp")  # paths of sockets must be short
    os.environ.update(RAY_TMPDIR=folder, **_RAY_ON_A_BUSY_MACHINE)
    import ray
    from ray._private import services
    from ray.cluster_utils import Cluster

    services.get_node = _waiting(services.get_node)

    head = {"num_cpus": 1, "include_dashboard": False, **head}
    try:
        cluster = Cluster(initialize_head=True, head_node_args=head)
        for _ in range(n_nodes - 1):
            cluster.add_node(num_cpus=1)
        cluster.wait_for_nodes(timeout=PATIENCE_S)
    except Exception:
        traceback.print_exc()
        sys.exit(NOT_STARTED)
    try:
        yield cluster
    finally:
        ray.shutdown()
        cluster.shutdown()
        shutil.rmtree(folder, ignore_errors=True)


def engine_at(cluster: Any, **settings: Any) -> Engine:
    """Return the engine of a cluster."""
    return engine_of(EngineSettings(kind="ray", address=cluster.address, **settings))


# --- trials ---------------------------------------------------------------------------------------


def equal(folder: Path) -> dict[str, Any]:
    """Compute the same on two nodes and in this process."""
    memoized._BATCH = BATCH
    nearest_module._CELLS_AT_ONCE = 4096
    embedder: Any = LocalEmbedder(threads=1)  # `identity` is a cached property
    settings = ScorerSettings(
        backend="transformers_local", model=str(write_model(folder / "causal"))
    )
    scorer = CausalScorer(settings, threads=1)
    rows = [TEXTS[i : i + 3] for i in range(len(TEXTS))]
    vectors = np.random.default_rng(0).normal(size=(300, 16)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    starts = np.arange(0, 301, 3)
    with ray_nodes() as cluster:
        engine = engine_at(cluster)
        store = ParquetStore(str(folder / "store"))
        spread = MemoizedEmbedder(embedder, store, engine)
        first, again = spread.embed(TEXTS[:20]), spread.embed(TEXTS)
        scores = MemoizedScorer(scorer, store, engine)
        found = {
            "passages": np.array_equal(again, embedder.embed(TEXTS)),
            "again": np.array_equal(again[:20], first),
            "queries": np.array_equal(spread.embed_queries(TEXTS), embedder.embed_queries(TEXTS)),
            "scores": all(
                map(np.array_equal, scores.score(TEXTS, rows), scorer.score(TEXTS, rows))
            ),
            "neighbours": all(
                np.array_equal(theirs, ours)
                for pair in zip(
                    nearest(vectors, starts, 5, engine=engine),
                    nearest(vectors, starts, 5),
                    strict=True,
                )
                for theirs, ours in zip(*pair, strict=True)
            ),
            "processes": len(set(engine.map_blocks(_slow_pid, range(8), "pids"))),
        }
    return found


def lost_actor(_: Path) -> dict[str, Any]:
    """Lose the process of a block once, and then with every attempt; fail by oneself."""
    with ray_nodes() as cluster:
        engine = engine_at(cluster, start_timeout_s=600)
        marks = tempfile.mkdtemp()
        return {
            "once": list(engine.map_blocks(lambda: _ends_once(marks), range(6), "step")),
            "always": _message(engine, lambda: _ends, "chunk_embeddings"),
            "own": _message(engine, lambda: _refuses, "step"),
            "after": list(engine.map_blocks(lambda: abs, [-1, -2], "step")),
        }


def no_room(_: Path) -> dict[str, Any]:
    """Ask for what the cluster does not have, and for what another run holds."""
    ray_engine._IDLE_S = 4.0
    with ray_nodes(1) as cluster:
        holding = list(engine_at(cluster).map_blocks(lambda: abs, [-1], "first step"))
        waiting = engine_at(cluster, start_timeout_s=1)
        return {
            "held": [*holding, *waiting.map_blocks(lambda: abs, [-2], "second step")],
            "none": _message(engine_at(cluster, num_gpus=1), lambda: abs, "step"),
            "late": _message(
                engine_at(cluster, actors=2, resources="a100=1", start_timeout_s=2),
                lambda: abs,
                "texts embedded",
            ),
        }


def launched(folder: Path) -> dict[str, Any]:
    """Let a daemon run a corpus as Ray jobs, and kill the node of the run that stalls."""
    from ray.job_submission import JobSubmissionClient

    home = Home.from_environment()
    shipped = files("gsum_resources").joinpath("dagster-ray.yaml").read_text()
    config = shipped.replace("poll_interval_seconds: 15", "poll_interval_seconds: 2")
    (prepare(home) / CONFIG_FILE).write_text(config)
    with (
        ray_nodes(3, num_cpus=0, include_dashboard=True) as cluster,
        postgres_server(folder / "server") as url,
        pytest.MonkeyPatch.context() as patch,
    ):
        dashboard = f"http://{cluster.head_node.webui_url}"
        patch.setenv("PATH", f"{with_dagster(folder / 'bin')}:{os.environ['PATH']}")
        patch.setenv("RAY_API_SERVER_ADDRESS", dashboard)
        patch.setenv("DAGSTER_POSTGRES_URL", url)
        patch.setenv("GSUM_STATE_URL", url)
        patch.setenv("GSUM_AUTOMATION_INTERVAL_S", "2")
        with daemon(home) as process, House(home).instance() as instance:
            eventually(stalled(home.root, STEP).exists, process)
            started = instance.get_runs(dg.RunsFilter(statuses=[dg.DagsterRunStatus.STARTED]))
            key = dg.AssetKey(["retrieval", STEP])
            [run] = [run for run in started if key in (run.asset_selection or ())]
            jobs = JobSubmissionClient(dashboard).list_jobs()
            [node] = {
                job.driver_node_id
                for job in jobs
                if (job.metadata or {}).get("dagster/run-id") == run.run_id
            }
            [victim] = [n for n in cluster.worker_nodes if n.node_id == node]
            cluster.remove_node(victim, allow_graceful=False)
            house = House(home)
            leaderboard = TABLES["leaderboard"]
            eventually(lambda: house.store.partitions(leaderboard, CORPUS), process)
            eventually(lambda: instance.get_run_by_id(run.run_id).is_finished, process)  # type: ignore[union-attr]
            status = instance.get_run_by_id(run.run_id).status.value  # type: ignore[union-attr]
            n_resumed = instance.count_resume_run_attempts(run.run_id)
    return {"status": status, "resumed": n_resumed}


def with_dagster(folder: Path) -> Path:
    """Write the command `dagster`, which starts a run as a Ray job, for this interpreter."""
    folder.mkdir()
    command = folder / "dagster"
    command.write_text(f'#!/bin/sh\nexec {sys.executable} -m dagster "$@"\n')
    command.chmod(0o755)
    return folder


@contextmanager
def daemon(home: Home) -> Iterator[subprocess.Popen[str]]:
    """Run Dagster's daemon over `stalling_definitions`."""
    command = [sys.executable, "-m", "dagster._daemon", "run", "--module-name"]
    environment = {**os.environ, "DAGSTER_HOME": str(home.dagster)}
    with (home.root / "daemon.log").open("w") as log:
        process = subprocess.Popen(
            [*command, "tests.cluster.stalling_definitions"],
            env=environment,
            stdout=log,
            stderr=log,
            text=True,
        )
    try:
        yield process
    finally:
        process.terminate()
        process.wait()


# --- what blocks run ------------------------------------------------------------------------------


def _slow_pid() -> Callable[[int], int]:
    def pid(_: int) -> int:
        time.sleep(0.1)
        return os.getpid()

    return pid


def _ends_once(marks: str) -> Callable[[int], int]:
    def compute(block: int) -> int:
        mark = Path(marks) / str(block)
        if block == 3 and not mark.exists():
            mark.touch()
            os._exit(1)
        return block * block

    return compute


def _ends(_: int) -> None:
    os._exit(1)


def _refuses(block: int) -> None:
    raise ValueError(f"block {block} is refused")


def _message(engine: Engine, make: Callable[[], Any], step: str) -> str:
    try:
        list(engine.map_blocks(make, range(3), step))
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return "no error"


TRIALS = {trial.__name__: trial for trial in (equal, lost_actor, no_room, launched)}


def main(name: str, folder: Path) -> None:
    """Run a trial and write what it found."""
    (folder / f"{name}.json").write_text(json.dumps(TRIALS[name](folder), default=str))


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
