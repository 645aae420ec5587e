"""The shipped `dagster.yaml`: accepted by Dagster, copied when missing, never overwritten."""

from gsum_resources.instance import CONFIG_FILE, open_instance, prepare
from tests.conftest import House


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
