"""Edges between passages (position, citations, words) and features of passages."""

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from gsum_assets.gae import graph
from gsum_assets.gae.graph import (
    citations,
    edges_of,
    graph_edges,
    nearest_by_words,
    neighbours,
    node_features,
    word_components,
    word_vectors,
)
from gsum_assets.pipeline.tables import TABLES
from gsum_assets.retrieval.collection import Collection
from gsum_assets.retrieval.words import Words
from tests.gor.toy_documents import shuffled
from tests.retrieval.toys import collection


def pairs(edges) -> set[tuple[int, int]]:
    return set(zip(edges.sources.tolist(), edges.targets.tolist(), strict=True))


def vectors_of(texts: list[str]) -> csr_matrix:
    return word_vectors(texts, Words())


def features(texts: list[str], vectors: np.ndarray) -> np.ndarray:
    ids = [f"c{i}" for i in range(len(texts))]
    here = Collection(ids, texts, ids, texts, np.arange(len(texts) + 1), vectors)
    return node_features(here, "en")


def test_words_of_one_or_of_many_texts_are_left_out() -> None:
    texts = ["boat lamp lamp", "boat oar lamp", "peat rail oar", "rail peat iron", "coin", "frost"]
    found = vectors_of(texts).toarray()
    assert found.shape == (6, 5)  # coin, frost and iron are in one text
    once, twice = (1 + np.log(n) for n in (1, 2))
    expected = np.array([once, twice]) / np.hypot(once, twice)  # boat and lamp are equally rare
    np.testing.assert_allclose(found[0][found[0] > 0], expected, atol=1e-6)
    assert vectors_of(["boat"] * 7).shape == (7, 0)


def test_neighbours_stay_within_documents() -> None:
    assert pairs(neighbours(np.array([0, 3, 4, 6]))) == {(0, 1), (1, 2), (4, 5)}


def test_nearest_neighbours_share_words() -> None:
    texts = ["boat lamp", "boat lamp oar", "peat rail", "peat rail iron", "nobody"]
    assert pairs(nearest_by_words(vectors_of(texts), 1)) == {(0, 1), (1, 0), (2, 3), (3, 2)}
    assert not pairs(nearest_by_words(vectors_of(["one", "two"]), 1))
    assert not pairs(nearest_by_words(vectors_of(texts), 0))


def test_citations_are_edges_if_both_documents_exist() -> None:
    here = collection()
    first, second, third = here.document_ids
    cited = citations(here, {first: [third, "unknown", first], "gone": [second]})
    assert pairs(cited) == {(int(here.starts[0]), int(here.starts[2]))}
    rows = graph_edges(here, {first: [third]}, "en", 0)
    by_kind = {row["kind"]: row for row in rows.to_pylist()}
    ends = (here.chunk_ids[int(here.starts[0])], here.chunk_ids[int(here.starts[2])])
    row = by_kind["citation"]
    assert (row["source_id"], row["target_id"]) == ends
    assert "nearest" not in by_kind


def test_edges_do_not_depend_on_row_order() -> None:
    here = collection()
    rows = graph_edges(here, {}, "en", 2)
    assert rows.schema.equals(TABLES["gae.graph_edges"].schema)
    found = edges_of(rows, here.chunk_ids)
    turned = edges_of(shuffled(rows), here.chunk_ids)
    assert all(np.array_equal(a, b) for a, b in zip(found, turned, strict=True))
    assert len(found.sources)
    with pytest.raises(ValueError, match=r"gae/graph_edges: .* not in the corpus"):
        edges_of(rows, here.chunk_ids[:1])


def test_features_are_weighted_sums_of_reduced_matrices(monkeypatch: pytest.MonkeyPatch) -> None:
    random = np.random.default_rng(0)
    known = ["boat", "lamp", "oar", "rail", "coin", "peat", "iron", "frost", "clerk", "pear"]
    texts = [" ".join(random.choice(known, 3, replace=False)) for _ in range(20)]
    vectors = random.random((20, 3))
    monkeypatch.setattr(graph, "FEATURES", 2)
    found = features(texts, vectors)
    # PCA: centred, and of all projections to two dimensions that of greatest variance
    of_words = word_components(vectors_of(texts), 2)
    of_vectors = 2 * (found - 0.5 * of_words)
    centred = vectors - vectors.mean(0)
    greatest = np.linalg.svd(centred, compute_uv=False)[:2]
    assert np.linalg.norm(of_vectors, axis=0) == pytest.approx(greatest, rel=1e-4)


def test_few_words_have_reproducible_features() -> None:
    """The iteration then restarts, which must not depend on earlier random draws."""
    matrix = csr_matrix(np.array([[0, 0, 0], [1, 1, 1], [1, 1, 1]], np.float32))
    assert len({word_components(matrix, 2).tobytes() for _ in range(5)}) == 1


def test_word_features_are_principal_components() -> None:
    from sklearn.decomposition import PCA

    drawn = np.random.default_rng(0)
    for shape in ((9, 30), (30, 9)):
        dense = drawn.normal(size=shape) * (drawn.random(shape) < 0.4)
        expected = PCA(4).fit_transform(dense)
        found = word_components(csr_matrix(dense), 4)
        np.testing.assert_allclose(np.abs(found), np.abs(expected), atol=1e-9)
        np.testing.assert_allclose(found @ found.T, expected @ expected.T, atol=1e-9)


@pytest.mark.parametrize("texts", [["boat", "lamp"], ["boat", "boat", "oar oar"]])
def test_few_passages_and_few_words_have_features(texts: list[str]) -> None:
    found = features(texts, np.eye(len(texts)))
    assert found.shape[0] == len(texts)
    assert np.isfinite(found).all()
