"""The resource `gsum`: the home of a run, locked for its corpus, and what the run may ask for."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import dagster as dg

from gsum_assets.answering.workspace import Workspace
from gsum_assets.corpus.settings_file import keep_methods
from gsum_assets.dagster_assets.partitions import PARTITION, command_of
from gsum_assets.refresh.inputs import Run
from gsum_assets.refresh.step import Refreshed, complete_catalogue, refresh_step
from gsum_assets.registry.declared import Declared
from gsum_assets.registry.families import METHODS
from gsum_resources.dagster_io.instance import held_open, refuse_run_in_temporary_instance
from gsum_resources.state.locks import locked

INDEX_JOB = "index"
"""The job that brings a corpus up to date."""

_OPTIONS = {
    "force": dg.Field(
        bool, default_value=False, description="Write tables again that are up to date."
    ),
    "retrain": dg.Field(
        [str],
        default_value=[],
        description="Methods or families whose networks are trained again, 'all' for every one.",
    ),
    "retry_failures": dg.Field(
        bool,
        default_value=False,
        description="Send requests again that failed in a way that repeats, such as replies that "
        "could not be read. Other failures are always tried again.",
    ),
}


@dataclass(frozen=True)
class HomeOfRun:
    """A home, and how a run of Dagster works in it.

    Attributes `force`, `retry_failures`, `retrain`: see `refresh.inputs.Run`; `is_presented`:
    whether runs add what no table shows: plots, the catalogue.
    """

    workspace: Workspace
    force: bool = False
    retry_failures: bool = False
    retrain: Sequence[str] = ()
    is_presented: bool = True

    def refresh(self, declared: Declared, context: dg.AssetExecutionContext) -> Refreshed:
        """Write the stale files of a step for the corpus of the run."""
        corpus, root = context.partition_key, self.workspace.home.corpora
        methods = METHODS.wanted(root, corpus)
        if context.job_name != INDEX_JOB and not declared.is_needed(methods):
            methods = self._asked(declared, corpus, methods, context.log.info)
        run = Run(
            context.run_id,
            context.log.info,
            context.log.warning,
            self.force,
            self.retry_failures,
            self.retrain,
        )
        store = self.workspace.store
        tables = map(declared.table, declared.step.writes)
        is_new = any(not store.partitions(table, corpus) for table in tables)
        done = refresh_step(self.workspace, declared, corpus, methods, run, self.is_presented)
        if self.is_presented and store.is_local and is_new and done.written:
            complete_catalogue(self.workspace)
        return done

    def _asked(
        self, declared: Declared, corpus: str, methods: list[str], log: Callable[[str], None]
    ) -> list[str]:
        """Keep a method up to date from now on whose table a person materializes."""
        needed = declared.needed_by or frozenset()
        method = next(m for m in (*METHODS.default, *METHODS.known) if m in needed)
        kept = keep_methods(self.workspace.home.corpora / corpus, [*methods, method])
        log(f"{corpus}: {method} is kept up to date from now on: {kept}")
        return METHODS.wanted(self.workspace.home.corpora, corpus)


def run_resource(workspace: Workspace, is_presented: bool = True) -> dg.ResourceDefinition:
    """Return the resource that opens a home for a run, one run a corpus at a time."""

    @dg.resource(
        config_schema=_OPTIONS, description="The home of gsum that runs read and write: GSUM_HOME."
    )
    def gsum(context: dg.InitResourceContext) -> Iterator[HomeOfRun]:
        if context.instance is not None:
            refuse_run_in_temporary_instance(context.instance, workspace.home)
        home = HomeOfRun(workspace, **context.resource_config, is_presented=is_presented)
        corpus = context.run.tags.get(PARTITION) if context.run else None
        if corpus is None or context.run is None or context.instance is None:
            yield home
            return
        log = context.log.info if context.log else print
        holder = command_of(context.run) or context.run.run_id
        with (
            locked(workspace.store, corpus, holder, lambda other: log(f"waiting for {other}")),
            held_open(context.instance, context.run.run_id),
        ):
            yield home

    return gsum
