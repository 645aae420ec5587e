"""Jobs that an operator can start by name, and the times of unattended work."""

from collections.abc import Iterator
from pathlib import Path

import dagster as dg
import pytest

from gsum_assets.dagster_assets.jobs import RETRAIN, UPKEEP
from gsum_assets.dagster_assets.partitions import GSUM
from gsum_assets.dagster_assets.run_resource import INDEX_JOB
from tests.conftest import CORPUS, House
from tests.pipeline.daemon import execute, scheduled
from tests.pipeline.homes import GOOD, due

pytestmark = pytest.mark.usefixtures("only_tables")


@pytest.fixture
def instance(tmp_path: Path) -> Iterator[dg.DagsterInstance]:
    """On disk, as schedules need it, with the corpus as a partition."""
    (tmp_path / "instance").mkdir()
    with dg.DagsterInstance.local_temp(str(tmp_path / "instance")) as opened:
        opened.add_dynamic_partitions("corpora", [CORPUS])
        yield opened


def selected(request: dg.RunRequest) -> set[str]:
    return {key.to_user_string() for key in request.asset_selection or ()}


def test_all_automation_is_on_at_the_configured_times(house: House) -> None:
    (house.home.root / "gsum.toml").write_text(
        "[automation]\nnightly = '15 3 * * *'\nretrain = '0 5 1 * *'\ntimezone = 'Europe/Berlin'\n"
    )
    repository = house.pipeline().definitions.get_repository_def()
    schedules = {s.name: s for s in repository.schedule_defs}
    lines = {name: (s.job_name, s.cron_schedule) for name, s in schedules.items()}
    assert lines == {
        "nightly": (INDEX_JOB, "15 3 * * *"),
        "weekly_training": (RETRAIN, "0 5 1 * *"),
        "hourly_upkeep": (UPKEEP, "50 * * * *"),
    }
    assert schedules["nightly"].execution_timezone == "Europe/Berlin"
    all_on = {s.default_status.value for s in (*schedules.values(), *repository.sensor_defs)}
    assert all_on == {"RUNNING"}
    assert [sensor.name for sensor in repository.sensor_defs] == ["watch_corpora"]


def test_every_readable_corpus_is_indexed_at_night(
    house: House, instance: dg.DagsterInstance
) -> None:
    (request,) = scheduled(house.pipeline(), instance, "nightly")
    assert request.partition_key == CORPUS
    assert "retrieval/scores" in selected(request)
    (house.folder / "corpus.toml").write_text("methods = ['bm52']")
    assert not scheduled(house.pipeline(), instance, "nightly")


def test_networks_of_kept_methods_alone_are_trained_weekly(
    house: House, instance: dg.DagsterInstance
) -> None:
    (house.folder / "corpus.toml").write_text("methods = ['bm25']")
    assert not scheduled(house.pipeline(), instance, "weekly_training")
    (house.folder / "corpus.toml").write_text("methods = ['bm25', 'gor']")
    (request,) = scheduled(house.pipeline(), instance, "weekly_training")
    assert selected(request) >= {"gor/model", "gor/rankings", "leaderboard"}
    assert not any(name.startswith(("evidence/", "retrieval/")) for name in selected(request))
    assert request.run_config == {"resources": {GSUM: {"config": {"retrain": ["all"]}}}}


def test_scheduled_run_writes_what_an_edit_has_made_stale_and_upkeep_succeeds(
    changeable: House, instance: dg.DagsterInstance
) -> None:
    assert not scheduled(changeable.pipeline(), instance, "nightly")  # all is up to date
    changeable.write_document(GOOD, "A heron met the lamp. " * 30)
    (request,) = scheduled(changeable.pipeline(), instance, "nightly")
    assert execute(changeable.pipeline(), instance, request).success
    assert due(changeable) == []
    assert execute(changeable.pipeline(), instance, dg.RunRequest(job_name=UPKEEP)).success
