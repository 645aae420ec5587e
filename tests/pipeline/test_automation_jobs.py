"""Jobs that an operator can start by name, and the times of unattended work."""

from collections.abc import Sequence
from datetime import UTC, datetime

import dagster as dg
import pyarrow as pa
import pytest
from dagster._core.definitions.schedule_definition import ScheduleExecutionData

from gsum_assets.automation.due import without_readers_of
from gsum_assets.definitions import pipeline_for
from gsum_assets.pipeline.tables import TABLES
from gsum_resources.store.parquet_store import Partition, Provenance
from gsum_resources.store.table import Table
from tests.conftest import CORPUS, House


def test_jobs_are_named_and_described(house: House) -> None:
    definitions = house.pipeline().definitions
    named = [job for job in definitions.resolve_all_job_defs() if not job.name.startswith("__")]
    assert {job.name for job in named} == {
        "observe_sources",
        "reindex_everything",
        "check_everything",
        "accept_models",
        "reconcile_corpora",
        "forget_corpus",
        "withdraw_methods",
        "retrain_networks",
        "retrain_models",
        "retrain_evidence",
    }
    assert all(job.description for job in named)


@pytest.mark.parametrize("job", ["observe_sources", "reindex_everything"])
def test_observation_runs_in_the_executor_that_continues(house: House, job: str) -> None:
    definitions = house.pipeline().definitions
    assert definitions.executor is not dg.in_process_executor
    assert definitions.resolve_job_def(job).executor_def is definitions.executor
    foreign = pipeline_for(house.home, executor=None).definitions  # a component of a project
    assert foreign.resolve_job_def(job).executor_def is dg.in_process_executor


def test_all_automation_is_on_at_the_configured_times(house: House) -> None:
    (house.home.root / "gsum.toml").write_text(
        "[automation]\nnightly = '15 3 * * *'\nretrain = '0 5 1 * *'\ntimezone = 'Europe/Berlin'\n"
    )
    definitions = house.pipeline().definitions
    schedules = {s.name: s for s in definitions.schedules or ()}
    nightly = schedules.pop("reindex_nightly")
    assert isinstance(nightly, dg.ScheduleDefinition)
    assert (nightly.cron_schedule, nightly.execution_timezone) == ("15 3 * * *", "Europe/Berlin")
    assert nightly.job_name == "reindex_everything"
    retrain = schedules["retrain_weekly"]
    assert isinstance(retrain, dg.ScheduleDefinition)
    assert (retrain.cron_schedule, retrain.execution_timezone) == ("0 5 1 * *", "Europe/Berlin")
    assert schedules["retrain_evidence_weekly"].cron_schedule == "0 5 1 * *"  # type: ignore[union-attr]
    assert set(schedules) == {
        "observe_sources_hourly",
        "reconcile_corpora_hourly",
        "retrain_weekly",
        "retrain_evidence_weekly",
    }
    running = {s.default_status.value for s in [nightly, *schedules.values()]}  # type: ignore[union-attr]
    running |= {s.default_status.value for s in definitions.sensors or ()}
    assert running == {"RUNNING"}
    names = {s.name for s in definitions.sensors or ()}
    assert names == {"keep_current", "watch_corpora", "confirm_results", "show_waiting"}


def tick_of(house: House, schedule: str) -> ScheduleExecutionData:
    """Return what a tick of a schedule requests, or why it requests nothing."""
    with dg.instance_for_test() as instance:
        instance.add_dynamic_partitions("corpora", [CORPUS])
        due = datetime(2026, 1, 4, 4, tzinfo=UTC)
        repository = house.pipeline().definitions.get_repository_def()
        with dg.build_schedule_context(
            instance, scheduled_execution_time=due, repository_def=repository
        ) as context:
            return repository.get_schedule_def(schedule).evaluate_tick(context)


def requested_by(house: House, schedule: str) -> Sequence[dg.RunRequest]:
    return tick_of(house, schedule).run_requests or ()


def test_schedule_without_a_network_says_so(house: House) -> None:
    tick = tick_of(house, "retrain_weekly")
    assert tick.skip_message == "no corpus has a network of gor to train again"
    assert not tick.run_requests


@pytest.mark.parametrize(
    ("table", "schedule", "methods", "untrained"),
    [
        ("gor.model", "retrain_weekly", ["gor", "gor-gcn"], "node2vec"),
        ("evidence.model", "retrain_evidence_weekly", ["evidence-finetuned"], "evidence"),
    ],
)
def test_every_existing_model_is_retrained_in_its_own_run(
    house: House, table: str, schedule: str, methods: list[str], untrained: str
) -> None:
    rows = rows_of(TABLES[table])
    for method in (*methods, untrained):
        own = rows.slice(0, 0) if method == untrained else rows
        provenance = Provenance(content_hash="", code_version="1", asset=table.replace(".", "/"))
        house.store.write(TABLES[table], Partition(CORPUS, method=method), own, provenance)
    requests = requested_by(house, schedule)
    assert [r.partition_key for r in requests] == [f"{CORPUS}|{name}" for name in methods]
    assert len({r.run_key for r in requests}) == len(methods)


def rows_of(table: Table) -> pa.Table:
    """Return one row of empty values."""
    values = {pa.string(): "", pa.int32(): 0, pa.binary(): b""}
    row = {field.name: values.get(field.type, []) for field in table.schema}
    return pa.Table.from_pylist([row], table.schema)


# The remainder of a request after some assets are excluded.

A, B, C, D = (dg.AssetKey(name) for name in "abcd")


def asset(name: str, *deps: dg.AssetKey) -> dg.AssetsDefinition:
    return dg.asset(name=name, deps=list(deps))(lambda: None)


GRAPH = dg.Definitions([asset("a"), asset("b", A), asset("c", B), asset("d")]).resolve_asset_graph()


@pytest.mark.parametrize(
    ("left_out", "requested", "kept"),
    [
        (set(), [C, A, B, D], [A, B, C, D]),
        ({A}, [A, B, C, D], [D]),  # its descendants would have no input
        ({B}, [A, B, C, D], [A, D]),
        ({A}, [B, C], []),  # a model, which is never requested
        ({B}, [C, D], [D]),
    ],
)
def test_assets_downstream_of_an_excluded_one_are_excluded(
    left_out: set[dg.AssetKey], requested: list[dg.AssetKey], kept: list[dg.AssetKey]
) -> None:
    request = dg.RunRequest(asset_selection=requested)
    assert sorted(without_readers_of(left_out, GRAPH, request)) == kept
