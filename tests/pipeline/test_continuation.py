"""A run that the daemon has started continues with what it made due, in the same process."""

import logging
import shutil
import time
from collections.abc import Iterator

import dagster as dg
import pytest
import sqlalchemy as sa

from gsum_assets.automation.continued import continued_executor
from gsum_assets.automation.jobs import OBSERVE_SOURCES
from gsum_assets.automation.processes import CORPUS as CORPUS_TAG
from gsum_assets.automation.processes import SENSOR, WORK
from gsum_assets.runner.continuation import proceed
from gsum_resources.dagster_io.launcher import CONTINUES
from gsum_resources.state.database import LEASES, state_of
from gsum_resources.state.leases import Leases
from tests.conftest import CORPUS, House
from tests.pipeline.daemon import QUIET, requested, serve
from tests.pipeline.homes import GOOD
from tests.pipeline.launcher import launch_by_processes

_LOG = logging.getLogger(__name__)
BY_SENSOR = {SENSOR: "watch_corpora", CORPUS_TAG: CORPUS}


@pytest.fixture
def instance(changeable: House) -> Iterator[dg.DagsterInstance]:
    with changeable.instance() as opened:
        serve(opened, time.time())
        yield opened


def observed(
    house: House, instance: dg.DagsterInstance, tags: dict[str, str] = BY_SENSOR
) -> dg.DagsterRun:
    """Edit a document, and return the run that observed it."""
    house.write_document(GOOD, "A heron met the lamp. " * 30)
    job = house.pipeline().definitions.resolve_job_def(OBSERVE_SOURCES)
    return job.execute_in_process(instance=instance, tags=tags, run_config=QUIET).dagster_run


def under_way(
    house: House, instance: dg.DagsterInstance, tags: dict[str, str] = BY_SENSOR
) -> dg.DagsterRun:
    """Return a run of the daemon that observes the corpus and the models, and has not ended."""
    job = house.pipeline().definitions.resolve_job_def(OBSERVE_SOURCES)
    started = dg.DagsterRunStatus.STARTED
    return instance.create_run_for_job(job, status=started, tags=tags)


def continuing(instance: dg.DagsterInstance, run: dg.DagsterRun) -> list[dg.DagsterRun]:
    return instance.get_runs(dg.RunsFilter(tags={CONTINUES: run.run_id}))


