"""The shipped `dagster.yaml`: accepted by Dagster, copied when missing, never overwritten."""

import logging
import subprocess
import sys
from pathlib import Path

import dagster as dg
import pytest
import yaml

from gsum_assets.automation.jobs import OBSERVE_SOURCES
from gsum_resources.dagster_io import dagster_private
from gsum_resources.dagster_io.instance import (
    CONFIG_FILE,
    InstanceError,
    open_instance,
    prepare,
    refuse_temporary_instance,
    workspace_file,
)
from tests.conftest import House

ROOT = Path(__file__).parents[2]


def test_shipped_settings_reach_the_instance(house: House) -> None:
    with open_instance(house.home) as instance:
        assert instance.run_retries_enabled
        assert instance.run_retries_max_retries == 2
        assert not instance.run_retries_retry_on_asset_or_op_failure
        assert instance.run_monitoring_enabled
        pools = instance.event_log_storage.get_pool_config()
        assert pools.default_pool_limit == 1
        assert pools.pool_granularity
        assert pools.pool_granularity.value == "op"
        assert not instance.telemetry_enabled
        queue = instance.get_concurrency_config().run_queue_config
        assert queue
        assert queue.max_concurrent_runs == 4
        (limit,) = queue.tag_concurrency_limits
        assert limit == {"key": "gsum/work", "value": "make", "limit": 2}


def test_file_of_the_operator_is_kept(house: House) -> None:
    folder = prepare(house.home)
    (folder / CONFIG_FILE).write_text("telemetry: {enabled: false}\n")
    with open_instance(house.home) as instance:
        assert not instance.run_retries_enabled


def test_home_that_names_the_storage_by_its_former_module_opens(house: House) -> None:
    config = prepare(house.home) / CONFIG_FILE
    shipped = config.read_text()
    of_operator = shipped.replace("max_retries: 2", "max_retries: 5")
    storage = "gsum_resources.dagster_io.event_log"
    config.write_text(of_operator.replace(storage, "gsum_resources.event_log"))
    with open_instance(house.home) as instance:
        assert instance.run_retries_max_retries == 5
    assert config.read_text() == of_operator


def test_home_without_configuration_is_warned_of(
    house: House, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("DAGSTER_IS_DEV_CLI", "1")
    monkeypatch.setenv("DAGSTER_HOME", str(house.home.root / "other"))
    with caplog.at_level(logging.WARNING):
        refuse_temporary_instance(house.home)
        assert "type `gsum ui` once" in caplog.text
        caplog.clear()
        prepare(house.home)
        refuse_temporary_instance(house.home)
    assert not caplog.text


def test_runs_in_a_temporary_instance_are_refused(house: House, tmp_path: Path) -> None:
    """As of `dagster-webserver` without `DAGSTER_HOME`; tests may use instances in memory."""
    folder = tmp_path / ".tmp_dagster_home_x1"
    folder.mkdir()
    job = house.pipeline().definitions.resolve_job_def(OBSERVE_SOURCES)
    with dg.DagsterInstance.local_temp(str(folder)) as instance:
        with pytest.raises(dg.DagsterResourceFunctionError) as raised:
            job.execute_in_process(instance=instance)
        assert isinstance(raised.value.__cause__, InstanceError)
        assert "type `gsum ui`" in str(raised.value.__cause__)
    for instance in (dg.DagsterInstance.ephemeral(), open_instance(house.home)):
        with instance:
            assert job.execute_in_process(instance=instance).success


def test_shipped_workspace_is_that_of_the_project() -> None:
    assert workspace_file().read_text() == (ROOT / "workspace.yaml").read_text()
    (location,) = yaml.safe_load(workspace_file().read_text())["load_from"]
    assert location["python_module"]["location_name"] == "gsum"


# Private names of Dagster are imported in one module and exist in the pinned version.

REPOSITORY = Path(__file__).parents[2]


def test_only_one_module_imports_private_dagster_names() -> None:
    named = {
        str(path.relative_to(REPOSITORY))
        for package in ("gsum", "gsum_assets", "gsum_resources")
        for path in (REPOSITORY / package).rglob("*.py")
        if "dagster._" in path.read_text()
    }
    assert named == {"gsum_resources/dagster_io/dagster_private.py"}


def test_every_late_name_exists_and_definitions_load_none() -> None:
    for name in dagster_private._LOADED_LATE:
        assert getattr(dagster_private, name).__name__ == name
    code = (
        "import sys, gsum_assets.definitions\n"
        "from gsum_resources.dagster_io import dagster_private as own\n"
        "print(*(set(own._LOADED_LATE.values()) & set(sys.modules)))"
    )
    command = [sys.executable, "-c", code]
    loaded = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=True)
    assert loaded.stdout.split() == []
