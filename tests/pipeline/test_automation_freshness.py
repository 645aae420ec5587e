"""Unchanged results are confirmed as fresh; results that could not be updated become stale."""

import asyncio
import time

import dagster as dg
import pytest
from dagster._core.definitions import freshness_evaluator
from dagster._core.definitions.freshness import FreshnessState
from dagster._core.definitions.freshness_evaluator import TimeWindowFreshnessPolicyEvaluator
from dagster._core.loader import LoadingContextForTest

from gsum_assets.automation import freshness
from gsum_assets.automation.freshness import confirmations
from gsum_assets.definitions import FAMILIES
from gsum_assets.runner.execute import observe_sources
from tests.conftest import CORPUS, House, document_in
from tests.models import FirstWords
from tests.pipeline.daemon import requested

RESULTS = {"leaderboard", "retrieval/scores"}  # of the only requested family
SCORES = dg.AssetKey(["retrieval", "scores"])
HOUR = 3600.0


@pytest.fixture(autouse=True)
def recently_observed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Time passes in the argument `now`, and not for the observations of sources."""
    monkeypatch.setattr(freshness, "_OBSERVED_S", 100 * HOUR)


def confirmed(house: House, instance: dg.DagsterInstance, hours: float) -> set[str]:
    """The assets confirmed when that much time has passed."""
    snapshot = house.pipeline().new_snapshot(instance)
    found = confirmations(instance, snapshot, time.time() + hours * HOUR)
    return {event.asset_key.to_user_string() for event in found}


def judged(house: House, instance: dg.DagsterInstance, hours: float) -> FreshnessState:
    """Return the finding of the freshness daemon after that much time."""
    node = house.pipeline().definitions.resolve_asset_graph().get(SCORES)
    evaluator, context = TimeWindowFreshnessPolicyEvaluator(), LoadingContextForTest(instance)
    with pytest.MonkeyPatch.context() as patch:
        later = time.time() + hours * HOUR
        patch.setattr(freshness_evaluator, "get_current_timestamp", lambda: later)
        return asyncio.run(evaluator.evaluate_freshness(context, node))


def test_only_results_can_be_stale(current: House) -> None:
    graph = current.pipeline().definitions.resolve_asset_graph()
    stale = {
        k.to_user_string() for k in graph.get_all_asset_keys() if graph.get(k).freshness_policy
    }
    assert stale == {"leaderboard", *(f"{family.name}/scores" for family in FAMILIES)}
    assert stale > RESULTS


def test_unobserved_result_becomes_stale(current: House) -> None:
    with current.instance() as instance:
        assert judged(current, instance, hours=25) == FreshnessState.PASS
        assert judged(current, instance, hours=27) == FreshnessState.WARN
        assert judged(current, instance, hours=37) == FreshnessState.FAIL


def test_old_result_is_confirmed_and_nothing_else_changes(changeable: House) -> None:
    pipeline = changeable.pipeline()
    with changeable.instance() as instance:
        assert confirmed(changeable, instance, hours=11) == set()
        assert confirmed(changeable, instance, hours=13) == RESULTS
        before = instance.get_latest_materialization_event(SCORES)
        runs = instance.get_runs_count()
        snapshot = pipeline.new_snapshot(instance)
        for event in confirmations(instance, snapshot, time.time() + 13 * HOUR):
            instance.report_runless_asset_event(event)
        after = instance.get_latest_materialization_event(SCORES)
        assert before and before.asset_materialization  # noqa: PT018
        assert after and after.asset_materialization  # noqa: PT018
        assert after.timestamp > before.timestamp
        assert after.asset_materialization.partition == before.asset_materialization.partition
        assert after.asset_materialization.tags == before.asset_materialization.tags
        metadata = dict(after.asset_materialization.metadata)
        assert metadata.pop("confirmed")
        assert metadata == before.asset_materialization.metadata
        assert instance.get_runs_count() == runs
        assert requested(pipeline, instance) == set()


def test_confirmation_needs_a_recent_observation(
    changeable: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(freshness, "_OBSERVED_S", 3 * HOUR)
    with changeable.instance() as instance:
        assert confirmed(changeable, instance, hours=13) == set()


def test_due_assets_are_not_confirmed(changeable: House) -> None:
    changeable.write_document(document_in(0), "A lighthouse. " * 20)
    with changeable.instance() as instance:
        observe_sources(changeable.pipeline(), instance, CORPUS, {})
        assert confirmed(changeable, instance, hours=13) == set()


def test_failed_updates_are_not_confirmed(changeable: House) -> None:
    changeable.model = FirstWords("sour", refuses="boat")
    assert changeable.run().errors
    with changeable.instance() as instance:
        assert confirmed(changeable, instance, hours=13) == set()
