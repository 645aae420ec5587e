"""Dagster assets of steps: keys, dependencies, pools, checks, and what their pages show."""

from collections.abc import Collection, Iterator

import dagster as dg

from gsum_assets.dagster_assets.checks import check_results, check_specs
from gsum_assets.dagster_assets.metadata import described, of_asset, of_result
from gsum_assets.dagster_assets.partitions import GSUM, command_of, corpora
from gsum_assets.dagster_assets.run_resource import HomeOfRun
from gsum_assets.pipeline.step import MODELS, SETTINGS
from gsum_assets.registry.declared import INDEX, Declared
from gsum_resources.dagster_io.failure import explained


def asset_of(declared: Declared, defined: Collection[dg.AssetKey]) -> dg.AssetsDefinition:
    """Return a step as one asset for each of its tables; it depends on those of `defined`."""
    step = declared.step
    dependencies = _dependencies(declared, defined)
    specs = [
        dg.AssetSpec(
            declared.path(name),
            deps=dependencies,
            description=described(declared.table(name), purpose),
            group_name=declared.group,
            code_version=step.code_version,
            **of_asset(declared, declared.table(name)),
        )
        for name, purpose in step.writes.items()
    ]

    @dg.multi_asset(
        name=declared.name.replace("/", "__"),
        specs=specs,
        check_specs=check_specs(declared),
        partitions_def=corpora,
        pool=step.pool,
        required_resource_keys={GSUM},
    )
    def refresh(context: dg.AssetExecutionContext) -> Iterator[dg.MaterializeResult]:
        home: HomeOfRun = context.resources.gsum
        # a person at a terminal tries again
        attempt = context.retry_number if command_of(context.run) is None else None
        with explained(attempt):
            done = home.refresh(declared, context)
            results = [
                of_result(home.workspace, context, done, name)._replace(
                    check_results=check_results(home.workspace, context, done, name)
                )
                for name in step.writes
            ]
        yield from results
        with explained(attempt):
            done.raise_failed()

    return refresh


def _dependencies(declared: Declared, defined: Collection[dg.AssetKey]) -> list[dg.AssetKey]:
    """Return what a step depends on; its family's index in place of the tables of it."""
    keys = [dg.AssetKey(name) for name in declared.reads if name in (*MODELS, SETTINGS)]
    for name in declared.read_tables:
        if name in declared.by_index:
            keys.append(dg.AssetKey([declared.group, INDEX]))
        elif name not in declared.step.optional:
            key = dg.AssetKey(declared.path(name))
            keys += [key] if key in defined else []
    return list(dict.fromkeys(keys))
