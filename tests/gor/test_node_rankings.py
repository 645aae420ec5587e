"""Rankings of nodes by BERTScore: order, ties, and what is not computed twice."""

import numpy as np
import pyarrow as pa
import pytest

from gsum_assets.gor.node_rankings import node_rankings
from gsum_assets.graphs.bertscore import bertscore
from gsum_assets.pipeline.tables import TABLES
from gsum_resources.embedding.token_embeddings import LocalTokenEmbedder
from gsum_resources.store.memo import Memo
from gsum_resources.store.parquet_store import ParquetStore
from tests.embedding.tiny_models import write_bert

NODES = [
    ("c1", "one", "a b c d"),
    ("c2", "one", "b c d e f"),
    ("c3", "one", "x y z"),
    ("r1", "one", "a b c d"),
    ("c4", "two", "g h i"),
    ("c5", "two", "h g"),
    ("e1", "two", ""),
    ("c6", "quiet", "k l"),
]
QUERIES = [("q1", "one", "c1"), ("q2", "one", "c3"), ("q3", "two", "c4")]
TEXTS_OF_ONE = {text for _, document, text in NODES if document == "one"}


class Counting:
    """The embedder within, and the texts it was given."""

    def __init__(self, folder, layer=None):
        self._within = LocalTokenEmbedder(folder, layer, "cpu", 1)
        self.identity = self._within.identity
        self.texts = []

    def embed_tokens(self, texts):
        self.texts += texts
        return self._within.embed_tokens(texts)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return str(write_bert(tmp_path_factory.mktemp("model") / "bert"))


@pytest.fixture
def embedder(folder):
    return Counting(folder)


@pytest.fixture
def ranked(embedder, tmp_path):
    """Rankings by one memo."""
    memo = Memo(ParquetStore(str(tmp_path)), "bertscore", "any")

    def rank(queries=QUERIES, nodes=NODES, by=embedder):
        columns = zip(*queries, strict=True) if queries else ([], [], [])
        arrays = [pa.array(column, pa.string()) for column in columns]
        asked = pa.table(arrays, names=["query_id", "document_id", "chunk_id"])
        texts = pa.table(list(zip(*nodes, strict=True)), names=["node_id", "document_id", "text"])
        return node_rankings(asked, texts, by, memo)

    return rank


def test_every_node_of_the_document_is_ranked_by_f1_and_id(embedder, ranked):
    rows = ranked().to_pylist()
    assert [row["query_id"] for row in rows] == ["q1"] * 4 + ["q2"] * 4 + ["q3"] * 3
    texts = {node_id: text for node_id, _, text in NODES}
    for query_id, document_id, chunk_id in QUERIES:
        of_query = [row for row in rows if row["query_id"] == query_id]
        ids = [row["node_id"] for row in of_query]
        assert sorted(ids) == [i for i, document, _ in NODES if document == document_id]
        assert [row["rank"] for row in of_query] == list(range(1, len(ids) + 1))
        tokens = embedder.embed_tokens([texts[chunk_id], *(texts[i] for i in ids)])
        expected = bertscore(tokens[:1], tokens[1:]).f1[0]
        np.testing.assert_allclose([row["f1"] for row in of_query], expected, atol=1e-5)
        assert (np.diff(expected) <= 1e-6).all()
        assert of_query[0]["f1"] == pytest.approx(1, abs=1e-6)
    assert [row["node_id"] for row in rows[:2]] == ["c1", "r1"]  # equal texts
    assert rows[-1]["f1"] == 0  # the empty one


def test_only_what_changed_is_scored_again(embedder, folder, ranked):
    def embedded(**changed):
        embedder.texts.clear()
        ranked(**changed)
        return set(embedder.texts)

    table = ranked()
    assert sorted(embedder.texts) == sorted({t for _, d, t in NODES if d != "quiet"})
    assert embedded() == set()
    more = [*NODES, ("r2", "two", "g g g")]
    assert embedded(nodes=more) == {"g h i", "h g", "", "g g g"}  # document two alone
    assert embedded(queries=[*QUERIES, ("q4", "one", "c2")]) == TEXTS_OF_ONE
    assert not ranked(by=Counting(folder, layer=1)).equals(table)


def test_no_questions(embedder, ranked):
    assert ranked([]).equals(TABLES["gor.node_rankings"].empty())
    assert embedder.texts == []
