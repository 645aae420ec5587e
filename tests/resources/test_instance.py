"""The shipped `dagster.yaml`: accepted by Dagster, copied when missing, never overwritten."""

import logging
from pathlib import Path
from typing import Any

import dagster as dg
import pytest
import yaml

from gsum_resources.dagster_io.instance import (
    CONFIG_FILE,
    InstanceError,
    held_open,
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
        one_a_corpus = {"applyLimitPerUniqueValue": True}
        assert limit == {"key": "dagster/partition", "value": one_a_corpus, "limit": 1}


def test_file_of_the_operator_is_kept(house: House) -> None:
    folder = prepare(house.home)
    (folder / CONFIG_FILE).write_text("telemetry: {enabled: false}\n")
    with open_instance(house.home) as instance:
        assert not instance.run_retries_enabled


def test_the_log_of_held_files_stays_until_the_end(house: House) -> None:
    with open_instance(house.home) as instance:
        storage: Any = instance.event_log_storage
        log = Path(f"{storage.path_for_shard('index')}-wal")
        with held_open(instance, "some-run"):
            instance.add_dynamic_partitions("corpora", ["tales"])
            assert log.exists()
        assert not log.exists()
        instance.add_dynamic_partitions("corpora", ["stories"])
        assert not log.exists()
        assert instance.get_dynamic_partitions("corpora") == ["tales", "stories"]


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
    job = house.pipeline().definitions.resolve_job_def("upkeep")
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
