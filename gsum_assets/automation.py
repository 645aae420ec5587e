"""When a partition is made: what was asked for once is kept current.

A partition is *due* when it was asked for and has no file, or when an input, a setting, a model
or the code is no longer the one its file was made from. It is requested when nothing that it
rests on is due or under way. Dagster's `eager()` decides by events since a cursor, which a killed
run or a second process leaves wrong; this condition looks at the warehouse, has no memory, and so
gives the daemon and the command line the same answer at any moment.
"""

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import dagster as dg

from gsum_resources.lineage import Lineage, feeds
from gsum_resources.parquet_store import ParquetStore, Partition
from gsum_resources.table import Table
from gsum_resources.warehouse_io import partition_of

AssetPartition = tuple[dg.AssetKey, Partition]


class Requests:
    """What was asked for: for each corpus the variants of methods, kept in the store."""

    def __init__(self, store: ParquetStore) -> None:
        self._store = store

    def of(self, corpus: str) -> frozenset[str] | None:
        """The variants asked for, or None for a corpus that nobody asked for yet."""
        try:
            return frozenset(json.loads(self._store.fs.cat_file(self._path(corpus))))
        except FileNotFoundError:
            return None

    def add(self, corpus: str, variants: Collection[str]) -> None:
        """Ask for the corpus's own tables and these variants, besides what was asked before."""
        wanted = sorted(set(variants) | (self.of(corpus) or frozenset()))
        self._store.replace_file(self._path(corpus), json.dumps(wanted).encode())

    def forget(self, corpus: str) -> None:
        """Ask for nothing of this corpus any more."""
        if self._store.fs.exists(self._path(corpus)):
            self._store.fs.rm_file(self._path(corpus))

    def _path(self, corpus: str) -> str:
        return f"{self._store.root}/_asked/{corpus}.json"


@dataclass(frozen=True)
class Node:
    """A materializable asset as the conditions see it.

    `partitions` gives its partitions for a corpus, `parents` the assets it rests on.
    """

    key: dg.AssetKey
    table: Table
    code_version: str | None
    partitions: Callable[[str], Sequence[Partition]]
    parents: frozenset[dg.AssetKey]


@dataclass
class Look:
    """The state of the warehouse at one moment; what was looked up stays as it was.

    Parameters
    ----------
    nodes : the materializable assets.
    given_up : partitions whose last attempt failed.
    """

    nodes: Mapping[dg.AssetKey, Node]
    lineage: Lineage
    requests: Requests
    given_up: frozenset[AssetPartition] = frozenset()
    _memo: dict[tuple[str, object], Any] = field(default_factory=dict)

    def is_missing(self, key: dg.AssetKey, partition: Partition) -> bool:
        """Whether a partition that was asked for has no file."""
        corpus = partition.corpus
        asked = self._once("asked", corpus, lambda: self.requests.of(corpus))
        wanted = asked is not None and (partition.method is None or partition.method in asked)
        return wanted and not self.lineage.exists(self.nodes[key].table.name, partition)

    def changes(self, key: dg.AssetKey, partition: Partition) -> list[str]:
        """The inputs of an existing partition that are no longer those it was made from."""
        node = self.nodes[key]
        return self._once(
            "changes",
            (key, partition),
            lambda: self.lineage.changes(node.table.name, partition, node.code_version),
        )

    def is_due(self, key: dg.AssetKey, partition: Partition) -> bool:
        """Missing though asked for, or out of date."""
        return self.is_missing(key, partition) or bool(self.changes(key, partition))

    def unsettled(self, key: dg.AssetKey, corpus: str) -> frozenset[Partition]:
        """The partitions of a corpus that are due or rest on one that is, however far up."""
        return self._once("unsettled", (key, corpus), lambda: self._reach(key, corpus, self.is_due))

    def stuck(self, key: dg.AssetKey, corpus: str) -> frozenset[Partition]:
        """The partitions of a corpus that were given up or rest on one that was."""
        return self._once(
            "stuck",
            (key, corpus),
            lambda: self._reach(key, corpus, lambda k, p: (k, p) in self.given_up, self.stuck),
        )

    def _reach(
        self,
        key: dg.AssetKey,
        corpus: str,
        holds: Callable[[dg.AssetKey, Partition], bool],
        upstream: Callable[[dg.AssetKey, str], frozenset[Partition]] | None = None,
    ) -> frozenset[Partition]:
        """Partitions for which `holds`, or that rest on partitions `upstream` names."""
        node = self.nodes[key]
        above = [
            partition
            for parent in node.parents
            if parent in self.nodes
            for partition in (upstream or self.unsettled)(parent, corpus)
        ]
        return frozenset(
            partition
            for partition in node.partitions(corpus)
            if holds(key, partition) or any(feeds(p, partition) for p in above)
        )

    def _once(self, what: str, of: object, compute: Callable[[], Any]) -> Any:
        if (what, of) not in self._memo:
            self._memo[what, of] = compute()
        return self._memo[what, of]


