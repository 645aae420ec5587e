"""Pictures of clusters and losses: small, the same for the same input, and true in their pixels."""

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from gsum_assets.gae import plots
from gsum_assets.gae.plots import clusters_picture, loss_picture
from gsum_assets.plots.figure import COLOURS, DPI
from tests.plots.method_toys import clusters as clusters_of
from tests.plots.png import check, drawn, image_of, is_empty

PLANE = (slice(round(0.6 * DPI), round(5.8 * DPI)), slice(0, round(5.5 * DPI)))
BARS = (slice(round(6.5 * DPI), round(6.6 * DPI)), slice(round(0.62 * DPI), round(8.48 * DPI)))


def draw(embeddings, clusters, names=None, title="tales, dbscan", **how) -> bytes:
    names = names or [f"d{i}" for i in range(len(clusters))]
    return drawn(clusters_picture, embeddings, np.asarray(clusters), names, title, **how)


def where(png: bytes, colour: str, region: tuple[slice, slice]) -> np.ndarray:
    """Pixels of (nearly) that colour in a part of the picture, `(n, 2)`: down and across."""
    pixels = np.asarray(image_of(png).convert("RGB")).astype(int)[region]
    wanted = [int(colour[i : i + 2], 16) for i in (1, 3, 5)]
    return np.argwhere(np.abs(pixels - wanted).max(axis=2) < 25)


def test_same_passages_give_the_same_plot():
    embeddings, clusters = clusters_of(20, 12, 5, 1, 1)
    png = draw(embeddings, clusters, silhouette=0.5)
    check(png)
    with threadpool_limits(2):
        assert draw(embeddings, clusters, silhouette=0.5) == png
    assert draw(embeddings, clusters, silhouette=0.4) != png
    assert draw(embeddings, np.minimum(clusters, 2), silhouette=0.5) != png


def test_clusters_with_distant_embeddings_are_apart():
    png = draw(*clusters_of(30, 30))
    first, second = (where(png, colour, PLANE) for colour in COLOURS[:2])
    apart = np.linalg.norm(first.mean(axis=0) - second.mean(axis=0))
    for pixels in (first, second):
        assert np.linalg.norm(pixels - pixels.mean(axis=0), axis=1).mean() < apart / 2


def test_vector_length_does_not_matter():
    embeddings, clusters = clusters_of(20, 12)
    assert draw(4 * embeddings, clusters) == draw(embeddings, clusters)


def test_bar_width_is_its_share():
    png = draw(*clusters_of(30, 9, 1))
    n_columns = BARS[1].stop - BARS[1].start
    for colour, share in zip(COLOURS, (0.75, 0.225), strict=False):
        bar = where(png, colour, BARS)
        assert len(np.unique(bar[:, 1])) / n_columns == pytest.approx(share, abs=0.01)


def test_sample_covers_every_coloured_cluster(monkeypatch):
    embeddings, clusters = clusters_of(900, *[2] * 5, *[1] * 200)
    monkeypatch.setattr(plots, "_MOST_SHOWN", 60)
    png = draw(embeddings, clusters)
    for colour in COLOURS:
        assert len(where(png, colour, PLANE)) > 10
    monkeypatch.setattr(plots, "_MOST_SHOWN", 61)
    assert draw(embeddings, clusters) != png


def test_legend_has_the_ten_largest_and_no_singletons():
    _, clusters = clusters_of(*[3] * 12, 1)
    embeddings = np.random.default_rng(1).normal(size=(len(clusters), 8))
    names = [f"story {i}" for i in range(len(clusters))]
    png = draw(embeddings, clusters, names)
    for cluster in (0, 9, 10, 12):
        renamed = [
            f"other {i}" if c == cluster else n
            for i, (c, n) in enumerate(zip(clusters, names, strict=True))
        ]
        assert (draw(embeddings, clusters, renamed) != png) == (cluster < 10)


@pytest.mark.parametrize("n", [1, 2, 3, 9, 10, 11])
@pytest.mark.parametrize("dim", [1, 2, 8])
def test_few_passages(n, dim):
    embeddings = np.random.default_rng(n).normal(size=(n, dim))
    for clusters in (np.zeros(n, int), np.arange(n)):  # all in one, each alone
        check(draw(embeddings, clusters))


@pytest.mark.parametrize("value", [0.0, 0.3])
def test_identical_passages(value):
    check(draw(np.full((40, 8), value, np.float32), np.repeat([0, 1], 20)))


def test_half_of_the_passages_identical():
    embeddings, clusters = clusters_of(20, 20)
    embeddings[:20] = embeddings[0]
    check(draw(embeddings, clusters))


def losses(values, constant=0.7, auc=0.9) -> bytes:
    return drawn(loss_picture, values, constant, auc, "tales")


@pytest.mark.parametrize("n", [1, 2, 9, 300])
def test_losses(n):
    falling = (1 / np.arange(1, n + 1)).tolist()
    png = losses(falling)
    check(png)
    assert losses(falling) == png
    assert losses(falling, constant=0.2) != png
    assert losses(falling, auc=0.5) != png


def test_loss_halving_each_epoch_is_a_straight_line():
    axes = (slice(round(0.5 * DPI), round(2.45 * DPI)), slice(round(0.72 * DPI), round(5.3 * DPI)))
    down, across = where(losses(0.5 ** np.arange(40)), COLOURS[0], axes).T
    line = np.polyfit(across, down, 1)
    assert line[0] > 0
    assert np.abs(np.polyval(line, across) - down).max() < 2
    assert np.ptp(across) > 400


@pytest.mark.parametrize(
    "values", [[0.7] * 20, [0.7, 0.69], [300.0, 0.02], [0.7, float("nan"), 0.0]]
)
def test_unusual_losses(values):
    check(losses(values))


@pytest.mark.parametrize("values", [[], [float("nan")]])
def test_no_loss_yet(values):
    assert is_empty(losses(values))
