"""The run launcher cancels a run in the process of another together with that."""

import dagster as dg
import pytest

from gsum_resources.dagster_io.launcher import CONTINUES, RunLauncher
from tests.conftest import House


@dg.job
def job() -> None: ...


def test_run_within_another_is_cancelled_with_it(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    signalled: list[str] = []

    def terminate(_: dg.DefaultRunLauncher, run_id: str) -> bool:
        signalled.append(run_id)
        return True

    monkeypatch.setattr(dg.DefaultRunLauncher, "terminate", terminate)
    with house.instance() as instance:
        assert isinstance(instance.run_launcher, RunLauncher)
        started = dg.DagsterRunStatus.STARTED
        outer = instance.create_run_for_job(job, status=started)
        inner = instance.create_run_for_job(job, status=started, tags={CONTINUES: outer.run_id})
        assert instance.run_launcher.terminate(inner.run_id)
        assert signalled == [outer.run_id]
        canceling = instance.get_run_by_id(inner.run_id)
        assert canceling
        assert canceling.status == dg.DagsterRunStatus.CANCELING
        assert instance.run_launcher.terminate(outer.run_id)
        assert signalled == [outer.run_id] * 2
