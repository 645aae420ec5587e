"""A refresh beside a daemon: the daemon computes, and the refresh follows its runs.

The daemon evaluates the conditions and executes runs in this process, whenever the refresh pauses.
"""

import itertools
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import dagster as dg
import pytest
import sqlalchemy as sa

from gsum_assets.automation.processes import CORPUS as CORPUS_TAG
from gsum_assets.automation.processes import FENCE, end_runs_of_this_process
from gsum_assets.definitions import Pipeline
from gsum_assets.runner import follow, loop
from gsum_assets.runner.report import RefreshError, RunReport
from gsum_assets.runner.run import refresh
from gsum_resources.state.database import LEASES, state_of
from gsum_resources.state.leases import Leases
from tests.conftest import CORPUS, House, materialized_by
from tests.growing.daemon import Daemon
from tests.models import FirstWords
from tests.pipeline.daemon import beat, reindex, requested, serve
from tests.pipeline.homes import GOOD
from tests.pipeline.pooled_run import pooled

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("only_tables")]
MOST_PAUSES = 60  # against hanging: no refresh here needs more


@pytest.fixture
def instance(changeable: House) -> Iterator[dg.DagsterInstance]:
    with changeable.instance() as opened:
        yield opened


@dataclass
class Beside:
    """A refresh beside a daemon, and what it reported.

    Attributes
    ----------
    pauses : what happens in each pause, the last one again and again.
    """

    pipeline: Pipeline
    instance: dg.DagsterInstance
    pauses: list[Callable[[], object]]
    steps: list[str] = field(default_factory=list)
    waits: list[str] = field(default_factory=list)
    owners: list[bool] = field(default_factory=list)

    def refresh(self, methods: list[str] | None = None) -> RunReport:
        with pytest.MonkeyPatch.context() as patch:
            happens = itertools.chain(self.pauses, itertools.repeat(self.pauses[-1], MOST_PAUSES))
            patch.setattr(follow, "_pause", lambda: next(happens)())
            return refresh(
                self.pipeline,
                self.instance,
                CORPUS,
                methods,
                on_step=lambda asset, *_: self.steps.append(asset),
                on_wait=self.waits.append,
                on_daemon=self.owners.append,
            )


def beside_daemon(house: House, instance: dg.DagsterInstance) -> Beside:
    """A daemon that evaluates the conditions in each pause."""
    pipeline, daemon = house.pipeline(), Daemon()
    serve(instance)

    def evaluate() -> None:
        daemon.evaluate(pipeline, instance)
        serve(instance, time.time())

    return Beside(pipeline, instance, [evaluate])


@pytest.fixture
def beside(changeable: House, instance: dg.DagsterInstance) -> Beside:
    return beside_daemon(changeable, instance)


def edit(house: House) -> None:
    house.write_document(GOOD, "A heron met the lamp. " * 30)


def computed_here(instance: dg.DagsterInstance) -> list[dg.DagsterRun]:
    """Return the runs of this refresh's process that write tables."""
    runs = instance.get_runs(dg.RunsFilter(tags={"gsum/try_again": CORPUS}))
    observed = {run.run_id for run in runs}
    return [r for r in instance.get_runs() if FENCE in r.tags and r.run_id not in observed]


def test_daemon_computes_named_methods_first_and_continues_with_the_others(
    changeable: House, beside: Beside
) -> None:
    before = len(computed_here(beside.instance))
    beside.pipeline.requests.add(CORPUS, ["tfidf"])
    report = beside.refresh(["random"])
    assert report.is_complete
    assert {p.method for result in report.results for p in result.partitions} == {None, "random"}
    assert "leaderboard[]" in materialized_by(report)
    assert "retrieval/rankings" in beside.steps
    assert (report.others, report.n_others) == (["tfidf"], 5)
    assert set(changeable.table("leaderboard")["method"].to_pylist()) == {"bm25", "random"}
    assert {p.method for _, p in requested(beside.pipeline, beside.instance)} == {"tfidf"}
    assert beside.owners == [True]
    assert len(computed_here(beside.instance)) == before


def test_all_that_was_requested_is_followed_if_none_is_named(
    changeable: House, beside: Beside
) -> None:
    edit(changeable)
    report = beside.refresh()
    assert report.is_complete
    assert {"documents[00]", "retrieval/scores[bm25]", "leaderboard[]"} <= {
        *materialized_by(report)
    }
    assert beside.refresh().results == []


def test_failure_in_the_daemon_is_reported_and_retried_by_the_next_refresh(
    changeable: House, instance: dg.DagsterInstance
) -> None:
    changeable.model = FirstWords("changed", refuses="boat")
    report = beside_daemon(changeable, instance).refresh()
    (error,) = report.errors
    assert error.startswith("retrieval/summaries: ")
    assert report.missing["retrieval/summaries"] == 1
    assert requested(changeable.pipeline(), instance) == set()
    changeable.model.refuses = None
    assert beside_daemon(changeable, instance).refresh().is_complete


