"""What is due: what was asked for once is kept current.

A partition is *due* when it was asked for and has no file, when an input, a setting, a model or
the code is no longer the one its file was made from, or when it is incomplete and is to be tried
again. All this is read from the warehouse at one moment; there is no memory that a killed run or
a second process could leave wrong.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import dagster as dg
import sqlalchemy as sa

from gsum_assets.automation.attempts import Attempts
from gsum_resources.lineage import Lineage, feeds
from gsum_resources.parquet_store import ParquetStore, Partition
from gsum_resources.state import REQUESTS, insert_new, state_of
from gsum_resources.table import Table


class Requests:
    """What was requested: for each corpus the variants of methods, kept in the state database."""

    def __init__(self, store: ParquetStore) -> None:
        self._store = store

    def of(self, corpus: str) -> frozenset[str] | None:
        """Return the variants requested, or None for a corpus of which nothing was."""
        query = sa.select(REQUESTS.c.variant).where(REQUESTS.c.corpus == corpus)
        with state_of(self._store).reading() as connection:
            found = set(connection.execute(query).scalars())
        return frozenset(found - {""}) if found else None

    def add(self, corpus: str, variants: Collection[str]) -> None:
        """Request the corpus's own tables and these variants, besides what was before."""
        known = self.of(corpus)
        if known is None or set(variants) - known:
            rows = [{"corpus": corpus, "variant": variant} for variant in sorted({"", *variants})]
            with state_of(self._store).writing() as connection:
                insert_new(connection, REQUESTS, rows)

    def forget(self, corpus: str) -> None:
        """Request nothing of this corpus any more."""
        with state_of(self._store).writing() as connection:
            connection.execute(sa.delete(REQUESTS).where(REQUESTS.c.corpus == corpus))


@dataclass(frozen=True)
class Node:
    """A materializable asset as the conditions see it.

    `definition` is how Dagster partitions it, `partitions` gives its partitions for a corpus,
    `parents` the assets it rests on. `variants` are those of its family; None: every corpus has it.
    `unites`: whether it unites the methods that there are, so that those that failed do not hold
    it back. `for_questions`: whether it is made for questions alone; a corpus without any does not
    want it.
    `stands_for_parents`: whether its readers read its parents' tables and not its own, so
    that they wait for its parents and not for itself.
    """

    key: dg.AssetKey
    table: Table
    code_version: str | None
    definition: dg.PartitionsDefinition | None
    partitions: Callable[[str], Sequence[Partition]]
    parents: frozenset[dg.AssetKey]
    variants: frozenset[str] | None = None
    unites: bool = False
    for_questions: bool = False
    stands_for_parents: bool = False

    def is_wanted(
        self, partition: Partition, asked: frozenset[str], has_questions: bool = True
    ) -> bool:
        """Whether a partition is among what was asked for: its method, or any of its family."""
        if self.for_questions and not has_questions:
            return False
        if partition.method is not None:
            return partition.method in asked
        return self.variants is None or bool(self.variants & asked)