@pytest.mark.slow
@pytest.mark.usefixtures("only_tables")
class TestProceed:
    def test_edit_reaches_the_leaderboard_in_the_run_that_observed_it(
        self, changeable: House, instance: dg.DagsterInstance
    ) -> None:
        observed(changeable, instance)
        run = under_way(changeable, instance)
        pipeline = changeable.pipeline()
        assert ("documents", "00") in {(a, p.bucket) for a, p in requested(pipeline, instance)}
        proceed(pipeline, instance, run, _LOG)
        runs = continuing(instance, run)
        assert all(part.is_success for part in runs)
        assert {part.tags["dagster/max_retries"] for part in runs} == {"0"}
        assert {part.tags[SENSOR] for part in runs} == {"watch_corpora"}
        written = {key for part in runs for key in part.asset_selection or ()}
        assert {dg.AssetKey("documents"), dg.AssetKey("leaderboard")} <= written
        assert requested(pipeline, instance) == set()
        assert pipeline.new_snapshot(instance).left(CORPUS) == {}
        assert Leases(changeable.store).living() == []

    def test_new_corpus_reaches_the_leaderboard_in_the_run_that_observed_it(
        self, changeable: House, instance: dg.DagsterInstance
    ) -> None:
        shutil.copytree(changeable.folder, changeable.home.corpora / "new")
        settings = changeable.home.corpora / "new" / "corpus.toml"
        settings.write_text(f"methods = ['bm25']\n{settings.read_text()}")
        instance.add_dynamic_partitions("corpora", ["new"])
        tags = BY_SENSOR | {CORPUS_TAG: "new"}
        pipeline = changeable.pipeline()
        job = pipeline.definitions.resolve_job_def(OBSERVE_SOURCES)
        job.execute_in_process(instance=instance, tags=tags, run_config=QUIET)
        run = under_way(changeable, instance, tags)
        proceed(pipeline, instance, run, _LOG)
        assert pipeline.requests.of("new") == {"bm25"}
        assert changeable.table("leaderboard", "new").num_rows
        assert requested(pipeline, instance) == set()

    def test_run_that_wrote_a_table_continues_with_its_readers(
        self, changeable: House, instance: dg.DagsterInstance
    ) -> None:
        observed(changeable, instance)
        pipeline = changeable.pipeline()
        key = dg.MultiPartitionKey({"corpus": CORPUS, "bucket": "00"})
        job = pipeline.definitions.resolve_implicit_global_asset_job_def()
        run = job.execute_in_process(
            instance=instance,
            asset_selection=list(
                pipeline.definitions.resolve_asset_graph()
                .get(dg.AssetKey("documents"))
                .execution_set_asset_keys
            ),
            partition_key=key,
            tags={SENSOR: "keep_current", WORK: "make"},
            run_config=QUIET,
        ).dagster_run
        proceed(pipeline, instance, run, _LOG)
        assert requested(pipeline, instance) == set()

    @pytest.mark.parametrize(
        "tags", [{CORPUS_TAG: CORPUS}, {SENSOR: "watch_corpora"}], ids=["person", "all_corpora"]
    )
    def test_run_that_no_sensor_requested_for_a_corpus_does_not_continue(
        self, changeable: House, instance: dg.DagsterInstance, tags: dict[str, str]
    ) -> None:
        run = observed(changeable, instance, tags)
        proceed(changeable.pipeline(), instance, run, _LOG)
        assert continuing(instance, run) == []

    def test_nothing_continues_while_the_conditions_are_switched_off(
        self, changeable: House, instance: dg.DagsterInstance
    ) -> None:
        run = observed(changeable, instance)
        serve(instance, is_switched_off=True)
        proceed(changeable.pipeline(), instance, run, _LOG)
        assert continuing(instance, run) == []

    def test_nothing_continues_where_a_launcher_knows_its_own_workers_alone(
        self, changeable: House
    ) -> None:
        launch_by_processes(changeable.home)
        with changeable.instance() as instance:
            serve(instance, time.time())
            run = observed(changeable, instance)
            proceed(changeable.pipeline(), instance, run, _LOG)
            assert continuing(instance, run) == []
            assert requested(changeable.pipeline(), instance)  # the daemon starts it

    def test_corpus_that_another_process_computes_is_left_to_it(
        self, changeable: House, instance: dg.DagsterInstance
    ) -> None:
        run = observed(changeable, instance)
        Leases(changeable.store).take(CORPUS)
        with state_of(changeable.store).writing() as connection:
            connection.execute(sa.update(LEASES).values(host="elsewhere"))
        proceed(changeable.pipeline(), instance, run, _LOG)
        assert continuing(instance, run) == []

    def test_cancelled_run_begins_nothing_more(
        self, changeable: House, instance: dg.DagsterInstance
    ) -> None:
        observed(changeable, instance)
        run = under_way(changeable, instance)
        instance.report_run_canceling(run)
        with pytest.raises(KeyboardInterrupt):
            proceed(changeable.pipeline(), instance, run, _LOG)
        assert continuing(instance, run) == []
        assert Leases(changeable.store).living() == []


continued: list[str] = []


def job_with(fails: bool) -> dg.JobDefinition:
    @dg.op
    def step() -> None:
        if fails:
            raise ValueError("step")

    executor = continued_executor(lambda _, run, __: continued.append(run.job_name))

    @dg.job(executor_def=executor, name=f"fails_{fails}")
    def job() -> None:
        step()

    return job


def succeeding() -> dg.JobDefinition:
    return job_with(False)


def failing() -> dg.JobDefinition:
    return job_with(True)


def test_executor_continues_only_after_success() -> None:
    continued.clear()
    with dg.instance_for_test() as instance:
        for job in (succeeding, failing):
            dg.execute_job(
                dg.reconstructable(job), instance, run_config=QUIET, raise_on_error=False
            )
    assert continued == ["fails_False"]