class Currency:
    """Answers the conditions; one `Look` serves one evaluation of all assets.

    Parameters
    ----------
    new_look : takes a fresh look at the warehouse, given what was given up.
    """

    def __init__(self, new_look: Callable[[frozenset[AssetPartition]], Look]) -> None:
        self._new_look = new_look
        self._look: tuple[object, Look] | None = None
        self.failed_here: set[AssetPartition] | None = None
        """What failed in this process; None lets Dagster's event log tell, as in the daemon."""

    async def look(self, view: Any) -> Look:
        """The look that belongs to `view`, which is that of one evaluation."""
        if self._look is None or self._look[0] is not view:
            if self.failed_here is not None:
                given_up = frozenset(self.failed_here)
            else:
                given_up = await _failed_by_event_log(view, self._new_look(frozenset()).nodes)
            self._look = (view, self._new_look(given_up))
        return self._look[1]


async def _failed_by_event_log(
    view: Any,
    keys: Collection[dg.AssetKey],
) -> frozenset[AssetPartition]:
    failed = set()
    for key in keys:
        everything = view.get_full_subset(key=key)
        subset = await view.compute_execution_failed_subset(key=key, from_subset=everything)
        definition = view.asset_graph.get(key).partitions_def
        found = subset.expensively_compute_partition_keys()
        failed |= {(key, partition_of(k, definition)) for k in found}
    return frozenset(failed)


class StoreCondition(dg.AutomationCondition):
    """A condition that asks the warehouse about each partition."""

    def __init__(
        self,
        currency: Currency,
        label: str,
        meaning: str,
        holds: Callable[[Look, dg.AssetKey, Partition], bool],
    ) -> None:
        self._currency = currency
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
        """No: it has no memory."""
        return False

    async def evaluate(self, context: dg.AutomationContext) -> dg.AutomationResult:  # type: ignore[override]
        """Of the candidates, those that hold; none of an observed asset."""
        view, key = context.asset_graph_view, context.key
        look = await self._currency.look(view)
        definition = context.partitions_def
        if key not in look.nodes or definition is None or context.candidate_subset.is_empty:
            return dg.AutomationResult(context, context.get_empty_subset())
        candidates = context.candidate_subset.expensively_compute_partition_keys()
        keys = {k for k in candidates if self._holds(look, key, partition_of(k, definition))}
        subset = view.get_subset_from_partition_keys(key, definition, keys)
        return dg.AutomationResult(context, subset)


def keep_current(currency: Currency, takes_what_exists: bool = False) -> dg.AutomationCondition:
    """Make what is due, once nothing that it rests on is.

    Parameters
    ----------
    takes_what_exists : for an asset that unites whatever exists (the leaderboard): methods that
        failed do not hold it back.
    """
    missing = StoreCondition(
        currency, "asked_for_and_missing", "Asked for, and has no file yet", Look.is_missing
    )
    out_of_date = StoreCondition(
        currency,
        "out_of_date",
        "An input, a setting, a model or the code is not the one it was made from",
        lambda look, key, p: bool(look.changes(key, p)),
    )
    unsettled = StoreCondition(
        currency,
        "unsettled",
        "Due, or rests on something that is",
        lambda look, key, p: (
            p in look.unsettled(key, p.corpus)
            and not (takes_what_exists and p.method and p in look.stuck(key, p.corpus))
        ),
    )
    given_up = StoreCondition(
        currency,
        "given_up",
        "The last attempt failed; `gsum run` tries again",
        lambda look, key, p: (key, p) in look.given_up,
    )
    in_progress = dg.AutomationCondition.in_progress()
    any_deps = dg.AutomationCondition.any_deps_match
    soon = dg.AutomationCondition.will_be_requested()
    # a missing partition may be made in the run that makes its inputs; one that exists waits, for
    # its inputs may turn out as they were
    first_time = missing & ~any_deps(unsettled & ~soon)
    again = out_of_date & ~any_deps(unsettled)
    ready = (first_time | again) & ~any_deps(in_progress) & ~in_progress & ~given_up
    return ready.with_label("keep_current")


def with_conditions(
    assets: Collection[dg.AssetsDefinition | dg.SourceAsset],
    currency: Currency,
    unite: Collection[str],
) -> list[dg.AssetsDefinition | dg.SourceAsset]:
    """Every materializable asset with its condition; those named in `unite` take what exists."""

    def conditioned(spec: dg.AssetSpec) -> dg.AssetSpec:
        takes = spec.key.to_user_string() in unite
        return spec.replace_attributes(automation_condition=keep_current(currency, takes))

    return [
        asset.map_asset_specs(conditioned) if isinstance(asset, dg.AssetsDefinition) else asset
        for asset in assets
    ]


def automation_sensor(selection: dg.AssetSelection) -> dg.AutomationConditionSensorDefinition:
    """Evaluates the conditions in the code location, since they ask the warehouse."""
    return dg.AutomationConditionSensorDefinition(
        "keep_current",
        target=selection,
        use_user_code_server=True,
        default_status=dg.DefaultSensorStatus.RUNNING,
        minimum_interval_seconds=30,
        description="Makes what was asked for and is missing, and what is out of date.",
    )
