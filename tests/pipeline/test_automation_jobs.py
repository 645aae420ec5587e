"""What an operator can start by name, and when unattended work begins."""

import dagster as dg

from tests.conftest import House


def test_jobs_are_named_and_say_what_they_do(house: House) -> None:
    definitions = house.pipeline().definitions
    named = [job for job in definitions.resolve_all_job_defs() if not job.name.startswith("__")]
    assert {job.name for job in named} == {
        "look_for_changes",
        "reindex_everything",
        "check_everything",
    }
    assert all(job.description for job in named)


def test_everything_unattended_is_on_and_at_the_time_of_the_settings(house: House) -> None:
    (house.home.root / "gsum.toml").write_text(
        "[automation]\nnightly = '15 3 * * *'\ntimezone = 'Europe/Berlin'\n"
    )
    definitions = house.pipeline().definitions
    schedules = {s.name: s for s in definitions.schedules or ()}
    nightly = schedules.pop("reindex_nightly")
    assert isinstance(nightly, dg.ScheduleDefinition)
    assert (nightly.cron_schedule, nightly.execution_timezone) == ("15 3 * * *", "Europe/Berlin")
    assert nightly.job_name == "reindex_everything"
    assert list(schedules) == ["look_for_changes_hourly"]
    running = {s.default_status.value for s in [nightly, *schedules.values()]}  # type: ignore[union-attr]
    running |= {s.default_status.value for s in definitions.sensors or ()}
    assert running == {"RUNNING"}
    names = {s.name for s in definitions.sensors or ()}
    assert names == {"keep_current", "watch_corpora", "confirm_results"}
