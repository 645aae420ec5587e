"""The plot of a passage graph: what it draws, and what it leaves out."""

import pyarrow as pa
import pytest

from gsum_assets.lightpal import plots
from gsum_assets.lightpal.plots import passage_graph_picture
from tests.plots.method_toys import groups, passage_edges, passages
from tests.plots.png import check, drawn, is_empty
from tests.plots.toys import ODD_NAMES, with_names


def draw(rows: pa.Table, of: pa.Table, title: str = "tales") -> bytes:
    return drawn(passage_graph_picture, rows, of, title)


NAMES = [f"story {i}" for i in range(60)]


def test_only_the_walked_graph_is_drawn():
    rows = passage_edges(groups(NAMES, 3), "document")
    other = passage_edges(groups(NAMES, 2), "document", "context")
    of_chunks = passage_edges(groups(NAMES, 2), "node")
    assert draw(pa.concat_tables([rows, other, of_chunks]), passages(NAMES)) == draw(
        rows, passages(NAMES)
    )


def test_chunks_of_few_documents_are_drawn():
    of = passages(["a", "b"], 20)
    ids = of["chunk_id"].to_pylist()
    rows = pa.concat_tables(
        [passage_edges(groups(ids, 4), "node"), passage_edges([("a", "b")], "document")]
    )
    png = draw(rows, of)
    check(png)
    assert png != draw(rows.slice(0, 15), of)
    assert png == draw(rows.slice(0, rows.num_rows - 1), of)  # without the edge of documents


def test_unusual_names_of_documents_of_many_chunks():
    of = passages([f"{name}{i}" for i, name in enumerate(with_names(ODD_NAMES, 7))], 3)
    ids = of["chunk_id"].to_pylist()
    check(draw(passage_edges(groups(ids, 2), "node"), of, ODD_NAMES[1]))


@pytest.mark.parametrize("documents", [[], ["a"], NAMES])
def test_passages_without_edges_give_an_empty_plot(documents):
    level = "document" if len(documents) > 1 else "node"
    assert is_empty(draw(passage_edges([], level), passages(documents)))


@pytest.mark.parametrize("n", [2, 3, 4])
def test_smallest_graphs(n):
    of = passages(["a"], n)
    ids = of["chunk_id"].to_pylist()
    check(draw(passage_edges([(ids[0], other) for other in ids[1:]], "node"), of))


def test_largest_hub_of_a_large_graph_is_shown_with_its_neighbours(monkeypatch):
    monkeypatch.setattr(plots, "_MOST_SHOWN", 50)
    star = [(NAMES[0], name) for name in NAMES[1:]]
    others = [f"note {i}" for i in range(40)]
    far = list(zip(others[::2], others[1::2], strict=True))
    rows, of = passage_edges([*far, *star], "document"), passages([*NAMES, *others])
    png = draw(rows, of)
    assert draw(rows.slice(len(far)), of) == png
    assert draw(rows.slice(len(far) + 20), of) != png
