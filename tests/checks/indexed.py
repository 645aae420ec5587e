"""The checks of an indexed home that fail, and what Dagster has on record of them."""

import dagster as dg

from gsum_assets.dagster_assets.checks import subject_of
from gsum_assets.pipeline.result import CheckInputs
from gsum_assets.registry.declared import STEPS
from gsum_assets.registry.every_table import checks_for
from tests.conftest import House
from tests.invariants import assert_invariants


def failing(house: House) -> set[str]:
    """The checks that fail for a corpus or method, as `asset:check`; all invariants hold."""
    store = house.store
    assert_invariants(store)
    return {
        f"{subject.name}:{check.name}"
        for declared in STEPS
        for name in declared.step.writes
        for subject in [subject_of(declared, name)]
        for file in store.partitions(subject.table)
        if file.method is None or file.method in declared.methods
        for check in checks_for(subject)
        if check.run(CheckInputs(subject, store, (file,))).problem
    }


def evaluations(
    instance: dg.DagsterInstance, run_id: str | None = None
) -> list[dg.AssetCheckEvaluation]:
    """The check results that Dagster has on record, run after run."""
    runs = [run.run_id for run in reversed(instance.get_runs())] if run_id is None else [run_id]
    kind = dg.DagsterEventType.ASSET_CHECK_EVALUATION
    return [
        event.get_dagster_event().asset_check_evaluation_data
        for run in runs
        for event in instance.all_logs(run, of_type=kind)
    ]
