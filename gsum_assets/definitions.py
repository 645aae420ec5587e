"""The Definitions object of a home."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache, partial
from typing import Any

import dagster as dg
from pydantic import BaseModel

from gsum_assets.answering.workspace import open_workspace
from gsum_assets.automation.acceptance import ModelChanges, acceptance_job, waiting_lines
from gsum_assets.automation.attempts import Attempts
from gsum_assets.automation.conditions import Staleness, automation_sensor, with_conditions
from gsum_assets.automation.continued import continued_executor
from gsum_assets.automation.forget import Forgetting
from gsum_assets.automation.freshness import confirm_results
from gsum_assets.automation.jobs import jobs, schedules
from gsum_assets.automation.reconcile import Reconciler, reconciling_jobs
from gsum_assets.automation.retrain import retraining
from gsum_assets.automation.sensors import WATCHED, watch_corpora
from gsum_assets.automation.staleness import Node, Snapshot
from gsum_assets.automation.waiting import show_waiting
from gsum_assets.automation.withdraw import Withdrawal, withdrawing_job
from gsum_assets.corpus.buckets import Buckets
from gsum_assets.corpus.load import bucket_of
from gsum_assets.dagster_assets.build import asset_of, index_asset_of
from gsum_assets.dagster_assets.check_assets import checks_of, subject_of
from gsum_assets.dagster_assets.corpus_assets import corpus_assets
from gsum_assets.dagster_assets.model_assets import model_assets
from gsum_assets.dagster_assets.partitions import method_key, partitions_of
from gsum_assets.dagster_assets.presentation import presented
from gsum_assets.dagster_assets.project import of_project
from gsum_assets.dagster_assets.run_config import ALL, QUESTIONS
from gsum_assets.dagster_assets.run_resources import run_resources
from gsum_assets.evaluation.generate_questions import QuestionsSettings
from gsum_assets.evaluation.judges.settings import JudgesSettings
from gsum_assets.evaluation.score import ScoreSettings
from gsum_assets.pipeline.columns import RESULT
from gsum_assets.pipeline.corpus_settings import AnswerSettings, CorpusError
from gsum_assets.pipeline.tables import TABLES, table_of
from gsum_assets.registry.declared import STEP_OF, STEPS, Declared, with_indexes_read, work_of
from gsum_assets.registry.families import FAMILIES, METHODS, views
from gsum_assets.runner.continuation import proceed
from gsum_assets.runner.pipeline import Pipeline
from gsum_assets.runner.retrain import retraining_job
from gsum_resources.dagster_io.home_resource import home_resource
from gsum_resources.dagster_io.instance import refuse_temporary_instance
from gsum_resources.dagster_io.resources import WAREHOUSE
from gsum_resources.dagster_io.warehouse_io import WarehouseIO
from gsum_resources.models.by_work import Models
from gsum_resources.settings.home import Home
from gsum_resources.state.leases import Leases
from gsum_resources.state.requests import Requests
from gsum_resources.store.input_key import InputKey, section_version
from gsum_resources.store.lineage import Lineage
from gsum_resources.store.parquet_store import ParquetStore

SETTINGS_TABLES: dict[str, type[BaseModel]] = {
    "scores": ScoreSettings,
    "judges": JudgesSettings,
    "questions": QuestionsSettings,
    **{family.name: family.settings for family in FAMILIES if family.settings},
}
"""The tables of `corpus.toml` that evaluation and methods read, by name."""
REPLACEABLE = {"answer": AnswerSettings, **SETTINGS_TABLES}
"""The tables of `corpus.toml` that the configuration of a run may replace."""


def _trained(store: ParquetStore, declared: Declared) -> list[str]:
    """Return the partition keys of a step's models; methods that train nothing have no row."""
    table = declared.table(declared.step.table)
    footers = store.footers(table, store.stamped(table))
    return [
        method_key(partition) if table.dimensions == RESULT else partition.corpus
        for partition, footer in footers.items()
        if footer.rows
    ]


