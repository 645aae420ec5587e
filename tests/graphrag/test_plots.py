"""The plot of communities: small, reproducible, for any names."""

from collections import Counter
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest

from gsum_assets.graphrag.plots import communities_picture
from gsum_assets.pipeline.tables import TABLES
from tests.plots.png import check, drawn, image_of, is_empty
from tests.plots.toys import ODD_NAMES, with_names


class Graph:
    """Communities of level 0, each a wheel; and a relationship from each to the next.

    Its attributes are the tables, of the columns that the picture reads.
    """

    def __init__(self, sizes: list[int], names: list[str]) -> None:
        members = [[f"e{c:05d}-{i:05d}" for i in range(size)] for c, size in enumerate(sizes)]
        ids = [entity_id for some in members for entity_id in some]
        pairs = [(some[0], other) for some in members for other in some[1:]]
        pairs += [(a, b) for some in members for a, b in pairwise(some[1:])]
        pairs += [(a[0], b[-1]) for a, b in pairwise(members)]
        degrees = Counter(end for pair in pairs for end in pair)
        self.names = dict(zip(ids, with_names(names, len(ids)), strict=True))
        self.entities = table(
            "entities", entity_id=ids, name=self.names.values(), degree=[degrees[i] for i in ids]
        )
        self.relationships = table(
            "relationships",
            source_id=[source for source, _ in pairs],
            target_id=[target for _, target in pairs],
            weight=1 + np.random.default_rng(0).integers(9, size=len(pairs)),
        )
        self.communities = table(
            "communities",
            level=[0] * len(members),
            number=range(len(members)),
            title=[", ".join(self.names[i] for i in some[:3]) for some in members],
            size=sizes,
            entity_ids=members,
        )

    def draw(self, title: str = "tales: largest communities") -> bytes:
        rows = (self.communities, self.entities, self.relationships)
        return drawn(communities_picture, *rows, title)


def table(of: str, /, **columns) -> pa.Table:
    schema = TABLES[f"graphrag.{of}"].schema
    arrays = [pa.array(list(values), schema.field(n).type) for n, values in columns.items()]
    return pa.table(arrays, list(columns))


def check_graph(png: bytes) -> None:
    check(png, max_bytes=120_000, max_width=1200)


NAMES = [f"Captain {i}" for i in range(40)]
SIZES = [40, 18, 15, 9, 4, 1, 1]


def test_row_order_does_not_change_the_plot():
    graph = Graph(SIZES, NAMES)
    png = graph.draw()
    check_graph(png)
    for name in ("communities", "entities", "relationships"):
        rows = getattr(graph, name)
        order = np.random.default_rng(0).permutation(rows.num_rows)
        setattr(graph, name, rows.take(order))
    ends = ["target_id", "source_id", "weight"]
    graph.relationships = graph.relationships.select(ends).rename_columns(
        ["source_id", "target_id", "weight"]
    )
    assert graph.draw() == png


def test_relationships_within_and_between_communities_are_drawn():
    graph = Graph(SIZES, NAMES)
    png = graph.draw()
    rows = graph.relationships
    for left_out in (0, rows.num_rows - 3):  # from a hub to another entity; between two communities
        kept = [i for i in range(rows.num_rows) if i != left_out]
        graph.relationships = rows.take(kept)
        assert graph.draw() != png


def test_hidden_elements_change_only_their_count():
    graph = Graph([20] * 13, NAMES)
    png = graph.draw()
    other = Graph([20] * 13, NAMES)
    ids = other.entities["entity_id"].to_pylist()
    is_hidden = [i.startswith("e00012") or int(i[-2:]) >= 15 for i in ids]
    names = [
        f"hidden {n}" if hidden else name
        for n, (hidden, name) in enumerate(
            zip(is_hidden, other.entities["name"].to_pylist(), strict=True)
        )
    ]
    other.entities = other.entities.set_column(1, "name", pa.array(names))
    assert other.draw() == png
    deeper = table("communities", level=[1], number=[13], title=["x"], size=[9], entity_ids=[[]])
    other.communities = pa.concat_tables([deeper, other.communities])
    assert other.draw() == png
    assert Graph([20] * 14, NAMES).draw() != png


def test_single_member_community_has_no_cell_next_to_larger_ones():
    one, two = Graph([5, 5, 1], NAMES), Graph([5, 5, 1], NAMES)
    ids = two.entities["entity_id"].to_pylist()
    names = ["alone" if i.startswith("e00002") else two.names[i] for i in ids]
    two.entities = two.entities.set_column(1, "name", pa.array(names))
    assert one.draw() == two.draw()
    assert Graph([1], ["alone"]).draw() != Graph([1], ["Captain"]).draw()


@pytest.mark.parametrize("sizes", [[1], [2], [3], [1, 1], [16], [5, 5, 5, 5], [1] * 14])
def test_smallest_graphs(sizes):
    check_graph(Graph(sizes, NAMES).draw())


@pytest.mark.parametrize("name", ODD_NAMES)
def test_unusual_names(name):
    check_graph(Graph([6, 4, 2, 1], [name, "Ann"]).draw(name))


def test_all_unusual_names_together():
    check_graph(Graph([20] * 12, ODD_NAMES).draw())


def test_no_communities_give_an_empty_plot():
    assert is_empty(Graph([], NAMES).draw())


def test_disconnected_community_is_drawn():
    graph = Graph([12], NAMES)
    png = graph.draw()
    graph.relationships = graph.relationships.slice(0, 3)
    check_graph(graph.draw())
    assert graph.draw() != png


def test_largest_communities_of_a_large_graph_are_drawn():
    graph = Graph([2_000] * 5 + [1_000] * 20 + [1] * 20_000, NAMES)
    png = graph.draw()
    check_graph(png)
    assert image_of(png).size == image_of(graph.draw("x")).size
