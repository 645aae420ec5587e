"""The plot of communities: what it draws, and what it leaves out."""

import numpy as np
import pyarrow as pa
import pytest

from gsum_assets.graphrag.plots import communities_picture
from tests.plots.method_toys import columns_of
from tests.plots.method_toys import communities as toy_communities
from tests.plots.png import check, drawn, image_of
from tests.plots.toys import ODD_NAMES

NAMES = [f"Captain {i}" for i in range(40)]
SIZES = [40, 18, 15, 9, 4, 1, 1]
LARGE = {"max_bytes": 120_000, "max_width": 1200}


def draw(*tables: pa.Table, title: str = "tales: largest communities") -> bytes:
    return drawn(communities_picture, *tables, title)


def renamed(entities: pa.Table, name_of: dict[str, str]) -> pa.Table:
    """Entities, some with another name, by their ids."""
    ids, names = (entities[name].to_pylist() for name in ("entity_id", "name"))
    changed = [name_of.get(i, name) for i, name in zip(ids, names, strict=True)]
    return entities.set_column(entities.column_names.index("name"), "name", pa.array(changed))


def test_direction_of_relationships_does_not_change_the_plot():
    communities, entities, related = toy_communities(SIZES, NAMES)
    turned = related.select(["target_id", "source_id", "weight"])
    turned = turned.rename_columns(["source_id", "target_id", "weight"])
    assert draw(communities, entities, turned) == draw(communities, entities, related)


def test_relationships_within_and_between_communities_are_drawn():
    communities, entities, related = toy_communities(SIZES, NAMES)
    png = draw(communities, entities, related)
    n = related.num_rows
    for left_out in (0, n - 3):  # from a hub to another entity; between two communities
        fewer = related.take(np.delete(np.arange(n), left_out))
        assert draw(communities, entities, fewer) != png


def test_hidden_elements_change_only_their_count():
    communities, entities, related = toy_communities([20] * 13, NAMES)
    png = draw(communities, entities, related)
    ids = entities["entity_id"].to_pylist()
    hidden = [i for i in ids if i.startswith("e00012") or int(i[-2:]) >= 15]
    other = renamed(entities, {i: f"hidden {n}" for n, i in enumerate(hidden)})
    assert draw(communities, other, related) == png
    row = {"level": [1], "number": [13], "title": ["x"], "size": [9], "entity_ids": [[]]}
    deeper = pa.concat_tables([columns_of("graphrag.communities", **row), communities])
    assert draw(deeper, other, related) == png
    assert draw(*toy_communities([20] * 14, NAMES)) != png


def test_single_member_community_has_no_cell_next_to_larger_ones():
    communities, entities, related = toy_communities([5, 5, 1], NAMES)
    alone = renamed(entities, {"e00002-00000": "alone"})
    assert alone != entities
    assert draw(communities, alone, related) == draw(communities, entities, related)
    assert draw(*toy_communities([1], ["alone"])) != draw(*toy_communities([1], ["Captain"]))


@pytest.mark.parametrize(
    ("sizes", "names"),
    [*(([*sizes], NAMES) for sizes in ([1, 1], [16], [5] * 4, [1] * 14)), ([20] * 12, ODD_NAMES)],
)
def test_equal_communities_are_drawn(sizes, names):
    check(draw(*toy_communities(sizes, names)), **LARGE)


def test_disconnected_community_is_drawn():
    communities, entities, related = toy_communities([12], NAMES)
    png = draw(communities, entities, related.slice(0, 3))
    check(png, **LARGE)
    assert png != draw(communities, entities, related)


def test_largest_communities_of_a_large_graph_are_drawn():
    tables = toy_communities([2_000] * 5 + [1_000] * 20 + [1] * 20_000, NAMES)
    png = draw(*tables)
    check(png, **LARGE)
    assert image_of(png).size == image_of(draw(*tables, title="x")).size
