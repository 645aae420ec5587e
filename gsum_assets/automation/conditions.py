"""The automation condition, shared by the daemon and the command line.

A due partition is requested when nothing that it depends on is due or in progress. Dagster's
`eager()` decides by events since a cursor, which a killed run or a second process leaves wrong;
this condition reads the warehouse and is stateless.
"""

from collections.abc import Callable, Collection
from typing import Any

import dagster as dg

from gsum_assets.automation.daemon import KEEP_CURRENT
from gsum_assets.automation.processes import WORK
from gsum_assets.automation.staleness import Snapshot, given_snapshot
from gsum_assets.dagster_assets.model_assets import model_assets
from gsum_resources.dagster_io.warehouse_io import partition_of
from gsum_resources.store.parquet_store import Partition

_MODELS = dg.AssetSelection.assets(*(asset.key for asset in model_assets))


class Staleness:
    """Provides one `Snapshot` for each evaluation of all assets.

    Parameters
    ----------
    new_snapshot : returns a new snapshot of the warehouse and of an instance's run log.
    """

    def __init__(self, new_snapshot: Callable[[dg.DagsterInstance], Snapshot]) -> None:
        self._new_snapshot = new_snapshot
        self._snapshot: tuple[object, Snapshot] | None = None

    def snapshot(self, view: Any) -> Snapshot:
        """Return the snapshot for `view`, the asset graph view of one evaluation."""
        if given := given_snapshot():
            return given
        if self._snapshot is None or self._snapshot[0] is not view:
            self._snapshot = (view, self._new_snapshot(view.instance))
        return self._snapshot[1]


class StoreCondition(dg.AutomationCondition):
    """A condition that is evaluated from the warehouse for each partition."""

    def __init__(
        self,
        staleness: Staleness,
        label: str,
        meaning: str,
        holds: Callable[[Snapshot, dg.AssetKey, Partition], bool],
    ) -> None:
        self._staleness = staleness
        self._label = label
        self._meaning = meaning
        self._holds = holds

    @property
    def name(self) -> str:
        """Shown in the UI's evaluation tree."""
        return self._label

    @property
    def description(self) -> str:
        """Shown in the UI's evaluation tree."""
        return self._meaning

    @property
    def requires_cursor(self) -> bool:
        """False: the condition is stateless."""
        return False

    def evaluate(self, context: dg.AutomationContext) -> dg.AutomationResult:  # type: ignore[override]
        """Return the candidates for which the condition holds; none of an observed asset."""
        view, key = context.asset_graph_view, context.key
        snapshot = self._staleness.snapshot(view)
        definition = context.partitions_def
        if key not in snapshot.nodes or definition is None or context.candidate_subset.is_empty:
            return dg.AutomationResult(context, context.get_empty_subset())
        candidates = context.candidate_subset.expensively_compute_partition_keys()
        partitions = ((k, partition_of(k, definition)) for k in candidates)
        keys = {k for k, p in partitions if snapshot.exists(p) and self._holds(snapshot, key, p)}
        subset = view.get_subset_from_partition_keys(key, definition, keys)
        return dg.AutomationResult(context, subset)


def keep_current(staleness: Staleness, of: dg.AssetKey) -> dg.AutomationCondition:
    """Return the condition that materializes what is due, once none of its inputs is.

    Parameters
    ----------
    of : the asset. One that unites methods, as the leaderboard does, does not wait for those that
        were given up, if others are there.
    """
    missing = StoreCondition(
        staleness, "requested_and_missing", "Requested, and has no file yet", Snapshot.is_missing
    )
    out_of_date = StoreCondition(
        staleness,
        "out_of_date",
        "An input, a setting, a model or the code has changed since it was written",
        Snapshot.is_out_of_date,
    )
    incomplete = StoreCondition(
        staleness,
        "incomplete",
        "A model failed on some rows; they are requested once more",
        Snapshot.is_incomplete,
    )
    unsettled = StoreCondition(
        staleness,
        "unsettled",
        "Due, or depends on something that is",
        lambda snapshot, key, p: (
            p in snapshot.unsettled(key, p.corpus) and not snapshot.is_dispensable(of, key, p)
        ),
    )
    again_by = "`gsum run`, Materialize or the job reindex_everything tries again"
    failed = StoreCondition(
        staleness,
        "failed",
        f"The last attempt failed; {again_by}; by itself it is tried again the next day if it was "
        "over budget, and after a pause if a model's server was away",
        Snapshot.has_failed,
    )
    cancelled = StoreCondition(
        staleness,
        "cancelled",
        f"A person cancelled the last attempt; {again_by}",
        Snapshot.is_cancelled,
    )
    held = StoreCondition(
        staleness,
        "held",
        "A `gsum run` that began without a daemon computes the corpus",
        Snapshot.is_held,
    )
    another_model = StoreCondition(
        staleness,
        "another_model",
        "Another model or prompt would send many requests; the job accept_models or `gsum run` "
        "lets it compute",
        Snapshot.awaits_acceptance,
    )
    in_progress = dg.AutomationCondition.in_progress()
    any_deps = dg.AutomationCondition.any_deps_match
    soon = dg.AutomationCondition.will_be_requested()
    # a missing partition may be written in the run that writes its inputs; an existing one waits,
    # since its inputs may turn out unchanged
    first_time = missing & ~any_deps(unsettled & ~soon)
    again = (out_of_date | incomplete) & ~any_deps(unsettled) & ~another_model
    # a run that observes the models may continue with what is due
    deps_in_progress = any_deps(in_progress).ignore(_MODELS)
    ready = (first_time | again) & ~deps_in_progress & ~in_progress
    ready = ready & ~failed & ~cancelled & ~held
    return ready.with_label("keep_current")


def with_conditions(
    assets: Collection[dg.AssetsDefinition | dg.SourceAsset],
    staleness: Staleness,
) -> list[dg.AssetsDefinition | dg.SourceAsset]:
    """Return the assets with their conditions."""

    def conditioned(spec: dg.AssetSpec) -> dg.AssetSpec:
        return spec.replace_attributes(automation_condition=keep_current(staleness, spec.key))

    return [
        asset.map_asset_specs(conditioned) if isinstance(asset, dg.AssetsDefinition) else asset
        for asset in assets
    ]


def automation_sensor(
    selection: dg.AssetSelection, interval_s: int
) -> dg.AutomationConditionSensorDefinition:
    """Return the sensor that evaluates the conditions, in the code location."""
    return dg.AutomationConditionSensorDefinition(
        KEEP_CURRENT,
        target=selection,
        use_user_code_server=True,
        default_status=dg.DefaultSensorStatus.RUNNING,
        minimum_interval_seconds=interval_s,  # existing partitions wait a tick a step
        run_tags={WORK: "make"},
        description="Materializes what was requested and is missing, out of date or incomplete.",
    )
