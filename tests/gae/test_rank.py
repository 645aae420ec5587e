"""Every method's ranking: what clusters move, and what leaves the first retrieval as it is."""

from functools import cache

import numpy as np
import pyarrow as pa
import pytest

from gsum_assets.gae.methods import METHODS
from gsum_assets.gae.rank import Tables, rank
from gsum_assets.gae.rerank import rerank
from gsum_assets.gae.settings import RerankSettings
from gsum_assets.pipeline.tables import TABLES
from gsum_assets.retrieval.collection import Collection, Questions
from gsum_assets.retrieval.hybrid import hybrid
from gsum_assets.retrieval.ranking import rank_questions
from gsum_assets.retrieval.seeds import Seeds
from gsum_resources.store.arrow import pc
from tests.gor.toy_documents import shuffled
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


def tables_for(chosen: str = "by_topic", weight: float = 1.0) -> Tables:
    """Two clusterings, of which DBSCAN has everything in one cluster."""
    here = topics()
    levels = {"document": here.document_ids, "node": here.chunk_ids}
    clusters = [
        {"level": level, "clustering": name, "passage_id": i, "cluster": int(i[1:3]) * is_topic}
        for level, ids in levels.items()
        for name, is_topic in (("by_topic", 1), ("dbscan", 0))
        for i in ids
    ]
    blank = {"agreement": 0.0, "stability": 1.0, "n_clusters": 4, "largest": 0.25}
    clusterings = [
        {"level": level, "scope": scope, "clustering": name, "weight": weight, **blank}
        | {"is_chosen": name == chosen}
        for level, scope in (("document", "corpus"), ("node", "corpus"), ("node", "document"))
        for name in ("by_topic", "dbscan")
    ]
    return Tables(
        pa.Table.from_pylist(clusters, TABLES["gae.clusters"].schema),
        pa.Table.from_pylist(clusterings, TABLES["gae.clusterings"].schema),
    )


def ranked(method: str, tables: Tables) -> pa.Table:
    found = rank(method, topics(), topic_questions(), tables, "en", K, RerankSettings())
    return found.drop_columns("latency_s")


def best(rankings: pa.Table, query_id: str, level: str) -> list[str]:
    rows = rankings.filter(pc.equal(rankings["query_id"], query_id))
    return rows.filter(pc.equal(rows["level"], level))["item_id"].to_pylist()


def topics_in(ids: list[str]) -> list[int]:
    return [int(i[1:3]) for i in ids]


def test_clusters_unite_a_topic() -> None:
    moved, kept = ranked("gae", tables_for()), ranked("gae-no-rerank", tables_for())
    n_before, n_after = (topics_in(best(r, "all", "node")[:12]).count(0) for r in (kept, moved))
    assert n_after > n_before
    assert topics_in(best(moved, "all", "document")[:6]) == [0] * 6
    assert sorted(best(moved, "one", "node")) == sorted(topics().chunk_ids[:3])


@pytest.mark.parametrize("method", ["gae-no-graph", "gae-no-rerank"])
def test_without_reranking_the_order_is_that_of_the_seeds(method: str) -> None:
    seeds = rank_questions(lambda scope: Seeds(scope, "en"), topic_questions(), topics())
    assert ranked(method, tables_for()).equals(seeds.drop_columns("latency_s"))


def test_zero_weight_keeps_the_seed_order() -> None:
    seeds = rank_questions(lambda scope: Seeds(scope, "en"), topic_questions(), topics())
    found = ranked("gae", tables_for(weight=0.0))
    for level in ("document", "node"):
        n = 10 * K  # candidates
        assert best(found, "all", level)[:n] == best(seeds, "all", level)[:n]


def test_published_method_uses_full_dbscan_over_hybrid() -> None:
    chosen_otherwise, without_weight = tables_for("by_topic"), tables_for("by_topic", 0.0)
    found = ranked("gae-dbscan", chosen_otherwise)
    assert found.equals(ranked("gae-dbscan", without_weight))
    first = rank_questions(hybrid, topic_questions(), topics())
    # One cluster for all: each candidate gains the mean of all but itself, the order stays.
    assert best(found, "all", "node")[0] == best(first, "all", "node")[0]
    assert not found.equals(ranked("gae", chosen_otherwise))


def test_row_order_does_not_matter() -> None:
    tables = tables_for()
    turned = Tables(shuffled(tables.clusters), shuffled(tables.clusterings))
    assert ranked("gae", tables).equals(ranked("gae", turned))


def test_corpus_too_large_for_dbscan_is_reported() -> None:
    tables = tables_for()
    without = tables.clusterings.filter(pc.equal(tables.clusterings["clustering"], "by_topic"))
    with pytest.raises(ValueError, match="no clustering 'dbscan' of level 'document'"):
        ranked("gae-dbscan", Tables(tables.clusters, without))


def test_every_ablation_differs_in_one_thing() -> None:
    default = METHODS["gae"]
    for name in ("gae-no-rerank", "gae-no-reflection"):
        differing = [
            field
            for field in ("is_published", "clusters", "reranks", "reflects")
            if getattr(METHODS[name], field) != getattr(default, field)
        ]
        assert len(differing) == 1
    assert not METHODS["gae-no-graph"].clusters


# The paper's formula by hand, and what it must leave alone.


def test_three_candidates_known_values() -> None:
    found = rerank(np.array([0.8, 0.6, 0.4]), np.array([7, 3, 7]))
    # the first gains 0.4 / log2(4) * 0.4 / 0.4, the third 0.8 / log2(2) * 0.8 / 0.8
    assert found == pytest.approx([0.8 + 0.2, 0.6, 0.4 + 0.8])


def test_singletons_and_zero_scores_change_nothing() -> None:
    scores = np.array([0.5, 0.2, 0.0])
    assert rerank(scores, np.arange(3)) == pytest.approx(scores)
    assert rerank(np.zeros(3), np.zeros(3)) == pytest.approx(np.zeros(3))
