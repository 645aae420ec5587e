"""The plot of a passage graph: small, reproducible, for any names."""

import numpy as np
import pyarrow as pa
import pytest

from gsum_assets.lightpal import plots
from gsum_assets.lightpal.plots import passage_graph_picture
from tests.lightpal.toys import edge_table
from tests.plots.png import check, drawn, is_empty
from tests.plots.toys import ODD_NAMES, with_names


def chunks(documents: list[str], n_each: int = 1) -> pa.Table:
    rows = [
        {"chunk_id": f"c{i:05d}-{n}", "document_id": document, "position": n}
        for i, document in enumerate(documents)
        for n in range(n_each)
    ]
    return pa.table(
        {
            "chunk_id": pa.array([row["chunk_id"] for row in rows], pa.string()),
            "document_id": pa.array([row["document_id"] for row in rows], pa.string()),
            "position": pa.array([row["position"] for row in rows], pa.int32()),
        }
    )


def edges(pairs: list[tuple[str, str]], level: str, graph: str = "walk") -> pa.Table:
    weights = np.random.default_rng(len(pairs)).random(len(pairs))
    return edge_table(
        {"graph": graph, "level": level, "scope": "corpus", "weight": weight}
        | {"source_id": source, "target_id": target}
        for (source, target), weight in zip(pairs, weights, strict=True)
    )


def groups(ids: list[str], n_groups: int) -> list[tuple[str, str]]:
    """Each joined to the next three of its group, and one edge from group to group."""
    pairs = []
    for g in range(n_groups):
        mine = ids[g::n_groups]
        pairs += [(a, b) for i, a in enumerate(mine) for b in mine[i + 1 : i + 4]]
        pairs += [(ids[g], ids[(g + 1) % n_groups])] if n_groups > 1 else []
    return pairs


def draw(rows: pa.Table, of: pa.Table, title: str = "tales") -> bytes:
    return drawn(passage_graph_picture, rows, of, title)


NAMES = [f"story {i}" for i in range(60)]


@pytest.mark.parametrize("n_groups", [1, 3, 9])
def test_row_order_does_not_change_the_plot(n_groups):
    rows = edges(groups(NAMES, n_groups), "document")
    png = draw(rows, chunks(NAMES))
    check(png)
    order = np.random.default_rng(0).permutation(rows.num_rows)
    backwards = chunks(NAMES).take(np.arange(len(NAMES))[::-1])
    assert draw(rows.take(order), backwards) == png
    assert draw(rows.slice(0, 40), chunks(NAMES)) != png


def test_only_the_walked_graph_is_drawn():
    rows = edges(groups(NAMES, 3), "document")
    other = edges(groups(NAMES, 2), "document", "context")
    of_chunks = edges(groups(NAMES, 2), "node")
    assert draw(pa.concat_tables([rows, other, of_chunks]), chunks(NAMES)) == draw(
        rows, chunks(NAMES)
    )


def test_chunks_of_few_documents_are_drawn():
    of = chunks(["a", "b"], 20)
    ids = of["chunk_id"].to_pylist()
    rows = pa.concat_tables([edges(groups(ids, 4), "node"), edges([("a", "b")], "document")])
    png = draw(rows, of)
    check(png)
    assert png != draw(rows.slice(0, 15), of)
    assert png == draw(rows.slice(0, rows.num_rows - 1), of)  # without the edge of documents


@pytest.mark.parametrize("n_each", [1, 3])  # documents, or chunks
def test_unusual_names(n_each):
    names = [f"{name}{i}" for i, name in enumerate(with_names(ODD_NAMES, 7 if n_each > 1 else 16))]
    of = chunks(names, n_each)
    level, ids = ("document", names) if n_each == 1 else ("node", of["chunk_id"].to_pylist())
    check(draw(edges(groups(ids, 2), level), of, ODD_NAMES[1]))


@pytest.mark.parametrize("n", [0, 1])
def test_no_edges_give_an_empty_plot(n):
    png = draw(edges([], "node"), chunks(["a"] * n))
    assert is_empty(png)
    assert is_empty(draw(edges([], "document"), chunks(NAMES)))


@pytest.mark.parametrize("n", [2, 3, 4])
def test_smallest_graphs(n):
    of = chunks(["a"], n)
    ids = of["chunk_id"].to_pylist()
    check(draw(edges([(ids[0], other) for other in ids[1:]], "node"), of))


def test_largest_hub_of_a_large_graph_is_shown_with_its_neighbours(monkeypatch):
    monkeypatch.setattr(plots, "_MOST_SHOWN", 50)
    star = [(NAMES[0], name) for name in NAMES[1:]]
    others = [f"note {i}" for i in range(40)]
    far = list(zip(others[::2], others[1::2], strict=True))
    rows, of = edges([*far, *star], "document"), chunks([*NAMES, *others])
    png = draw(rows, of)
    assert draw(rows.slice(len(far)), of) == png
    assert draw(rows.slice(len(far) + 20), of) != png
