"""The plane of widest spread against arrangements whose plane is known."""

import inspect

import numpy as np
import pyarrow as pa
import pytest

from gsum_assets.plots.embedding_map import embedding_map, principal_plane
from tests.plots import toys


@pytest.mark.parametrize("dimension", [3, 50], ids=["more rows", "more dimensions"])
def test_ellipse_lies_along_its_axes(dimension: int) -> None:
    angles = np.linspace(0, 2 * np.pi, 12, endpoint=False)
    vectors = np.full((12, dimension), 7.0)
    vectors[:, 1] += 3 * np.cos(angles)
    vectors[:, 2] += 1 * np.sin(angles)
    points, shares = principal_plane(vectors)
    np.testing.assert_allclose(np.abs(points[:, 0]), np.abs(3 * np.cos(angles)), atol=1e-6)
    np.testing.assert_allclose(np.abs(points[:, 1]), np.abs(np.sin(angles)), atol=1e-6)
    np.testing.assert_allclose(shares, [0.9, 0.1], atol=1e-9)


def test_planar_points_keep_their_distances() -> None:
    rng = np.random.default_rng(0)
    flat, turn = rng.normal(size=(9, 2)), np.linalg.qr(rng.normal(size=(20, 2)))[0]
    points, shares = principal_plane(flat @ turn.T)
    apart = np.linalg.norm(flat[:, None] - flat[None], axis=2)
    np.testing.assert_allclose(np.linalg.norm(points[:, None] - points[None], axis=2), apart)
    assert shares.sum() == pytest.approx(1)


@pytest.mark.parametrize("n", [1, 2, 5])
def test_equal_vectors_coincide(n: int) -> None:
    points, shares = principal_plane(np.ones((n, 4), np.float32))
    np.testing.assert_allclose(points, np.zeros((n, 2)), atol=1e-6)
    np.testing.assert_array_equal(shares, [0, 0])


def test_one_dimension_has_no_second_axis() -> None:
    points, shares = principal_plane(np.array([[0.0], [2.0]]))
    np.testing.assert_allclose(np.abs(points), [[1, 0], [1, 0]])
    np.testing.assert_allclose(shares, [1, 0])


def test_sample_does_not_depend_on_row_order() -> None:
    rows = toys.embeddings(1_200, [f"d{i}" for i in range(9)])
    backwards = rows.take(pa.array(range(1_199, -1, -1)))
    assert embedding_map(rows, "tales") == embedding_map(backwards, "tales")


@pytest.mark.parametrize(("n", "grey"), [(7, "d6"), (9, "3 others")])
def test_one_grey_document_has_its_name(n: int, grey: str) -> None:
    figure = inspect.unwrap(embedding_map)(toys.embeddings(90, [f"d{i}" for i in range(n)]), "t")
    legend = figure.axes[0].get_legend()
    names = [text.get_text().strip() for text in legend.get_texts()]
    assert names == [grey, *(f"d{i}" for i in range(6))]
