"""What waits to be computed, on the pages of the assets, while automation is off.

Dagster marks an asset whose inputs have changed in its API alone. The check `lineage_is_current` of
each waiting asset fails here with the reason, without a run, and passes when nothing waits.
"""

import json
from collections.abc import Callable, Iterable, Mapping

import dagster as dg

from gsum_assets.automation.daemon import KEEP_CURRENT
from gsum_assets.automation.staleness import Snapshot
from gsum_assets.dagster_assets.check_assets import reported
from gsum_assets.dagster_assets.evaluate import evaluate, in_turn
from gsum_assets.pipeline.check_inputs import Subject
from gsum_assets.pipeline.finding import count
from gsum_assets.registry.checks import LINEAGE_IS_CURRENT
from gsum_resources.store.parquet_store import ParquetStore


def reasons_by_asset(snapshot: Snapshot, corpora: Iterable[str]) -> dict[dg.AssetKey, str]:
    """Return for each asset that has waiting partitions which they are, and what they wait for."""
    lines: dict[dg.AssetKey, list[str]] = {}
    for corpus in corpora:
        left = snapshot.left(corpus)
        for key, partitions in left.items():
            due = sum(snapshot.is_due(key, partition) for partition in partitions)
            before = sorted(p.to_user_string() for p in snapshot.nodes[key].parents & left.keys())
            reasons = [f"{due} out of date or missing"] if due else []
            if before:
                more = f" and {len(before) - 3} more" if len(before) > 3 else ""
                reasons.append(f"inputs that wait themselves: {', '.join(before[:3])}{more}")
            lines.setdefault(key, []).append(
                f"{corpus}: {count(len(partitions), 'partition')} not up to date "
                f"({'; '.join(reasons)}). {KEEP_CURRENT} is off: switch it on, or "
                f"`gsum run {corpus}`; `gsum plan {corpus}` estimates what this costs"
            )
    return {key: ". ".join(of_corpora) for key, of_corpora in lines.items()}


def show_waiting(
    new_snapshot: Callable[[dg.DagsterInstance], Snapshot],
    store: ParquetStore,
    subjects: Mapping[dg.AssetKey, Subject],
) -> dg.SensorDefinition:
    """Return the sensor that shows what waits while `keep_current` is switched off.

    While it is on, a tick reads one row of Dagster's database.
    """

    @dg.sensor(
        name="show_waiting",
        minimum_interval_seconds=60,
        default_status=dg.DefaultSensorStatus.RUNNING,
        description=f"While {KEEP_CURRENT} is off: fails the check lineage_is_current of each "
        "asset that is not up to date, with what it waits for.",
    )
    def show(context: dg.SensorEvaluationContext) -> dg.SensorResult | dg.SkipReason:
        before: dict[str, str] = json.loads(context.cursor or "{}")
        is_off = not _is_on(context.instance)
        if not is_off and not before:
            return dg.SkipReason(f"{KEEP_CURRENT} is on: what is due is computed")
        snapshot = new_snapshot(context.instance)
        corpora = context.instance.get_dynamic_partitions("corpora")
        lines = reasons_by_asset(snapshot, corpora) if is_off else {}
        waiting = {key.to_user_string(): line for key, line in lines.items()}
        events = [
            dg.AssetCheckEvaluation(
                key,
                LINEAGE_IS_CURRENT.name,
                passed=False,
                severity=dg.AssetCheckSeverity.WARN,
                description=line,
            )
            for key, line in lines.items()
            if before.get(key.to_user_string()) != line
        ]
        for name in sorted(before.keys() - waiting.keys()):
            key = dg.AssetKey.from_user_string(name)
            if subject := subjects.get(key):
                with in_turn(subject, store):
                    checks = [LINEAGE_IS_CURRENT]
                    (verdict,) = evaluate(subject, checks, store, snapshot.lineage, None)
                events.append(reported(key, subject.table, verdict))
        return dg.SensorResult(asset_events=events, cursor=json.dumps(waiting))

    return show


def _is_on(instance: dg.DagsterInstance) -> bool:
    """Return whether `keep_current` has not been switched off."""
    states = [s for s in instance.all_instigator_state() if s.instigator_name == KEEP_CURRENT]
    return not states or any(state.status.value != "STOPPED" for state in states)