def pipeline_for(
    home: Home,
    models: Models | None = None,
    presented: bool = True,
    store: ParquetStore | None = None,
    owners: Sequence[str] = (),
    upstream: Sequence[dg.AssetKey] = (),
    executor: dg.ExecutorDefinition | None = dg.in_process_executor,
) -> Pipeline:
    """Connect the assets to the store and the models of `home`, or to those given.

    Parameters
    ----------
    presented : whether runs add what no table shows: checks, plots, metadata and the catalogue.
    owners : of the assets, besides those of `[dagster]` in `gsum.toml`.
    upstream : assets of others that write the folders, on which `documents` depends in the lineage.
    executor : of the code location; None: that of the project that these definitions are merged
        into. The default loads the models once a run.
    """
    workspace = open_workspace(home, models, store=store)
    store, models, section = workspace.store, workspace.models, workspace.section
    settings = home.settings()
    automation = settings.automation
    buckets = Buckets(store)
    requests, leases = Requests(store), Leases(store)

    def present_version(
        sections: Callable[[str], Callable[[str], Any]], key: InputKey
    ) -> str | None:
        name, corpus = key.name, key.corpus or ""
        if key == QUESTIONS:
            return ALL
        if key.kind == "model":
            return models.version(work_of(key.asset) if name == "language_model" else name)
        try:
            return section_version(sections(corpus)(name))
        except CorpusError:
            try:
                sections(corpus)
            except CorpusError:  # `gsum run` of that corpus reports it, others continue
                return None
            return "wrong"  # so that the section's readers are due, and fail with the reason

    step_of = {
        "/".join(step.path(table)): step.name for step in STEPS for table in step.step.writes
    }
    model_changes = ModelChanges(models, automation, work_of, step_of)

    def lister(definition: dg.PartitionsDefinition | None):
        return lambda corpus: partitions_of(definition, corpus, buckets.of(corpus))

    def new_lineage() -> Lineage:
        # a lineage is a snapshot: it reads the settings of a corpus once
        other_version = partial(present_version, cache(workspace.sections))
        return Lineage(store, TABLES, other_version, METHODS.families)

    headlines = {
        declared.table(declared.step.table).name: declared.step.headline
        for declared in STEPS
        if declared.step.headline
    }
    warehouse = WarehouseIO(
        *(home, store, TABLES, table_of, bucket_of, buckets.of, views, headlines, new_lineage),
        presented,
    )
    assets = _presented_assets(automation.buckets_per_run, tuple(upstream))
    nodes = {
        key: replace(node, partitions=lister(node.definition))
        for key, node in _nodes(automation.buckets_per_run).items()
    }

    def snapshot(instance: dg.DagsterInstance) -> Snapshot:
        buckets.reread()
        attempts = Attempts(instance, leases, models.budget.repeatable)
        return Snapshot(nodes, new_lineage(), requests, attempts, buckets.of)

    def snapshot_of_daemon(instance: dg.DagsterInstance) -> Snapshot:
        return replace(snapshot(instance), scope=leases.first(), waiting=model_changes.waiting)

    steps = {  # the assets that each step writes, by the step's name in the ledger
        asset.node_def.name.replace("__", "/"): sorted(asset.keys)
        for asset in assets
        if isinstance(asset, dg.AssetsDefinition) and asset.is_executable
    }
    forgetting = Forgetting(store, steps, snapshot)
    assets = with_conditions(assets, Staleness(snapshot_of_daemon))
    assets = of_project(assets, settings.dagster, owners)
    observed = [asset.key for asset in assets if isinstance(asset, dg.SourceAsset)]
    retrained = [
        retraining(
            declared, partial(_trained, store, declared), automation.retrain, automation.timezone
        )
        for declared in STEPS
        if declared.step.retraining
    ]
    reconciler = Reconciler(
        warehouse,
        requests,
        buckets,
        METHODS,
        forgetting,
        leases,
        nodes,
        {
            keyed.key: keyed.partitions_def
            for asset in assets
            for keyed in ([asset] if isinstance(asset, dg.SourceAsset) else asset.specs)
        },
        automation.forget_after_h * 3600.0,
    )
    withdrawal = Withdrawal(reconciler)
    if executor is dg.in_process_executor:
        executor = continued_executor(lambda *run: proceed(pipeline, *run))
    started = [
        *jobs(
            dg.AssetSelection.assets(*observed),
            dg.AssetSelection.checks_for_assets(*nodes),
            executor or dg.in_process_executor,
        ),
        *reconciling_jobs(reconciler),
        withdrawing_job(withdrawal),
        acceptance_job(model_changes, snapshot),
        retraining_job(lambda: pipeline),
    ]
    subjects = {
        spec.key: subject_of(spec)
        for asset in assets
        if isinstance(asset, dg.AssetsDefinition)
        for spec in asset.specs
    }
    definitions = dg.Definitions(
        assets=assets,
        asset_checks=checks_of(assets, store, new_lineage) if presented else [],
        sensors=[
            automation_sensor(dg.AssetSelection.assets(*nodes), automation.interval_s),
            watch_corpora(
                reconciler,
                [job for job in started if job.name in WATCHED],
                automation.interval_s,
                withdrawal.described,
            ),
            confirm_results(snapshot, partial(waiting_lines, model_changes)),
            *([show_waiting(snapshot, store, subjects)] if presented else []),
        ],
        jobs=[*started, *(job for job, _ in retrained)],
        schedules=[*schedules(automation), *(schedule for _, schedule in retrained)],
        executor=executor,
        resources={
            WAREHOUSE: home_resource(warehouse),
            **run_resources(models, section, REPLACEABLE, warehouse.reads),
        },
    )
    pipeline = Pipeline(
        home,
        store,
        models,
        warehouse,
        requests,
        buckets,
        snapshot,
        forgetting,
        reconciler,
        withdrawal,
        model_changes,
        definitions,
    )
    return pipeline


