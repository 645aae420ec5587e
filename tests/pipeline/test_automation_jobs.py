"""Jobs that an operator can start by name, and the times of unattended work."""

from datetime import UTC, datetime

import dagster as dg

from gsum_assets.tables import TABLES
from gsum_resources.parquet_store import Partition, Provenance
from tests.conftest import CORPUS, House


def test_jobs_are_named_and_described(house: House) -> None:
    definitions = house.pipeline().definitions
    named = [job for job in definitions.resolve_all_job_defs() if not job.name.startswith("__")]
    assert {job.name for job in named} == {
        "observe_sources",
        "reindex_everything",
        "check_everything",
        "retrain_models",
        "retrain_corpus_models",
    }
    assert all(job.description for job in named)


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
    for name in ("retrain_weekly", "retrain_corpora_weekly"):
        retrain = schedules[name]
        assert isinstance(retrain, dg.ScheduleDefinition)
        assert (retrain.cron_schedule, retrain.execution_timezone) == ("0 5 1 * *", "Europe/Berlin")
    assert set(schedules) == {
        "observe_sources_hourly",
        "retrain_weekly",
        "retrain_corpora_weekly",
    }
    running = {s.default_status.value for s in [nightly, *schedules.values()]}  # type: ignore[union-attr]
    running |= {s.default_status.value for s in definitions.sensors or ()}
    assert running == {"RUNNING"}
    names = {s.name for s in definitions.sensors or ()}
    assert names == {"keep_current", "watch_corpora", "confirm_results"}


def test_every_existing_model_is_retrained_in_its_own_run(house: House) -> None:
    provenance = Provenance(content_hash="", code_version="1", asset="gor/model")
    for method in ("gor", "gor-gcn"):
        rows = TABLES["gor.model"].empty()
        house.store.write(TABLES["gor.model"], Partition(CORPUS, method=method), rows, provenance)
    rows = TABLES["gae.model"].empty()
    house.store.write(TABLES["gae.model"], Partition(CORPUS), rows, provenance)
    with dg.instance_for_test() as instance:
        instance.add_dynamic_partitions("corpora", [CORPUS])
        due = datetime(2026, 1, 4, 4, tzinfo=UTC)
        repository = house.pipeline().definitions.get_repository_def()
        with dg.build_schedule_context(
            instance, scheduled_execution_time=due, repository_def=repository
        ) as context:
            requests, of_corpora = (
                repository.get_schedule_def(name).evaluate_tick(context).run_requests or ()
                for name in ("retrain_weekly", "retrain_corpora_weekly")
            )
    assert [r.partition_key for r in requests] == [f"{CORPUS}|gor", f"{CORPUS}|gor-gcn"]
    assert len({r.run_key for r in requests}) == 2
    ((request,)) = of_corpora
    assert request.partition_key == CORPUS
    trained = [dg.AssetKey(["gae", name]) for name in ("model", "training_log")]
    assert request.asset_selection == trained  # of methods that have a model of this corpus
