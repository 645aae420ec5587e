"""Edges between passages (position, citations, words) and features of passages."""

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from gsum_assets.gae.graph_edges import (
    citations,
    edges_of,
    graph_edges,
    nearest_by_words,
    neighbours,
)
from gsum_assets.gae.node_features import bases_of, features, fitted_bases, node_features
from gsum_assets.gae.settings import GraphSettings
from gsum_assets.gae.word_vectors import WordStatistics, word_statistics, word_vectors
from gsum_assets.pipeline.tables import TABLES
from gsum_assets.retrieval.words import Words
from tests.gae.toy_words import known_words
from tests.gor.toy_documents import shuffled
from tests.retrieval.toys import collection


def pairs(edges) -> set[tuple[int, int]]:
    return set(zip(edges.sources.tolist(), edges.targets.tolist(), strict=True))


def vectors_of(texts: list[str]) -> csr_matrix:
    return word_vectors(texts, Words(), word_statistics(texts, Words()))


def fitted_features(words: csr_matrix, vectors: np.ndarray, settings: GraphSettings) -> np.ndarray:
    known = WordStatistics(np.arange(words.shape[1], dtype=np.uint64), np.ones(words.shape[1]))
    return features(bases_of(known, words, vectors, settings), words, vectors, settings)


def test_vectors_equal_those_of_scikit_learn() -> None:
    from sklearn.feature_extraction.text import TfidfVectorizer

    texts = ["boat lamp lamp", "boat oar lamp", "peat rail oar", "rail peat iron", "coin", "frost"]
    model = TfidfVectorizer(analyzer=Words().split, sublinear_tf=True, min_df=2, max_df=0.4)  # type: ignore[arg-type]
    expected = model.fit_transform(texts).toarray()
    found = vectors_of(texts).toarray()
    np.testing.assert_allclose(found @ found.T, expected @ expected.T, atol=1e-6)
    assert found.shape == expected.shape


def test_vectors_and_features_do_not_depend_on_other_texts() -> None:
    random = np.random.default_rng(0)
    texts = [" ".join(random.choice(["boat", "lamp", "oar", "rail"], 5)) for _ in range(20)]
    known, vectors = word_statistics(texts, Words()), random.random((20, 7))
    settings = GraphSettings()
    bases = bases_of(known, word_vectors(texts, Words(), known), vectors, settings)
    whole = features(bases, word_vectors(texts, Words(), known), vectors, settings)
    for kept in ([3], [3, 7, 11], list(range(1, 20))):
        words = word_vectors([*(texts[i] for i in kept), "unknown words"], Words(), known)
        found = features(bases, words, np.vstack([vectors[kept], vectors[:1]]), settings)
        assert np.array_equal(found[:-1], whole[kept])


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
    assert pairs(cited) == {(0, 2)}
    rows = graph_edges(here, {first: [third]}, "en", GraphSettings(n_nearest=0), {})
    by_kind = {(row["level"], row["kind"]): row for row in rows.to_pylist()}
    assert by_kind["document", "citation"]["target_id"] == third
    ends = (here.chunk_ids[int(here.starts[0])], here.chunk_ids[int(here.starts[2])])
    row = by_kind["node", "citation"]
    assert (row["source_id"], row["target_id"]) == ends
    assert ("node", "nearest") not in by_kind


def test_edges_do_not_depend_on_row_order() -> None:
    here = collection()
    rows = graph_edges(here, {}, "en", GraphSettings(n_nearest=2), known_words(here))
    assert rows.schema.equals(TABLES["gae.graph_edges"].schema)
    found = edges_of(rows, "node", here.chunk_ids)
    turned = edges_of(shuffled(rows), "node", here.chunk_ids)
    assert all(np.array_equal(a, b) for a, b in zip(found, turned, strict=True))
    assert len(found.sources)
    with pytest.raises(ValueError, match=r"gae/graph_edges: .* not in the corpus"):
        edges_of(rows, "node", here.chunk_ids[:1])


def test_zero_neighbours_give_no_edges() -> None:
    rows = graph_edges(collection(), {}, "en", GraphSettings(neighbours=False), {})
    assert "neighbour" not in rows["kind"].to_pylist()


def test_features_are_weighted_sums_of_reduced_matrices() -> None:
    random = np.random.default_rng(0)
    known = ["boat", "lamp", "oar", "rail", "coin", "peat", "iron", "frost", "clerk", "pear"]
    texts = [" ".join(random.choice(known, 3, replace=False)) for _ in range(20)]
    words, vectors = vectors_of(texts), random.random((20, 3))
    only_words = fitted_features(words, vectors, GraphSettings(dim=2, alpha=1.0, beta=0.0))
    only_vectors = fitted_features(words, vectors, GraphSettings(dim=2, alpha=0.0, beta=1.0))
    both = fitted_features(words, vectors, GraphSettings(dim=2, alpha=0.3, beta=0.7))
    assert both == pytest.approx(0.3 * only_words + 0.7 * only_vectors, abs=1e-5)
    # PCA: centred, and of all projections to two dimensions that of greatest variance
    centred = vectors - vectors.mean(0)
    greatest = np.linalg.svd(centred, compute_uv=False)[:2]
    assert np.linalg.norm(only_vectors, axis=0) == pytest.approx(greatest, rel=1e-4)
    dense = words.toarray()
    greatest = np.linalg.svd(dense - dense.mean(0), compute_uv=False)[:2]
    assert np.linalg.norm(only_words, axis=0) == pytest.approx(greatest, rel=1e-3)


def test_few_words_have_reproducible_features() -> None:
    """The iteration then restarts, which must not depend on earlier random draws."""
    matrix = csr_matrix(np.array([[0, 0, 0], [1, 1, 1], [1, 1, 1]], np.float32))
    settings = GraphSettings(alpha=1.0, beta=0.0)
    found = {fitted_features(matrix, np.eye(3), settings).tobytes() for _ in range(5)}
    assert len(found) == 1


def test_word_features_are_principal_components() -> None:
    from sklearn.decomposition import PCA

    drawn = np.random.default_rng(0)
    for shape in ((9, 30), (30, 9)):
        dense = drawn.normal(size=shape) * (drawn.random(shape) < 0.4)
        expected = PCA(4).fit_transform(dense)
        found = fitted_features(
            csr_matrix(dense), np.eye(len(dense)), GraphSettings(dim=4, alpha=1, beta=0)
        )
        np.testing.assert_allclose(found, expected, atol=5e-3)  # of a basis in 16 bits


@pytest.mark.parametrize("texts", [["boat", "lamp"], ["boat", "boat", "oar oar"]])
def test_few_passages_and_few_words_have_features(texts: list[str]) -> None:
    found = fitted_features(vectors_of(texts), np.eye(len(texts)), GraphSettings())
    assert found.shape[0] == len(texts)
    assert np.isfinite(found).all()


def test_every_passage_of_both_levels_has_features() -> None:
    here = collection()
    rows = node_features(here, "en", GraphSettings(), fitted_bases(here, "en", GraphSettings()))
    assert rows["passage_id"].to_pylist() == [*here.document_ids, *here.chunk_ids]
    assert rows["level"].to_pylist() == ["document"] * 3 + ["node"] * len(here.chunk_ids)
