"""Two hosts on one home: PostgreSQL keeps Dagster's instance and the state, a folder the tables."""

import socket
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import dagster as dg
import pytest

from gsum_assets.automation.processes import FENCE
from gsum_resources.state.leases import Leases
from tests.cluster.homes import use_database
from tests.cluster.hosts import OTHER, ROOT, UNDER, require_host_names
from tests.cluster.servers import postgres_server
from tests.conftest import House
from tests.pipeline.homes import contents, house_at
from tests.pipeline.stalling_run import N_ANSWERED, kill_in, run_again
from tests.pipeline.test_kill import METHODS, furnish, logged

pytest.importorskip("dagster_postgres", reason="make test-cluster installs it")
STEP = "summaries"


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    require_host_names()
    with postgres_server(tmp_path / "server") as url, house_at(tmp_path / "home") as made:
        use_database(made, url)
        furnish(made)
        yield made


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The tables of a home with SQLite."""
    with house_at(tmp_path_factory.mktemp("alone")) as alone:
        furnish(alone)
        assert alone.run(METHODS).errors == []
        return contents(alone)


def test_run_on_another_host_is_taken_over_once_its_lease_expires(
    house: House, undisturbed: dict
) -> None:
    kill_in(house.home.root, STEP, METHODS, under=UNDER)
    with house.instance() as instance:
        (orphan,) = instance.get_runs(dg.RunsFilter(statuses=[dg.DagsterRunStatus.STARTED]))
    (lease,) = Leases(house.store).living()  # for the rest of a minute
    assert lease.holder.host == OTHER != socket.gethostname()
    assert orphan.tags[FENCE] == str(lease.fence)
    run_again(STEP, METHODS)
    with house.instance() as instance:
        found = instance.get_run_by_id(orphan.run_id)
        assert found
        assert found.status == dg.DagsterRunStatus.FAILURE
    times = Counter(logged(house, "asked.log"))
    assert len(times) > N_ANSWERED
    assert set(times.values()) == {1}  # no question is answered twice
    assert contents(house) == undisturbed


def test_runs_of_two_hosts_at_once_share_the_work(house: House, undisturbed: dict) -> None:
    command = [sys.executable, "-m", "tests.pipeline.stalling_run", "nowhere", *METHODS]
    both = [subprocess.Popen([*under, *command], cwd=ROOT) for under in ([], UNDER)]
    assert [process.wait() for process in both] == [0, 0]
    with house.instance() as instance:
        runs = instance.get_runs()
    assert len({run.tags[FENCE] for run in runs}) == 2
    assert {run.status for run in runs} == {dg.DagsterRunStatus.SUCCESS}
    assert set(Counter(logged(house, "asked.log")).values()) == {1}
    assert contents(house) == undisturbed


def test_of_leases_taken_at_once_each_sees_all_that_go_before_it(house: House) -> None:
    leases, ready = Leases(house.store), threading.Barrier(8)
    leases.living()  # the tables are there

    def take(_: int) -> tuple[int, list[int]]:
        ready.wait()
        lease = leases.take("tales")
        return lease.fence, [one.fence for one in leases.before(lease)]

    with ThreadPoolExecutor(8) as pool:
        taken = dict(pool.map(take, range(8)))
    assert all(before == [f for f in sorted(taken) if f < own] for own, before in taken.items())