@dataclass
class Snapshot:
    """The state of the warehouse at one moment; what was looked up stays as it was.

    Parameters
    ----------
    nodes : the materializable assets.
    attempts : what was tried in vain.
    scope : the variants that count; what none of them needs is never due. None: all requested.
    """

    nodes: Mapping[dg.AssetKey, Node]
    lineage: Lineage
    requests: Requests
    attempts: Attempts
    scope: frozenset[str] | None = None
    _memo: dict[tuple[str, object], Any] = field(default_factory=dict)

    def is_missing(self, key: dg.AssetKey, partition: Partition) -> bool:
        """Whether a partition that was asked for has no file."""
        if not (self.is_wanted(key, partition) and self.is_in_scope(key, partition)):
            return False
        return not self.lineage.exists(self.nodes[key].table.name, partition)

    def is_wanted(self, key: dg.AssetKey, partition: Partition) -> bool:
        """Whether a partition was asked for, and the corpus has the questions it is made for.

        Results stay where the last question was removed: they are refreshed, and so become empty.
        """
        corpus = partition.corpus
        asked = self._once("asked", corpus, lambda: self.requests.of(corpus))
        has_questions = self._once("questions", corpus, lambda: self._has_questions(corpus))
        return asked is not None and self.nodes[key].is_wanted(partition, asked, has_questions)

    def _has_questions(self, corpus: str) -> bool:
        """Whether the table of questions has a row; it is made before what depends on it."""
        return any(footer.rows for footer in self.lineage.provenances("queries", corpus).values())

    def changes(self, key: dg.AssetKey, partition: Partition) -> list[str]:
        """The inputs of an existing partition that are no longer those it was made from."""
        node = self.nodes[key]
        return self._once(
            "changes",
            (key, partition),
            lambda: self.lineage.changes(node.table.name, partition, node.code_version),
        )

    def is_in_scope(self, key: dg.AssetKey, partition: Partition) -> bool:
        """Whether one of the variants in the scope needs a partition."""
        return self.scope is None or self.nodes[key].is_wanted(partition, self.scope)

    def is_out_of_date(self, key: dg.AssetKey, partition: Partition) -> bool:
        """Whether an input of an existing partition in the scope has changed."""
        return self.is_in_scope(key, partition) and bool(self.changes(key, partition))

    def is_incomplete(self, key: dg.AssetKey, partition: Partition) -> bool:
        """Whether rows are missing, since a model failed, that are to be tried again."""
        if not self.is_in_scope(key, partition):
            return False
        table = self.nodes[key].table.name
        provenance = self.lineage.provenances(table, partition.corpus).get(partition)
        if provenance is None or not provenance.failed:
            return False
        written = datetime.fromisoformat(provenance.time).timestamp()
        return written < self.attempts.try_again_at(partition.corpus)

    def is_due(self, key: dg.AssetKey, partition: Partition) -> bool:
        """Missing though asked for, out of date, or incomplete and to be tried again."""
        return (
            self.is_missing(key, partition)
            or self.is_out_of_date(key, partition)
            or self.is_incomplete(key, partition)
        )

    def due(self, corpus: str) -> set[dg.AssetKey]:
        """The assets that have a partition of a corpus that is due."""
        return {
            key
            for key, node in self.nodes.items()
            if any(self.is_due(key, partition) for partition in node.partitions(corpus))
        }

    def is_held(self, _: dg.AssetKey, partition: Partition) -> bool:
        """Whether a `gsum run` of another process is at work on the corpus of a partition."""
        return self.attempts.is_held(partition.corpus)

    def is_given_up(self, key: dg.AssetKey, partition: Partition) -> bool:
        """Whether the last attempt failed, and nobody wanted it tried again since."""
        return partition in self.attempts.given_up(key, self.nodes[key].definition)

    def unsettled(self, key: dg.AssetKey, corpus: str) -> frozenset[Partition]:
        """The partitions of a corpus that are due or rest on one that is, however far up.

        One that unites methods does not wait for those that failed.
        """
        return self._once(
            "unsettled",
            (key, corpus),
            lambda: self._reach(key, corpus, self.is_due, self.unsettled),
        )

    def stuck(self, key: dg.AssetKey, corpus: str) -> frozenset[Partition]:
        """The partitions of a corpus that were given up or rest on one that was."""
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
        """Partitions for which `holds`, or that rest on partitions `upstream` names."""
        node = self.nodes[key]
        above = [
            partition
            for parent in node.parents
            if parent in self.nodes
            for partition in upstream(parent, corpus)
            if not self._is_dispensable(node, parent, partition)
        ]
        return frozenset(
            partition
            for partition in node.partitions(corpus)
            if (holds(key, partition) and not node.stands_for_parents)
            or any(feeds(p, partition) for p in above)
        )

    def _is_dispensable(self, node: Node, parent: dg.AssetKey, partition: Partition) -> bool:
        """Whether `node` does without a partition that it rests on, since its method failed."""
        return (
            node.unites
            and partition.method is not None
            and partition in self.stuck(parent, partition.corpus)
        )

    def left(self, corpus: str) -> dict[dg.AssetKey, frozenset[Partition]]:
        """What was requested of a corpus and is due, or rests on what is, by asset."""
        asked = self.requests.of(corpus) or frozenset()
        wanted = asked if self.scope is None else self.scope
        found = {
            key: frozenset(p for p in self.unsettled(key, corpus) if node.is_wanted(p, wanted))
            for key, node in self.nodes.items()
        }
        return {key: partitions for key, partitions in found.items() if partitions}

    def _once(self, what: str, of: object, compute: Callable[[], Any]) -> Any:
        if (what, of) not in self._memo:
            self._memo[what, of] = compute()
        return self._memo[what, of]


_GIVEN: ContextVar[Snapshot | None] = ContextVar("gsum_look", default=None)


@contextmanager
def evaluated_by(snapshot: Snapshot) -> Iterator[None]:
    """Let conditions that are evaluated inside answer from `look` instead of a new one."""
    token = _GIVEN.set(snapshot)
    try:
        yield
    finally:
        _GIVEN.reset(token)


def given_snapshot() -> Snapshot | None:
    """The look of the surrounding `evaluated_by`."""
    return _GIVEN.get()
