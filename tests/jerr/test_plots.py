"""The plot of the graph: small, reproducible, for any names."""

import numpy as np
import pyarrow as pa
import pytest

from gsum_assets.jerr.plots import graph_picture
from gsum_assets.pipeline.tables import TABLES
from tests.plots.png import check, drawn, is_empty
from tests.plots.toys import ODD_NAMES, with_names


def ids(n: int) -> list[str]:
    return [f"n{i:05d}" for i in range(n)]


def nodes(n: int, names: list[str]) -> pa.Table:
    """The first nodes are mentioned most."""
    return table("nodes", node_id=ids(n), name=with_names(names, n), n_mentions=range(2 * n, n, -1))


def edges(n: int, n_edges: int, names: list[str]) -> pa.Table:
    """Edges between any of the nodes, from one to a later one."""
    ends = np.sort(np.random.default_rng(0).integers(n, size=(4 * n_edges, 2)), axis=1)
    ends = np.unique(ends[ends[:, 0] < ends[:, 1]], axis=0)[:n_edges]
    return table(
        "edges",
        source_id=np.array(ids(n))[ends[:, 0]],
        target_id=np.array(ids(n))[ends[:, 1]],
        relation=with_names(names, len(ends)),
        weight=1 + np.arange(len(ends)) % 5,
    )


def chain(n: int) -> pa.Table:
    return table(
        "edges",
        source_id=ids(n)[:-1],
        target_id=ids(n)[1:],
        relation=["leads to"] * (n - 1),
        weight=[1] * (n - 1),
    )


def table(of: str, /, **columns) -> pa.Table:
    schema = TABLES[f"jerr.{of}"].schema
    arrays = [pa.array(list(values), schema.field(n).type) for n, values in columns.items()]
    return pa.table(arrays, list(columns))


def draw(some: pa.Table, among: pa.Table, title: str = "tales, line chunks of 2000") -> bytes:
    return drawn(graph_picture, some, among, title)


def check_graph(png: bytes) -> None:
    check(png, max_bytes=120_000, max_width=1200)


NAMES = [f"Captain {i}" for i in range(60)]
RELATIONS = ["commands", "is afraid of", "part of"]


def test_row_order_does_not_change_the_plot():
    some, among = nodes(30, NAMES), edges(30, 40, RELATIONS)
    png = draw(some, among)
    check_graph(png)
    order = np.random.default_rng(0).permutation
    assert draw(some.take(order(len(some))), among.take(order(len(among)))) == png


def test_each_edge_and_its_relation_are_drawn():
    some, among = nodes(6, NAMES), edges(6, 6, RELATIONS)
    png = draw(some, among)
    fewer = among.slice(1)
    assert draw(some, fewer) != png
    renamed = pa.array(["rules", *among["relation"].to_pylist()[1:]])
    column = among.column_names.index("relation")
    assert draw(some, among.set_column(column, "relation", renamed)) != png


def test_hidden_elements_change_only_their_count():
    png = draw(nodes(60, NAMES), chain(60))
    check_graph(png)
    other = NAMES[:40] + ["hidden"] * 20
    assert draw(nodes(60, other), chain(60)) == png
    assert draw(nodes(60, other[:39] + ["hidden"] * 21), chain(60)) != png
    assert draw(nodes(61, [*other, "hidden"]), chain(61)) != png


@pytest.mark.parametrize("n", [1, 2, 3, 9, 40])
def test_isolated_nodes(n):
    check_graph(draw(nodes(n, NAMES), edges(n, 0, RELATIONS)))


@pytest.mark.parametrize("n", [2, 3, 6, 40])
def test_chain(n):
    check_graph(draw(nodes(n, NAMES), chain(n)))


@pytest.mark.parametrize("name", ODD_NAMES)
def test_unusual_names_and_relations(name):
    check_graph(draw(nodes(4, [name, "Ann"]), edges(4, 4, [name]), name))


def test_dense_graph_of_unusual_names():
    check_graph(draw(nodes(400, ODD_NAMES), edges(400, 20_000, ODD_NAMES)))


def test_no_nodes_give_an_empty_plot():
    assert is_empty(draw(nodes(0, NAMES), chain(1)))
