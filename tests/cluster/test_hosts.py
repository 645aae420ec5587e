"""Two hosts on one home: PostgreSQL keeps Dagster's instance and the state, a folder the tables."""

import shutil
import socket
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import dagster as dg
import pytest

from gsum_assets.processes import HOST
from tests.cluster.homes import use_database
from tests.cluster.servers import postgres_server
from tests.conftest import House
from tests.pipeline.homes import contents, house_at
from tests.pipeline.stalling_run import N_ANSWERED, kill_in, run_again
from tests.pipeline.test_kill import METHODS, furnish, logged

pytest.importorskip("dagster_postgres", reason="make test-cluster installs it")
ROOT = Path(__file__).parents[2]
OTHER = "gsum-other-host"
STEP = "summaries"
UNDER = ["unshare", "--uts", "sh", "-c", f'hostname {OTHER} && exec "$@"', "sh"]


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    may_unshare = shutil.which("unshare") and not subprocess.run([*UNDER, "true"]).returncode
    if not may_unshare:
        pytest.skip("another host name needs a namespace: run as root on Linux")
    with postgres_server(tmp_path / "server") as url, house_at(tmp_path / "home") as made:
        use_database(made, url)
        furnish(made)
        yield made


def test_run_on_another_host_is_taken_over_once_its_lease_expires(
    house: House, tmp_path: Path
) -> None:
    kill_in(house.home.root, STEP, METHODS, under=UNDER)
    with house.instance() as instance:
        (orphan,) = instance.get_runs(dg.RunsFilter(statuses=[dg.DagsterRunStatus.STARTED]))
        assert orphan.tags[HOST] == OTHER != socket.gethostname()
    run_again(STEP, METHODS)
    with house.instance() as instance:
        found = instance.get_run_by_id(orphan.run_id)
        assert found
        assert found.status == dg.DagsterRunStatus.FAILURE
    times = Counter(logged(house, "asked.log"))
    assert len(times) > N_ANSWERED
    assert set(times.values()) == {1}  # no question is answered twice
    with house_at(tmp_path / "alone") as alone:
        furnish(alone)
        assert alone.run(METHODS).errors == []
        assert contents(house) == contents(alone)


def test_runs_of_two_hosts_at_once_share_the_work(house: House) -> None:
    command = [sys.executable, "-m", "tests.pipeline.stalling_run", "nowhere", *METHODS]
    both = [subprocess.Popen([*under, *command], cwd=ROOT) for under in ([], UNDER)]
    assert [process.wait() for process in both] == [0, 0]
    with house.instance() as instance:
        runs = instance.get_runs()
    assert {run.tags[HOST] for run in runs} == {OTHER, socket.gethostname()}
    assert {run.status for run in runs} == {dg.DagsterRunStatus.SUCCESS}
    assert set(Counter(logged(house, "asked.log")).values()) == {1}
