"""Rankings of nodes by BERTScore: order, ties, and what is not computed twice."""

import numpy as np
import pyarrow as pa
import pytest

from gsum_assets.gor.node_rankings import SCHEMA, node_rankings
from gsum_assets.graphs.bertscore import bertscore
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
    ("c6", "quiet", "k l"),
]
QUERIES = [("q1", "one", "c1"), ("q2", "one", "c3"), ("q3", "two", "c4")]


def table_of(names, rows):
    columns = [pa.array(column) for column in zip(*rows, strict=True)]
    return pa.table(columns, names=names)


def nodes_table(rows=NODES):
    return table_of(["node_id", "document_id", "text"], rows)


def queries_table(rows=QUERIES):
    return table_of(["query_id", "document_id", "chunk_id"], rows)


class Counting:
    """The embedder within, and the texts it was given."""

    def __init__(self, folder, layer=None):
        self._within = LocalTokenEmbedder(folder, layer, "cpu", 1)
        self.texts = []

    @property
    def identity(self):
        return self._within.identity

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
def memo(tmp_path):
    return Memo(ParquetStore(str(tmp_path)), "bertscore", "any")


def test_every_node_of_the_document_is_ranked_by_f1_and_id(embedder, memo):
    table = node_rankings(queries_table(), nodes_table(), embedder, memo)
    assert table.schema == SCHEMA
    rows = table.to_pylist()
    pairs = {(row["document_id"], row["query_id"]) for row in rows}
    assert pairs == {("one", "q1"), ("one", "q2"), ("two", "q3")}
    texts = {node_id: text for node_id, _, text in NODES}
    for query_id, document_id, chunk_id in QUERIES:
        of_query = [row for row in rows if row["query_id"] == query_id]
        found = [row["node_id"] for row in of_query]
        assert sorted(found) == [i for i, document, _ in NODES if document == document_id]
        assert [row["rank"] for row in of_query] == list(range(1, len(found) + 1))
        tokens = embedder.embed_tokens([texts[chunk_id], *(texts[i] for i in found)])
        expected = bertscore(tokens[:1], tokens[1:]).f1[0]
        np.testing.assert_allclose([row["f1"] for row in of_query], expected, atol=1e-5)
        assert (np.diff(expected) <= 1e-6).all()
        assert of_query[0]["f1"] == pytest.approx(1, abs=1e-6)
    first = [row["node_id"] for row in rows if row["query_id"] == "q1"]
    assert first[:2] == ["c1", "r1"]  # equal texts


def test_row_order_does_not_matter(embedder, memo, tmp_path):
    table = node_rankings(queries_table(), nodes_table(), embedder, memo)
    other = Memo(ParquetStore(str(tmp_path / "other")), "bertscore", "any")
    shuffled = node_rankings(
        queries_table(QUERIES[::-1]), nodes_table(NODES[::-1]), embedder, other
    )
    assert shuffled.equals(table)


def test_unchanged_rankings_cost_nothing(embedder, folder, memo):
    reports = []
    progress = lambda done, total: reports.append((done, total))  # noqa: E731
    table = node_rankings(queries_table(), nodes_table(), embedder, memo, progress)
    assert reports == [(1, 2), (2, 2)]
    assert sorted(embedder.texts) == sorted({t for _, d, t in NODES if d != "quiet"})
    embedder.texts.clear()
    assert node_rankings(queries_table(), nodes_table(), embedder, memo, progress).equals(table)
    assert embedder.texts == []
    assert len(reports) == 2

    more = [*NODES, ("r2", "two", "g g g")]
    node_rankings(queries_table(), nodes_table(more), embedder, memo)
    assert set(embedder.texts) == {"g h i", "h g", "g g g"}  # document two alone
    embedder.texts.clear()
    node_rankings(queries_table([*QUERIES, ("q4", "one", "c2")]), nodes_table(), embedder, memo)
    assert set(embedder.texts) == {text for _, document, text in NODES if document == "one"}

    another = Counting(folder, layer=1)
    assert not node_rankings(queries_table(), nodes_table(), another, memo).equals(table)
    assert another.texts


def test_one_node_and_an_empty_one(embedder, memo):
    alone = node_rankings(
        queries_table([("q", "d", "c")]), nodes_table([("c", "d", "a b")]), embedder, memo
    )
    assert alone.select(["node_id", "rank", "f1"]).to_pylist() == [
        {"node_id": "c", "rank": 1, "f1": 1.0}
    ]
    with_empty = node_rankings(
        queries_table([("q", "d", "c")]),
        nodes_table([("b", "d", ""), ("c", "d", "a b")]),
        embedder,
        memo,
    )
    assert with_empty["node_id"].to_pylist() == ["c", "b"]
    assert with_empty["f1"].to_pylist() == [1, 0]


def test_no_questions(embedder, memo):
    table = node_rankings(queries_table().slice(0, 0), nodes_table(), embedder, memo)
    assert table.equals(SCHEMA.empty_table())
    assert embedder.texts == []


def test_question_without_its_chunk_is_reported(embedder, memo):
    for chunk_id in ("c4", "gone"):  # of another document, of none
        with pytest.raises(ValueError, match=f"'q9' comes from chunk '{chunk_id}'.*record_nodes"):
            node_rankings(queries_table([("q9", "one", chunk_id)]), nodes_table(), embedder, memo)