def test_failure_that_a_later_run_makes_good_is_none(
    changeable: House, instance: dg.DagsterInstance
) -> None:
    changeable.model = FirstWords("changed", refuses="boat")
    beside = beside_daemon(changeable, instance)
    (evaluate,) = beside.pauses
    failed = []

    def fail_and_repair() -> None:
        evaluate()
        failed.append(
            instance.get_runs_count(dg.RunsFilter(statuses=[dg.DagsterRunStatus.FAILURE]))
        )
        changeable.model.refuses = None
        reindex(beside.pipeline, instance)
        evaluate()

    beside.pauses = [fail_and_repair, evaluate]
    report = beside.refresh()
    assert failed == [1]
    assert report.is_complete
    assert "retrieval/summaries[bm25]" in materialized_by(report)


def test_assets_that_cannot_be_materialized_are_named(
    changeable: House, instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loop, "due", lambda *_: [])
    edit(changeable)
    report = refresh(changeable.pipeline(), instance, CORPUS)
    assert report.results == []
    assert not report.is_complete
    assert report.missing["documents"] == 1
    assert report.missing["retrieval/scores"] == 1  # of bm25: no other method was requested


def test_refresh_computes_itself_once_the_daemon_has_stopped(
    changeable: House, beside: Beside
) -> None:
    edit(changeable)
    evaluate = beside.pauses[0]
    beside.pauses = [evaluate, lambda: beat(beside.instance, seconds_ago=600)]
    report = beside.refresh()
    assert beside.owners == [True, False]
    assert report.is_complete
    assert len(materialized_by(report)) == len(set(materialized_by(report)))
    assert computed_here(beside.instance)


def test_daemon_whose_sensor_is_switched_off_owns_nothing(
    changeable: House, beside: Beside
) -> None:
    serve(beside.instance, is_switched_off=True)
    edit(changeable)
    assert beside.refresh().is_complete
    assert beside.owners == []


def test_daemon_that_requests_nothing_of_what_is_due_is_named(
    changeable: House, beside: Beside, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(follow, "_IDLE_S", 0.0)
    edit(changeable)
    beside.pauses = [lambda: serve(beside.instance, time.time())]
    with pytest.raises(RefreshError, match=r"requests nothing.*corpus 'tales'.*`gsum ui` again"):
        beside.refresh()
    assert Leases(changeable.store).living() == []


def test_daemon_that_does_not_evaluate_is_named(
    changeable: House, beside: Beside, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(follow, "HEARTBEAT_S", -60.0)
    edit(changeable)
    beside.pauses = [lambda: None]
    with pytest.raises(RefreshError, match="does not evaluate the sensor keep_current"):
        beside.refresh()


def test_gsum_run_that_began_before_the_daemon_is_waited_for(
    changeable: House, beside: Beside
) -> None:
    leases, evaluate = Leases(changeable.store), beside.pauses[0]
    lease = leases.take(CORPUS)
    on_another_host(changeable)
    edit(changeable)
    beside.pauses = [*[evaluate] * 5, lambda: leases.release(lease), evaluate]
    assert beside.refresh().is_complete
    assert beside.waits[0] == "another gsum run of it, on elsewhere"


def on_another_host(house: House) -> None:
    """Let all leases be those of another host."""
    with state_of(house.store).writing() as connection:
        connection.execute(sa.update(LEASES).values(host="elsewhere"))


def test_daemon_requests_nothing_while_another_process_computes(
    changeable: House, instance: dg.DagsterInstance
) -> None:
    pipeline = changeable.pipeline()
    pipeline.requests.add(CORPUS, ["tfidf"])
    leases = Leases(pipeline.store)
    lease = leases.take(CORPUS)
    on_another_host(changeable)
    assert requested(pipeline, instance) == set()
    leases.release(lease)
    assert requested(pipeline, instance) != set()


def test_methods_requested_by_others_follow_without_a_daemon(
    changeable: House, instance: dg.DagsterInstance
) -> None:
    pipeline = changeable.pipeline()
    pipeline.requests.add(CORPUS, ["tfidf"])
    report = refresh(pipeline, instance, CORPUS, ["random"])
    methods = [p.method for result in report.results for p in result.partitions if p.method]
    assert methods == ["random", "tfidf"]
    assert materialized_by(report).count("leaderboard[]") == 1
    assert (report.is_complete, report.n_others) == (True, 0)


def test_interrupted_process_ends_its_runs(changeable: House, instance: dg.DagsterInstance) -> None:
    job = pooled(None).resolve_implicit_global_asset_job_def()
    leases, started = Leases(changeable.store), dg.DagsterRunStatus.STARTED
    mine = {FENCE: str(leases.take(CORPUS).fence)}
    own = instance.create_run_for_job(job, status=started, tags=mine)
    other = instance.create_run_for_job(job, status=started, tags={CORPUS_TAG: CORPUS})
    end_runs_of_this_process(instance, leases)
    found = {run.run_id: run for run in instance.get_runs(limit=2)}
    assert found[own.run_id].status == dg.DagsterRunStatus.CANCELED
    assert found[other.run_id].status == started
    assert leases.living() == []
