"""Staleness of partitions: what was requested once is kept up to date.

A partition is *due* when it was requested and has no file, when an input, a setting, a model or
the code has changed since its file was written, or when it is incomplete and a retry was requested.
All this is read from the warehouse at one moment; there is no state that a killed run or a second
process could leave wrong.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import dagster as dg

from gsum_assets.automation.attempts import Attempts
from gsum_assets.pipeline.tables import RESULT_TABLES
from gsum_resources.state.requests import Requests
from gsum_resources.store.lineage import Lineage, feeds
from gsum_resources.store.parquet_store import Partition
from gsum_resources.store.table import Table


@dataclass(frozen=True)
class Node:
    """A materializable asset, for the conditions.

    Attributes
    ----------
    definition : Dagster's partitions of the asset.
    partitions : returns the partitions of a corpus.
    parents : assets that it depends on.
    methods : methods of its family that need it, and others that read it; None: every corpus has
        it.
    unites : whether it unites all methods that exist, so that it does not wait for failed ones.
    is_result : whether it is late when it could not be updated for a day.
    for_questions : whether it is computed for questions; a corpus without any does not need it.
    stands_for_parents : whether its readers read its parents' tables and not its own, so that they
        wait for its parents only.
    """

    key: dg.AssetKey
    table: Table
    code_version: str | None
    definition: dg.PartitionsDefinition | None
    partitions: Callable[[str], Sequence[Partition]]
    parents: frozenset[dg.AssetKey]
    methods: frozenset[str] | None = None
    unites: bool = False
    is_result: bool = False
    for_questions: bool = False
    stands_for_parents: bool = False

    def is_wanted(
        self, partition: Partition, requested: frozenset[str], has_questions: bool = True
    ) -> bool:
        """Return whether a partition is requested: its method, or any method of its family."""
        if self.for_questions and not has_questions:
            return False
        if self.unites and not requested:
            return False
        if partition.method is not None:
            return partition.method in requested
        return self.methods is None or bool(self.methods & requested)


@dataclass
class Snapshot:
    """The state of the warehouse at one moment; results of queries are cached.

    Parameters
    ----------
    nodes : the materializable assets.
    attempts : failed attempts.
    n_buckets : returns the number of buckets of a corpus.
    scope : the methods to consider of a corpus; what none of them needs is never due. All that
        were requested of the other corpora.
    waiting : returns the changed inputs of a corpus, by asset and input, that must be accepted
        first, see `acceptance.py`.
    """

    nodes: Mapping[dg.AssetKey, Node]
    lineage: Lineage
    requests: Requests
    attempts: Attempts
    n_buckets: Callable[[str], int]
    scope: Mapping[str, frozenset[str]] = field(default_factory=dict)
    waiting: Callable[["Snapshot", str], Mapping[tuple[str, str], str]] = lambda *_: {}
    _memo: dict[tuple[str, object], Any] = field(default_factory=dict)

    def exists(self, partition: Partition) -> bool:
        """Return whether a corpus has a bucket: Dagster's keys are those of the largest corpus."""
        if partition.bucket is None:
            return True
        corpus = partition.corpus
        return int(partition.bucket) < self._once(
            "n_buckets", corpus, lambda: self.n_buckets(corpus)
        )

    def is_missing(self, key: dg.AssetKey, partition: Partition) -> bool:
        """Return whether a requested partition has no file."""
        if not (self.is_wanted(key, partition) and self.is_in_scope(key, partition)):
            return False
        return not self.lineage.exists(self.nodes[key].table.name, partition)

    def is_wanted(self, key: dg.AssetKey, partition: Partition) -> bool:
        """Return whether a partition was requested, and the corpus has questions if it needs them.

        Results are kept when the last question is removed: they are recomputed and become empty.
        """
        corpus = partition.corpus
        requested = self._once("requested", corpus, lambda: self.requests.of(corpus))
        has_questions = self._once("questions", corpus, lambda: self._has_questions(corpus))
        if requested is None:
            return False
        return self.nodes[key].is_wanted(partition, requested, has_questions)

    def _has_questions(self, corpus: str) -> bool:
        """Return whether the table of questions has a row; it is written before what needs it."""
        return any(footer.rows for footer in self.lineage.provenances("queries", corpus).values())

    def changes(self, key: dg.AssetKey, partition: Partition) -> list[str]:
        """Return the inputs that changed since an existing partition was written."""
        node = self.nodes[key]
        return self._once(
            "changes",
            (key, partition),
            lambda: self.lineage.changes(node.table.name, partition, node.code_version),
        )

    def is_in_scope(self, key: dg.AssetKey, partition: Partition) -> bool:
        """Return whether one of the methods in the scope needs a partition."""
        scope = self.scope.get(partition.corpus)
        return scope is None or self.nodes[key].is_wanted(partition, scope)

    def is_out_of_date(self, key: dg.AssetKey, partition: Partition) -> bool:
        """Return whether an input of an existing partition in the scope has changed."""
        return self.is_in_scope(key, partition) and bool(self.changes(key, partition))

    def is_incomplete(self, key: dg.AssetKey, partition: Partition) -> bool:
        """Return whether rows are missing because a model failed, and a retry was requested."""
        if not self.is_in_scope(key, partition):
            return False
        table = self.nodes[key].table.name
        provenance = self.lineage.provenances(table, partition.corpus).get(partition)
        if provenance is None or not provenance.failed:
            return False
        written = datetime.fromisoformat(provenance.time).timestamp()
        return written < self.attempts.try_again_at(partition.corpus)

    def is_due(self, key: dg.AssetKey, partition: Partition) -> bool:
        """Return whether a partition is missing, out of date, or incomplete and to be retried."""
        return (
            self.is_missing(key, partition)
            or self.is_out_of_date(key, partition)
            or self.is_incomplete(key, partition)
        )

    def due(self, corpus: str) -> set[dg.AssetKey]:
        """Return the assets with a due partition of a corpus."""
        return {
            key
            for key, node in self.nodes.items()
            if any(self.is_due(key, partition) for partition in node.partitions(corpus))
        }

    def is_held(self, _: dg.AssetKey, partition: Partition) -> bool:
        """Return whether a `gsum run` of another process holds the turn on the corpus.

        Also if Dagster does not know all of its buckets yet, as after an upgrade of gsum: then a
        table of the corpus would not wait for its documents.
        """
        corpus = partition.corpus
        return self.attempts.is_held(corpus) or not self._once(
            "buckets", corpus, lambda: self.attempts.knows_buckets(self.n_buckets(corpus))
        )

    def is_given_up(self, key: dg.AssetKey, partition: Partition) -> bool:
        """Return whether the last attempt failed or was cancelled, and no retry requested since."""
        return partition in self.attempts.given_up(key, self.nodes[key].definition)

    def has_failed(self, key: dg.AssetKey, partition: Partition) -> bool:
        """Return whether the last attempt failed, and no retry was requested since."""
        return self.attempts.given_up(key, self.nodes[key].definition).get(partition) is False

    def is_cancelled(self, key: dg.AssetKey, partition: Partition) -> bool:
        """Return whether a person cancelled the last attempt, and requested nothing since."""
        return self.attempts.given_up(key, self.nodes[key].definition).get(partition) is True

    def awaits_acceptance(self, key: dg.AssetKey, partition: Partition) -> bool:
        """Return whether another model or prompt must be accepted before it is computed again."""
        corpus, asset = partition.corpus, key.to_user_string()
        waiting = self._once("waiting", corpus, lambda: self.waiting(self, corpus))
        return any((asset, changed) in waiting for changed in self.changes(key, partition))

    def unsettled(self, key: dg.AssetKey, corpus: str) -> frozenset[Partition]:
        """Return the partitions of a corpus that are due or depend on one that is, at any distance.

        An asset that unites methods does not wait for those that failed.
        """
        return self._once(
            "unsettled",
            (key, corpus),
            lambda: self._reach(key, corpus, self.is_due, self.unsettled),
        )

    def stuck(self, key: dg.AssetKey, corpus: str) -> frozenset[Partition]:
        """Return the partitions of a corpus that were given up or depend on one that was."""
        return self._once(
            "stuck", (key, corpus), lambda: self._reach(key, corpus, self.is_given_up, self.stuck)
        )

    def _reach(
        self,
        key: dg.AssetKey,
        corpus: str,
        holds: Callable[[dg.AssetKey, Partition], bool],
        upstream: Callable[[dg.AssetKey, str], frozenset[Partition]],
    ) -> frozenset[Partition]:
        """Return partitions for which `holds`, or that depend on partitions in `upstream`."""
        node = self.nodes[key]
        above = [
            partition
            for parent in node.parents
            if parent in self.nodes
            for partition in upstream(parent, corpus)
            if not self.is_dispensable(key, parent, partition)
        ]
        return frozenset(
            partition
            for partition in node.partitions(corpus)
            if (holds(key, partition) and not node.stands_for_parents)
            or any(feeds(p, partition) for p in above)
        )

    def is_dispensable(self, key: dg.AssetKey, parent: dg.AssetKey, partition: Partition) -> bool:
        """Return whether an asset ignores an upstream partition, because its method was given up.

        It does not if nothing would be left to unite.
        """
        corpus = partition.corpus
        return (
            self.nodes[key].unites
            and partition.method is not None
            and partition in self.stuck(parent, corpus)
            and self._once("unites", (key, corpus), lambda: self._has_results(key, corpus))
        )

    def _has_results(self, key: dg.AssetKey, corpus: str) -> bool:
        """Return whether some method has a file of each table of results that an asset unites."""
        parents = (self.nodes[parent] for parent in self.nodes[key].parents if parent in self.nodes)
        united = {node.table.name for node in parents} & RESULT_TABLES
        return all(self.lineage.provenances(table, corpus) for table in united)

    def left(self, corpus: str) -> dict[dg.AssetKey, frozenset[Partition]]:
        """Return the requested partitions that are due or depend on a due one, by asset."""
        wanted = self.scope.get(corpus) or self.requests.of(corpus) or frozenset()
        partitions_of = {
            key: frozenset(p for p in self.unsettled(key, corpus) if node.is_wanted(p, wanted))
            for key, node in self.nodes.items()
        }
        return {key: partitions for key, partitions in partitions_of.items() if partitions}

    def _once(self, what: str, of: object, compute: Callable[[], Any]) -> Any:
        if (what, of) not in self._memo:
            self._memo[what, of] = compute()
        return self._memo[what, of]


_GIVEN: ContextVar[Snapshot | None] = ContextVar("gsum_snapshot", default=None)


@contextmanager
def evaluated_by(snapshot: Snapshot) -> Iterator[None]:
    """Evaluate conditions in this context from `snapshot` instead of a new one."""
    token = _GIVEN.set(snapshot)
    try:
        yield
    finally:
        _GIVEN.reset(token)


def given_snapshot() -> Snapshot | None:
    """Return the snapshot of the surrounding `evaluated_by`, or None."""
    return _GIVEN.get()