@cache
def _presented_assets(
    buckets_per_run: int, upstream: tuple[dg.AssetKey, ...] = ()
) -> list[dg.AssetsDefinition | dg.SourceAsset]:
    """Return the assets that every home has, still without conditions.

    A process connects them more than once: as `defs`, to the home of a command, to that of a plan.
    """
    return presented(
        [
            *corpus_assets,
            *model_assets,
            *(asset_of(declared, buckets_per_run, upstream) for declared in STEPS),
            *map(index_asset_of, FAMILIES),
        ]
    )


@cache
def _nodes(buckets_per_run: int) -> dict[dg.AssetKey, Node]:
    """Return the materializable assets as nodes for the conditions, with 8 buckets."""
    assets = _presented_assets(buckets_per_run)
    families = {family.name: frozenset(family.methods) for family in FAMILIES}
    readers = _readers_in_other_families()
    for_questions = _dependent_on_questions(assets)

    def node(spec: dg.AssetSpec) -> Node:
        step = STEP_OF.get(spec.key.to_user_string())
        methods = families.get(spec.group_name or "")
        if step is not None and step.methods:
            methods = frozenset(step.methods)
        return Node(
            key=spec.key,
            table=table_of(spec.key.path),
            code_version=spec.code_version,
            definition=spec.partitions_def,
            partitions=partial(partitions_of, spec.partitions_def),
            parents=frozenset(dep.asset_key for dep in spec.deps),
            methods=None if methods is None else methods | readers.get(spec.key, frozenset()),
            unites=step is not None and step.unites,
            is_result=step is not None and spec.key.path[-1] in step.results,
            for_questions=spec.key in for_questions,
            stands_for_parents=step is None,
        )

    return {
        spec.key: node(spec)
        for asset in assets
        if isinstance(asset, dg.AssetsDefinition)
        for spec in asset.specs
    }


def _readers_in_other_families() -> dict[dg.AssetKey, frozenset[str]]:
    """Return the methods of other families that read a family's asset, by asset."""
    readers: dict[dg.AssetKey, frozenset[str]] = {}
    for family in FAMILIES:
        for declared in with_indexes_read(family):
            for key in map(dg.AssetKey, map(declared.path, declared.step.writes)):
                if declared.group != family.name:
                    readers[key] = readers.get(key, frozenset()).union(family.methods)
    return readers


def _dependent_on_questions(assets: list[dg.AssetsDefinition | dg.SourceAsset]) -> set[dg.AssetKey]:
    """Return the first question steps of each family, and all that depends on them.

    Other assets read `queries`, too: training leaves the evaluated questions out.
    """
    parents = {
        spec.key: {dep.asset_key for dep in spec.deps}
        for asset in assets
        if isinstance(asset, dg.AssetsDefinition)
        for spec in asset.specs
    }
    dependent = {
        dg.AssetKey([family.name, table])
        for family in FAMILIES
        for table in (*(step.table for step in family.preparations), "rankings")
    }
    while more := {key for key, above in parents.items() if above & dependent} - dependent:
        dependent |= more
    return dependent


defs: dg.Definitions
"""The definitions of the home that the environment names, made when they are first read."""


def __getattr__(name: str) -> Any:
    if name != "defs":
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    return _of_environment()


def __dir__() -> list[str]:
    return sorted({*globals(), "defs"})  # Dagster looks for Definitions among these names


@cache
def _of_environment() -> dg.Definitions:
    home = Home.from_environment()
    refuse_temporary_instance(home)
    return pipeline_for(home).definitions
