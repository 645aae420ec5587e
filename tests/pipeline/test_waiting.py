"""What waits is on the pages of the assets while `keep_current` is switched off."""

import dagster as dg
import pytest

from gsum_assets.automation import waiting
from gsum_assets.definitions import Pipeline
from gsum_assets.registry.checks import LINEAGE_IS_CURRENT
from gsum_assets.runner.execute import observe_sources
from gsum_assets.runner.run import refresh
from tests.conftest import CORPUS, House, document_in


class Sensor:
    """Evaluates the sensor and records its events, as the daemon does."""

    def __init__(self, pipeline: Pipeline, instance: dg.DagsterInstance) -> None:
        self.pipeline, self.instance = pipeline, instance
        self.cursor: str | None = None

    def tick(self) -> dict[str, dg.AssetCheckEvaluation]:
        """Return the reported evaluations by asset."""
        context = dg.build_sensor_context(
            instance=self.instance, cursor=self.cursor, definitions=self.pipeline.definitions
        )
        result = self.pipeline.definitions.resolve_sensor_def("show_waiting")(context)
        if isinstance(result, dg.SkipReason):
            return {}
        assert isinstance(result, dg.SensorResult)
        self.cursor = result.cursor
        events = [e for e in result.asset_events or () if isinstance(e, dg.AssetCheckEvaluation)]
        for event in events:
            self.instance.report_runless_asset_event(event)
        return {event.asset_key.to_user_string(): event for event in events}

    def shown(self, asset: str) -> str:
        """Return the status of the check that the page of an asset shows."""
        key = dg.AssetCheckKey(dg.AssetKey.from_user_string(asset), LINEAGE_IS_CURRENT.name)
        storage = self.instance.event_log_storage
        return storage.get_latest_asset_check_execution_by_key([key])[key].status.value


@pytest.mark.slow
def test_waiting_assets_fail_their_check_until_they_are_current(
    changeable: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    house, pipeline = changeable, changeable.pipeline()
    with house.instance() as instance:
        assert not refresh(pipeline, instance, CORPUS).errors
        sensor, is_on = Sensor(pipeline, instance), True
        monkeypatch.setattr(waiting, "_is_on", lambda _: is_on)
        (house.folder / f"{document_in(1)}.txt").write_text("The boat met another lamp.")
        observe_sources(pipeline, instance, CORPUS, {})
        assert sensor.tick() == {}  # `keep_current` computes it
        is_on = False
        reported = sensor.tick()
        assert {"documents", "chunks", "leaderboard"} <= reported.keys()
        assert not any(event.passed for event in reported.values())
        assert "1 out of date or missing" in (reported["documents"].description or "")
        of_board = reported["leaderboard"].description or ""
        assert f"{CORPUS}: 1 partition not up to date" in of_board
        assert f"gsum plan {CORPUS}" in of_board
        assert sensor.shown("leaderboard") == "FAILED"
        assert sensor.tick() == {}  # it is reported once
        assert not refresh(pipeline, instance, CORPUS).errors
        cleared = sensor.tick()
        assert cleared.keys() == reported.keys()
        assert all(event.passed for event in cleared.values())
        assert sensor.shown("leaderboard") == "SUCCEEDED"
        assert sensor.tick() == {}
