"""An index kept in memory finds what `rank` writes down, score by score and tie by tie."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gsum_assets.corpus.embed import vector_column
from gsum_assets.gor.node_index import NodeIndex, node_collection
from gsum_assets.gor.rank import rank
from gsum_assets.tables import TABLES
from gsum_resources.arrow import pc
from gsum_resources.parquet_store import ParquetStore, Partition, Provenance, StoreError
from tests.gor.toy_documents import shuffled

DIMENSION = 16
EDGES = TABLES["gor.record_edges"].empty()
BY = Provenance("", "1", {}, "test")


def tables(sizes, seed=0) -> tuple[pa.Table, pa.Table, pa.Table]:
    """`documents`, `record_nodes`, `node_embeddings`, rows out of order.

    Coordinates are quarters, so that inner products are exact in any order; some vectors are equal.
    """
    random = np.random.default_rng(seed)
    owners = [f"d{i}" for i, size in enumerate(sizes) for _ in range(size)]
    ids = [f"n{i:03d}" for i in random.permutation(len(owners))]
    directions = random.integers(-8, 9, size=(max(1, len(ids) // 2), DIMENSION)) / 4
    own, learnt = (directions[random.integers(len(directions), size=len(ids))] for _ in range(2))
    kinds = ["response" if i % 3 == 2 else "chunk" for i in range(len(ids))]
    nodes = {
        "node_id": ids,
        "document_id": owners,
        "kind": kinds,
        "position": pa.array(range(len(ids)), pa.int32()),
        "degree": pa.repeat(pa.scalar(0, pa.int32()), len(ids)),
        "text": [f"text of {node_id}" for node_id in ids],
        "embedding": vector_column(own),
    }
    vectors = {"node_id": ids, "document_id": owners, "kind": kinds}
    named = sorted(set(owners))
    documents = {
        "document_id": named,
        "title": named,
        "text": named,
        "n_words": pa.repeat(pa.scalar(1, pa.int32()), len(named)),
        "cites": pa.nulls(len(named)),
    }
    return (
        pa.table(documents),
        shuffled(pa.table(nodes), seed),
        shuffled(pa.table({**vectors, "embedding": vector_column(learnt)}), seed + 1),
    )


def ranked(variant, documents, nodes, node_embeddings, question, document_id):
    """(id, score) of the nodes that `rank` finds for one question, best first."""
    row = {"query_id": "q", "retrieval_text": "?", "document_id": document_id}
    asked = pa.Table.from_pylist([row], pa.schema([(name, pa.string()) for name in row]))
    vectors = pa.table({"query_id": ["q"], "embedding": vector_column(question[None])})
    found = rank(variant, documents, nodes, EDGES, node_embeddings, asked, vectors)
    found = found.filter(pc.equal(found["level"], "node"))
    return list(zip(found["item_id"].to_pylist(), found["score"].to_pylist(), strict=True))


def questions(seed) -> np.ndarray:
    integers = np.random.default_rng(seed).integers(-8, 9, size=DIMENSION)
    return (integers / 4).astype(np.float32)


@given(
    st.lists(st.integers(1, 25), min_size=1, max_size=4),
    st.integers(1, 40),
    st.integers(0, 2**16),
    st.booleans(),
    st.data(),
)
def test_hits_are_the_first_ranks(sizes, k, seed, own, data):
    documents, nodes, learnt = tables(sizes, seed)
    question = questions(seed)
    names = [f"d{i}" for i in range(len(sizes))]
    document_id = data.draw(st.sampled_from([None, *names]))
    variant = "thought-retriever" if own else "gor"
    expected = ranked(variant, documents, nodes, learnt, question, document_id)
    index = NodeIndex(node_collection(documents, nodes, nodes if own else learnt))
    hits = index.search(question, k, document_id)
    assert [(hit.node_id, hit.score) for hit in hits] == expected[:k]
    owner = dict(zip(nodes["node_id"].to_pylist(), nodes["document_id"].to_pylist(), strict=True))
    assert all(hit.document_id == owner[hit.node_id] for hit in hits)
    assert all(hit.text == f"text of {hit.node_id}" for hit in hits)


def stored(folder) -> tuple[ParquetStore, tuple[pa.Table, pa.Table, pa.Table]]:
    """A store of one corpus, documents in two buckets, embeddings of the variant `gor`."""
    documents, nodes, learnt = tables((5, 9, 4))
    store = ParquetStore(str(folder))
    for bucket, chosen in (("00", ["d0", "d2"]), ("01", ["d1"])):
        for name, rows in (("documents", documents), ("gor.record_nodes", nodes)):
            mine = rows.filter(pc.is_in(rows["document_id"], pa.array(chosen)))
            store.write(TABLES[name], Partition("toys", bucket), mine, BY)
    store.write(TABLES["gor.node_embeddings"], Partition("toys", method="gor"), learnt, BY)
    empty = TABLES["gor.node_embeddings"].empty()
    store.write(TABLES["gor.node_embeddings"], Partition("toys", method="gor-gin"), empty, BY)
    return store, (documents, nodes, learnt)


@pytest.mark.parametrize("variant", ["gor", "thought-retriever"])
@pytest.mark.parametrize("document_id", [None, "d1"])
def test_what_is_stored_is_searched(tmp_path, variant, document_id):
    store, rows = stored(tmp_path)
    question = questions(5)
    hits = NodeIndex.load(store, "toys", variant).search(question, 7, document_id)
    expected = ranked(variant, *rows, question, document_id)[:7]
    assert [(hit.node_id, hit.score) for hit in hits] == expected


@pytest.mark.parametrize(("spread", "length"), [(1.0, 1.0), (1e-3, 1.0), (1.0, 300.0), (1.0, 1e-4)])
def test_half_precision_loses_none_of_the_best(spread, length):
    random, n_nodes, dimension = np.random.default_rng(3), 3000, 384
    vectors = random.normal(size=dimension) + spread * random.normal(size=(n_nodes, dimension))
    vectors *= length / np.linalg.norm(vectors, axis=1, keepdims=True)
    vectors = vectors.astype(np.float32)
    documents, nodes, _ = tables((n_nodes,))
    learnt = nodes.select(["node_id"]).append_column("embedding", vector_column(vectors))
    index = NodeIndex(node_collection(documents, nodes, learnt))
    for question in random.normal(size=(5, dimension)):
        question /= np.linalg.norm(question)
        expected = np.sort(vectors.astype(float) @ question)[::-1][:20]
        scores = [hit.score for hit in index.search(question, 20)]
        np.testing.assert_allclose(scores, expected, rtol=1e-6, atol=1e-6)


def test_equal_scores_are_ordered_by_id():
    documents, nodes, _ = tables((30,))
    same = nodes.select(["node_id"]).append_column(
        "embedding", vector_column(np.ones((30, DIMENSION)))
    )
    index = NodeIndex(node_collection(documents, nodes, same))
    hits = index.search(np.ones(DIMENSION), 3)
    assert [(hit.node_id, hit.score) for hit in hits] == [("n000", 16), ("n001", 16), ("n002", 16)]
    assert len(index.search(np.ones(DIMENSION), 99)) == 30


def test_errors_name_what_is_missing(tmp_path):
    store, _ = stored(tmp_path)
    index, question = NodeIndex.load(store, "toys", "gor"), questions(0)
    with pytest.raises(ValueError, match=r"'d7'; there are 3 documents, among them d0, d1, d2"):
        index.search(question, 3, "d7")
    with pytest.raises(ValueError, match="k = 0"):
        index.search(question, 0)
    with pytest.raises(ValueError, match=r"question vectors \(1, 4\) do not fit"):
        index.search(question[:4], 3)
    with pytest.raises(ValueError, match="scores must be finite"):
        index.search(np.full(DIMENSION, np.nan), 3)
    with pytest.raises(ValueError, match="node2vec has no stored vectors"):
        NodeIndex.load(store, "toys", "node2vec")
    for corpus, variant, table in (
        ("toys", "gor-gat", "gor.node_embeddings"),
        ("toys", "gor-gin", "gor.node_embeddings"),
        ("tales", "gor", "gor.record_nodes"),
    ):
        with pytest.raises(
            StoreError, match=f"'{corpus}' has no rows of '{table}' for '{variant}'"
        ):
            NodeIndex.load(store, corpus, variant)
