"""Every method's ranking: what clusters move, and what leaves the first retrieval as it is."""

from functools import cache

import numpy as np
import pyarrow as pa
import pytest

from gsum_assets.gae.methods import METHODS
from gsum_assets.gae.rank import Clusters, discounted, rank, rerank, reranked
from gsum_assets.retrieval.collection import Collection, Questions
from gsum_assets.retrieval.hybrid import hybrid
from gsum_assets.retrieval.ranking import rank_questions
from gsum_assets.retrieval.seeds import Seeds
from gsum_resources.store.arrow import pc
from tests.lightpal.toys import topic_tables

K = 3


@cache
def topics() -> Collection:
    """24 documents of 4 topics, 3 chunks each."""
    return Collection.from_tables(*topic_tables(4, 6, 3))


def topic_questions() -> Questions:
    """A chunk of the first topic as a question to all, and to its own document."""
    here = topics()
    assert here.embeddings is not None
    return Questions(
        ids=["all", "one"],
        texts=[here.chunk_texts[0]] * 2,
        document_ids=[None, here.document_ids[0]],
        embeddings=here.embeddings[[0, 0]],
    )


def clusters(weight: float = 1.0, is_topic: bool = True) -> Clusters:
    """Clusters of topics, or all chunks in one."""
    cluster_of = {i: int(i[1:3]) * is_topic for i in topics().chunk_ids}
    return Clusters(cluster_of, {"corpus": weight, "document": weight})


def ranked(method: str, of: Clusters | None, same_document: float = 0.5) -> pa.Table:
    found = rank(method, topics(), topic_questions(), of, "en", K, same_document)
    return found.drop_columns("latency_s")


def best(rankings: pa.Table, query_id: str, level: str) -> list[str]:
    rows = rankings.filter(pc.equal(rankings["query_id"], query_id))
    return rows.filter(pc.equal(rows["level"], level))["item_id"].to_pylist()


def topics_in(ids: list[str]) -> list[int]:
    return [int(i[1:3]) for i in ids]


def test_clusters_unite_a_topic() -> None:
    moved, kept = ranked("gae", clusters()), ranked("gae-no-rerank", None)
    n_before, n_after = (topics_in(best(r, "all", "node")[:12]).count(0) for r in (kept, moved))
    assert n_after > n_before
    assert topics_in(best(moved, "all", "document")[:6]) == [0] * 6
    assert sorted(best(moved, "one", "node")) == sorted(topics().chunk_ids[:3])


@pytest.mark.parametrize("method", METHODS)
def test_documents_are_ranked_by_the_passages_that_are_read(method: str) -> None:
    found = ranked(method, clusters() if METHODS[method].clustering else None)
    here = topics()
    owners = dict(zip(here.chunk_ids, np.repeat(here.document_ids, 3), strict=True))
    by_passages = dict.fromkeys(owners[i] for i in best(found, "all", "node"))
    assert best(found, "all", "document") == list(by_passages)


def test_other_documents_are_read_before_more_of_one() -> None:
    here = topics()
    n_read = {}
    for factor in (0.1, 1.0):
        found = best(ranked("gae-no-rerank", None, factor), "all", "node")[:8]
        n_read[factor] = len({here.chunk_ids.index(i) // 3 for i in found})
    assert n_read[0.1] > n_read[1.0]
    low, full = (ranked("gae-no-rerank", None, factor) for factor in (0.1, 1.0))
    of_one = pc.equal(full["query_id"], "one")
    assert low.filter(of_one).equals(full.filter(of_one))  # within one nothing is discounted


def test_without_clusters_the_order_is_that_of_the_seeds() -> None:
    seeds = rank_questions(lambda scope: Seeds(scope, "en"), topic_questions(), topics())
    assert ranked("gae-no-rerank", None, 1.0).equals(seeds.drop_columns("latency_s"))
    found = ranked("gae", clusters(weight=0.0), 1.0)
    assert best(found, "all", "node")[: 10 * K] == best(seeds, "all", "node")[: 10 * K]


def test_published_ranking_equals_equations_8_to_10_term_by_term() -> None:
    here = topics()
    given = np.random.default_rng(0).integers(0, 5, len(here.chunk_ids)).tolist()
    of = Clusters(dict(zip(here.chunk_ids, given, strict=True)), {"corpus": 1.0, "document": 1.0})
    (scores,) = hybrid(here).scores(topic_questions().take([0])).nodes
    ranks = {i: rank for rank, i in enumerate(np.argsort(-scores, kind="stable")[: 10 * K], 1)}
    expected = {}
    for i in ranks:
        cluster = [j for j in ranks if j != i and given[j] == given[i]]
        total = sum(scores[j] for j in cluster)
        gains = (scores[j] / np.log(1 + ranks[j]) * scores[j] / total for j in cluster)
        expected[here.chunk_ids[i]] = scores[i] + sum(gains)
    found = ranked("gae-published", of)
    rows = found.filter(
        pc.and_(pc.equal(found["query_id"], "all"), pc.equal(found["level"], "node"))
    )
    read = dict(zip(*(rows[name].to_pylist() for name in ("item_id", "score")), strict=True))
    assert {i: read[i] for i in expected} == pytest.approx(expected, abs=1e-9)
    assert list(read)[: 10 * K] == sorted(expected, key=lambda i: -expected[i])


def test_passage_without_cluster_is_reported() -> None:
    few = Clusters({topics().chunk_ids[0]: 0}, {"corpus": 1.0, "document": 1.0})
    with pytest.raises(ValueError, match=r"71 of 72 passages have no cluster .*materialize"):
        ranked("gae", few)


# The paper's formula by hand, and what it must leave alone.


def test_three_candidates_known_values() -> None:
    found = rerank(np.array([0.8, 0.6, 0.4]), np.array([7, 3, 7]))
    # the first gains 0.4 / log(4) * 0.4 / 0.4, the third 0.8 / log(2) * 0.8 / 0.8
    assert found == pytest.approx([0.8 + 0.4 / np.log(4), 0.6, 0.4 + 0.8 / np.log(2)])


def test_singletons_and_zero_scores_change_nothing() -> None:
    scores = np.array([0.5, 0.2, 0.0])
    assert rerank(scores, np.arange(3)) == pytest.approx(scores)
    assert rerank(np.zeros(3), np.zeros(3)) == pytest.approx(np.zeros(3))


def test_candidates_precede_others_and_zero_weight_keeps_the_order() -> None:
    groups = np.repeat(np.arange(12), 5)
    scores = np.random.default_rng(0).random((3, 60))
    found = reranked(scores, groups, 2)
    assert ((found >= 0).sum(axis=1) == 20).all()
    kept = reranked(scores, groups, 2, weight=0.0)
    assert (np.argsort(-kept, axis=1) == np.argsort(-scores, axis=1)).all()


def test_further_passages_of_a_document_count_less() -> None:
    scores = np.array([[0.2, 0.8, 0.4, 0.6, 0.6], [0.1, 0.1, 0.1, 0.0, 1.0]])
    found = discounted(scores, np.array([0, 3, 5]), 0.5)
    assert found[0] == pytest.approx([0.2 / 4, 0.8, 0.4 / 2, 0.6, 0.6 / 2])
    assert found[1] == pytest.approx([0.1, 0.1 / 2, 0.1 / 4, 0.0, 1.0])
    assert np.array_equal(discounted(scores, np.array([0, 3, 5]), 1.0), scores)
