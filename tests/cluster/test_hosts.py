"""Two hosts on one home: PostgreSQL keeps Dagster's instance and the state, a folder the tables."""

import socket
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import dagster as dg
import pytest

from gsum_assets.dagster_assets.partitions import COMMAND
from gsum_resources.state.locks import locked_by
from tests.cluster.homes import use_database
from tests.cluster.hosts import OTHER, UNDER, require_host_names
from tests.cluster.servers import postgres_server
from tests.conftest import CORPUS, House
from tests.pipeline.homes import contents, emptied_copy_of, house_at
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


def test_run_that_is_killed_on_another_host_is_continued_at_once(
    house: House, tmp_path: Path
) -> None:
    kill_in(house.home.root, STEP, METHODS, under=UNDER)
    with house.instance() as instance:
        (orphan,) = instance.get_runs(dg.RunsFilter(statuses=[dg.DagsterRunStatus.STARTED]))
    assert orphan.tags[COMMAND].startswith(f"{OTHER}:")
    assert socket.gethostname() != OTHER
    assert locked_by(house.store, CORPUS) == ""  # the server has noticed the end of its session
    run_again(STEP, METHODS)
    with house.instance() as instance:
        found = instance.get_run_by_id(orphan.run_id)
        assert found
        assert found.status == dg.DagsterRunStatus.FAILURE
    times = Counter(logged(house, "asked.log"))
    assert len(times) > N_ANSWERED
    assert set(times.values()) == {1}  # no question is answered twice
    with emptied_copy_of(house, tmp_path / "alone") as alone:  # with SQLite
        assert alone.run(METHODS).errors == []
        assert contents(house) == contents(alone)
