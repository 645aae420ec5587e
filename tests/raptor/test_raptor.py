"""Clusters with plain numbers, and trees of a scripted model."""

import numpy as np
import pytest

from gsum_assets.corpus.chunk import n_word_pieces
from gsum_assets.pipeline.tables import TABLES
from gsum_assets.raptor.clusters import soft_clusters
from gsum_assets.raptor.settings import TreeSettings
from gsum_assets.raptor.tree import summarize
from tests.gor.toy_documents import Lookup, Scripted, chunk_table, embedding_table

SETTINGS = TreeSettings(dim=2, reduction="pca", summary_words=10)
CENTRES = np.eye(4, dtype=np.float32)
TEXTS = [f"text {i} of group {i % 4}" for i in range(24)]
"""24 texts, each near the centre of one of four groups."""


def near(groups: list[int]) -> np.ndarray:
    noise = np.random.default_rng(0).normal(scale=0.01, size=(len(groups), 4))
    vectors = CENTRES[groups] + noise.astype(np.float32)
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


VECTORS = near([i % 4 for i in range(24)])


def tree(say, settings: TreeSettings = SETTINGS, n: int = 24):
    chunks = chunk_table({"a": TEXTS[:n]})
    model = Scripted(say)
    embedder = Lookup({f"about {group}": CENTRES[group].tolist() for group in range(4)}, 4)
    found = summarize(
        chunks, embedding_table(chunks, VECTORS[:n]), model, embedder,
        settings,
    )  # fmt: skip
    return found, model, dict(zip(chunks["chunk_id"].to_pylist(), TEXTS, strict=False))


def about(request) -> str:
    return f"about {request.passages[0].split()[-1]}"


def test_groups_are_found() -> None:
    clusters = soft_clusters(VECTORS, SETTINGS)
    assert sorted(map(tuple, clusters)) == [tuple(range(g, 24, 4)) for g in range(4)]


def test_point_between_two_groups_belongs_to_both() -> None:
    spread = np.random.default_rng(1).normal(scale=0.2, size=(120, 2))
    points = np.vstack([spread + [[0, 0], [1, 0]] * 60, [[0.5, 0]]])
    clusters = soft_clusters(points, SETTINGS)
    assert [120 in members for members in clusters] == [True, True]


def test_each_cluster_is_summarized_over_its_passages() -> None:
    found, model, text_of = tree(about)
    rows = [row for row in found.rows.to_pylist() if row["layer"] == 1]
    for row, request in zip(rows, model.calls[0], strict=True):
        assert [text_of[i] for i in row["child_ids"]] == list(request.passages)
        assert row["child_ids"] == row["chunk_ids"]
        assert len({text.split()[-1] for text in request.passages}) == 1
    assert found.rows.schema.names == TABLES["raptor.tree_nodes"].schema.names


def test_summaries_are_summarized_until_too_few_are_left() -> None:
    found, _, _ = tree(about)
    layers = [row["layer"] for row in found.rows.to_pylist()]
    assert layers.count(1) == 4
    assert max(layers) == 2
    of_top = [row for row in found.rows.to_pylist() if row["layer"] == 2]
    assert sum(len(row["chunk_ids"]) for row in of_top) >= 24


def test_short_document_has_no_summaries() -> None:
    found, model, _ = tree(about, n=3)
    assert found.rows.num_rows == 0
    assert not model.requests


def test_long_cluster_is_divided() -> None:
    settings = SETTINGS.model_copy(update={"cluster_tokens": 30})
    _, model, _ = tree(about, settings)
    assert max(sum(n_word_pieces(request.passages)) for request in model.requests) <= 30


def test_cluster_without_a_reply_is_named() -> None:
    def say(request):
        return None if request.passages[0].endswith("2") else about(request)

    found, _, _ = tree(say)
    assert found.rows["layer"].to_pylist().count(1) == 3
    (failure,) = found.failures
    assert failure.startswith("document 'a', layer 1, cluster ")
    assert failure.endswith("no summary: the server is tired")


@pytest.mark.slow
def test_umap_finds_groups() -> None:
    settings = TreeSettings(dim=2)
    clusters = soft_clusters(VECTORS, settings)
    assert all(len({i % 4 for i in members}) == 1 for members in clusters)
