"""Which assets one run writes after what is due: a graph of toys, decided without a run."""

from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

import dagster as dg
import pytest

from gsum_assets.dagster_assets.partitions import corpora, corpus_methods
from gsum_assets.runner.followers import followers
from gsum_resources.store.parquet_store import Partition

METHODS = corpus_methods(["one", "other"])
HERE, OTHER = Partition("tales", method="one"), Partition("tales", method="other")


class Toy:
    """Assets by method `rankings`, `contexts`, `answers`, of which the first is due.

    `index` is by corpus, `board` unites the methods.
    """

    def __init__(self) -> None:
        definitions = dict.fromkeys(("rankings", "contexts", "answers"), METHODS)
        definitions |= {"index": corpora, "board": corpora}
        parents = {"rankings": ["index"], "contexts": ["rankings"], "answers": ["contexts"]}
        parents |= {"index": [], "board": ["answers"]}
        self.nodes = {
            dg.AssetKey(name): SimpleNamespace(
                definition=definition,
                parents=frozenset(map(dg.AssetKey, parents[name])),
                table=SimpleNamespace(name=name),
            )
            for name, definition in definitions.items()
        }
        self.unsettled_of: dict[str, set[Partition]] = {
            name: {HERE} for name in ("rankings", "contexts", "answers")
        }
        self.given_up: set[tuple[str, Partition]] = set()
        self.awaiting: set[tuple[str, Partition]] = set()
        self.missing: set[tuple[str, Partition]] = set()
        self.lineage = SimpleNamespace(exists=lambda table, p: (table, p) not in self.missing)

    @property
    def graph(self) -> Any:
        graph = {
            key: SimpleNamespace(
                execution_set_asset_keys={key},
                parent_keys=set(node.parents),
                partitions_def=node.definition,
            )
            for key, node in self.nodes.items()
        }
        order = [dg.AssetKey(n) for n in ("index", "rankings", "contexts", "answers", "board")]
        return SimpleNamespace(get=graph.__getitem__, toposorted_asset_keys=order)

    @property
    def snapshot(self) -> Any:
        def name(key: dg.AssetKey) -> str:
            return key.to_user_string()

        return SimpleNamespace(
            nodes=self.nodes,
            lineage=self.lineage,
            is_wanted=lambda key, p: False,
            is_in_scope=lambda key, p: True,
            is_given_up=lambda key, p: (name(key), p) in self.given_up,
            awaits_acceptance=lambda key, p: (name(key), p) in self.awaiting,
            is_dispensable=lambda *_: False,
            unsettled=lambda key, _: self.unsettled_of.get(name(key), set()),
        )

    def after(self, *names: str) -> list[str]:
        keys = [dg.AssetKey(name) for name in names]
        found = followers(self.graph, self.snapshot, keys, [HERE])
        return [key.to_user_string() for key in found]


def test_all_that_follows_in_the_same_partition_is_in_the_run() -> None:
    assert Toy().after("rankings") == ["contexts", "answers"]


def test_another_method_that_is_due_does_not_matter() -> None:
    toy = Toy()
    toy.unsettled_of["contexts"] = {HERE, OTHER}
    assert toy.after("rankings") == ["contexts", "answers"]


@pytest.mark.parametrize(
    ("what", "expected"),
    [
        ({"given_up": {("answers", HERE)}}, ["contexts"]),
        ({"awaiting": {("contexts", HERE)}}, []),  # and what waits for it
        ({"missing": {("contexts", HERE)}}, []),  # nobody requested it
    ],
)
def test_what_may_not_be_written_ends_the_run(what: Mapping[str, Any], expected: list[str]) -> None:
    toy = Toy()
    for name, value in what.items():
        setattr(toy, name, value)
    assert toy.after("rankings") == expected


def test_an_asset_that_also_waits_for_another_partition_is_left_to_a_later_run() -> None:
    toy = Toy()
    toy.nodes[dg.AssetKey("answers")].parents |= {dg.AssetKey("index")}
    toy.unsettled_of["index"] = {Partition("tales")}
    assert toy.after("rankings") == ["contexts"]
