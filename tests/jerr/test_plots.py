"""The plot of the graph: what it draws, and what it leaves out."""

import pyarrow as pa
import pytest

from gsum_assets.jerr.plots import graph_picture
from tests.plots.method_toys import chain, concepts, relations
from tests.plots.png import check, drawn
from tests.plots.toys import ODD_NAMES

LARGE = {"max_bytes": 120_000, "max_width": 1200}


def draw(some: pa.Table, among: pa.Table, title: str = "tales, line chunks of 2000") -> bytes:
    return drawn(graph_picture, some, among, title)


NAMES = [f"Captain {i}" for i in range(60)]
RELATIONS = ["commands", "is afraid of", "part of"]


def test_each_edge_and_its_relation_are_drawn():
    some, among = concepts(6, NAMES), relations(6, 6, RELATIONS)
    png = draw(some, among)
    fewer = among.slice(1)
    assert draw(some, fewer) != png
    renamed = pa.array(["rules", *among["relation"].to_pylist()[1:]])
    column = among.column_names.index("relation")
    assert draw(some, among.set_column(column, "relation", renamed)) != png


def test_hidden_elements_change_only_their_count():
    png = draw(concepts(60, NAMES), chain(60))
    check(png, **LARGE)
    other = NAMES[:40] + ["hidden"] * 20
    assert draw(concepts(60, other), chain(60)) == png
    assert draw(concepts(60, other[:39] + ["hidden"] * 21), chain(60)) != png
    assert draw(concepts(61, [*other, "hidden"]), chain(61)) != png


@pytest.mark.parametrize("n", [1, 2, 3, 9, 40])
def test_isolated_nodes_and_chains_are_drawn(n):
    for edges in (relations(n, 0, RELATIONS), chain(n)):
        check(draw(concepts(n, NAMES), edges), **LARGE)


def test_dense_graph_of_unusual_names():
    check(draw(concepts(400, ODD_NAMES), relations(400, 20_000, ODD_NAMES)), **LARGE)
