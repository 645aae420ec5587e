"""Methods that are kept up to date, and the end of their requests with their tables.

A method is kept up to date if `gsum run` or a new corpus requested it, or if its tables were
materialized in the UI: whatever has a file is kept up to date. So a withdrawal ends the request and
removes the tables. Replies of models stay: to request the method again costs little.
"""

from collections.abc import Collection
from typing import Any

import dagster as dg

from gsum_assets.automation.processes import runs_on
from gsum_assets.automation.reconcile import Reconciler
from gsum_assets.automation.staleness import Node
from gsum_assets.dagster_assets.partitions import key_of
from gsum_assets.pipeline.corpus_settings import CorpusError
from gsum_assets.pipeline.finding import count
from gsum_resources.dagster_io.failure import explained
from gsum_resources.store.parquet_store import Partition

WITHDRAW_METHODS = "withdraw_methods"


class Withdrawal:
    """Requests of the methods of a home's corpora.

    Parameters
    ----------
    reconciler : tables, requests and leases of the home.
    """

    def __init__(self, reconciler: Reconciler) -> None:
        self._store = reconciler.warehouse.store
        self._warehouse, self._requests = reconciler.warehouse, reconciler.requests
        self._leases, self._nodes = reconciler.leases, reconciler.nodes

    def requested(self, corpus: str) -> list[str]:
        """Return the methods that were requested for a corpus."""
        return sorted(self._requests.of(corpus) or ())

    def materialized(self, corpus: str) -> list[str]:
        """Return the methods that have tables though they were not requested, as from the UI."""
        present = {
            partition.method
            for node in self._nodes.values()
            if "method" in node.table.dimensions
            for partition in self._store.partitions(node.table, corpus)
        }
        return sorted({method for method in present if method} - set(self.requested(corpus)))

    def described(self, corpus: str) -> str:
        """Return what is kept up to date, `requested: bm25, gor; also kept up to date: jerr`."""
        also = self.materialized(corpus)
        line = f"requested: {', '.join(self.requested(corpus)) or 'no method'}"
        if also:
            line += f"; also kept up to date, since materialized: {', '.join(also)}"
        return line

    def withdraw(
        self,
        instance: dg.DagsterInstance,
        corpus: str,
        methods: Collection[str],
        run_id: str | None = None,
    ) -> str:
        """End the requests of methods and remove their tables; return what was done.

        Tables that the methods of a family share stay while one of these methods does, and the
        leaderboard stays while any method has results.

        Parameters
        ----------
        run_id : the run that does it.

        Raises
        ------
        CorpusError
            If a method is not kept up to date, or a run on the corpus is unfinished.
        """
        kept = {*self.requested(corpus), *self.materialized(corpus)}
        if unknown := sorted(set(methods) - kept):
            raise CorpusError(
                f"corpus '{corpus}': {', '.join(unknown)} cannot be withdrawn, since nothing "
                f"requested it; {self.described(corpus)}"
            )
        self._require_quiet(instance, corpus, run_id)
        self._requests.withdraw(corpus, methods)
        n_removed = 0
        remaining = kept - set(methods)
        for node in reversed(list(self._nodes.values())):  # what depends on others first
            n_removed += self._remove(instance, node, corpus, remaining)
        if n_removed:
            self._warehouse.rebuild_catalogue()
        done = f"withdrew {', '.join(sorted(methods))} and removed {count(n_removed, 'partition')}"
        return f"{done}; {self.described(corpus)}"

    def _remove(
        self, instance: dg.DagsterInstance, node: Node, corpus: str, remaining: Collection[str]
    ) -> int:
        """Remove an asset's partitions that no remaining method needs; return their number."""
        from gsum_resources.dagster_io.instance_storage import wipe_partitions  # slow: migrations

        removed = [
            partition
            for partition in self._store.partitions(node.table, corpus)
            if not _is_needed(node, partition, remaining)
        ]
        for partition in removed:
            self._store.delete(node.table, partition)
        wipe_partitions(instance, node.key, [key_of(partition) for partition in removed])
        return len(removed)

    def _require_quiet(self, instance: dg.DagsterInstance, corpus: str, run_id: str | None) -> None:
        """Raise `CorpusError` if a run on the corpus could write a withdrawn table again."""
        runs = [run for run in runs_on(instance, corpus) if run.run_id != run_id]
        busy = f"run {runs[0].run_id[:8]}" if runs else ""
        if not busy and self._leases.computing(corpus):
            busy = "a `gsum run`"
        if busy:
            raise CorpusError(
                f"corpus '{corpus}': {busy} on it must end first; wait for it or cancel it, then "
                "withdraw the methods again"
            )


def _is_needed(node: Node, partition: Partition, remaining: Collection[str]) -> bool:
    """Return whether one of the remaining methods needs a partition of an asset."""
    if node.unites:
        return bool(remaining)
    if node.methods is None:  # of the corpus itself
        return True
    if partition.method is None:
        return bool(node.methods & set(remaining))
    return partition.method in remaining or partition.method not in node.methods


def withdrawing_job(withdrawal: Withdrawal) -> dg.JobDefinition:
    """Return the job that withdraws methods of a corpus."""
    settings: Any = {
        "corpus": dg.Field(str, description="The corpus."),
        "methods": dg.Field([str], description="Methods to withdraw, such as gor."),
    }

    @dg.op(
        config_schema=settings,
        out=dg.Out(dg.Nothing),
        description="End the requests of methods, and remove their tables.",
    )
    @explained()
    def withdraw(context: dg.OpExecutionContext) -> None:
        corpus, methods = context.op_config["corpus"], context.op_config["methods"]
        done = withdrawal.withdraw(context.instance, corpus, methods, context.run_id)
        context.log.info(f"{corpus}: {done}")

    @dg.job(
        name=WITHDRAW_METHODS,
        description="Ends the requests of methods of a corpus and removes their tables, so that "
        "they are no longer kept up to date. The ticks of the sensor watch_corpora list what is "
        "requested.",
    )
    def withdraw_methods() -> None:
        withdraw()

    return withdraw_methods
