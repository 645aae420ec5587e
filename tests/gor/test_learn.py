"""Which documents and questions a network learns from."""

import numpy as np
import pyarrow as pa
import pytest

from gsum_assets.gor.learn import graphs_to_learn_from, with_global_questions
from gsum_assets.pipeline.embed import vector_column
from gsum_resources.embedding.token_embeddings import TokenVectors
from tests.gor.toy_graphs import toy_graph

GRAPHS = [toy_graph(name) for name in ("a", "b", "c")]
SPLIT = [("train", "a"), ("train", None), ("val", "b"), ("train", "c")]


def chosen(rows, split):
    """The documents to learn from, and the sentence on them."""
    names = ("split", "document_id")
    columns = zip(*rows, strict=True) if rows else ((), ())
    table = pa.table([pa.array(values, pa.string()) for values in columns], names=names)
    graphs, which = graphs_to_learn_from(GRAPHS, table, split)
    return [graph.document_id for graph in graphs], which


@pytest.mark.parametrize(
    ("rows", "split", "documents", "sentence"),
    [
        (SPLIT, "val", ["b"], "1 documents, those of the split 'val'"),
        (SPLIT, "train", ["a", "c"], "2 documents, those of the split 'train'"),
        (SPLIT, None, ["a", "c"], "2 documents, those of the split 'train'"),
        ([("train", "z"), ("val", "a")], None, [], "0 documents"),
        ([("val", "a")], None, ["a", "b", "c"], "all 3 documents: no question is of the split"),
        ([("", "a")], None, ["a", "b", "c"], "all 3 documents"),
        ([], None, ["a", "b", "c"], "all 3 documents"),
    ],
)
def test_training_uses_the_documents_of_the_split(rows, split, documents, sentence):
    found, which = chosen(rows, split)
    assert found == documents
    assert sentence in which


def test_unknown_split_error_names_the_existing_ones():
    with pytest.raises(ValueError, match=r"split = 'trian': .* \(splits: train, val\)"):
        chosen(SPLIT, "trian")
    with pytest.raises(ValueError, match="no question names a split"):
        chosen([], "train")


class OneToken:
    """A text is one token: equal texts match, and different ones do not."""

    identity = "one"

    def embed_tokens(self, texts):
        known = ["chunk 1", "chunk 2", "other"]
        indices = [known.index(text) if text in known else len(known) - 1 for text in texts]
        return [TokenVectors(np.eye(3, dtype=np.float32)[[i]], np.array([True])) for i in indices]


def test_global_questions_have_vectors_and_reference_ranks():
    texts = {"a-1": "chunk 1", "a-2": "chunk 2"}
    ids = [node for graph in GRAPHS for node in graph.node_ids.tolist()]
    nodes = pa.table({"node_id": ids, "text": [texts.get(node, "-") for node in ids]})
    columns = {
        "query_id": ["p", "q", "r", "s"],
        "kind": ["general", "general", "general", "specific"],
        "document_id": ["b", "a", "a", "c"],
        "references": [[], ["chunk 2"], ["chunk 1", "chunk 2"], ["chunk 1"]],
    }
    vectors = np.arange(8, dtype=np.float32).reshape(4, 2)
    embeddings = pa.table({"query_id": list("srqp"), "embedding": vector_column(vectors)})
    (graph,) = with_global_questions(GRAPHS, nodes, pa.table(columns), embeddings, OneToken())
    assert graph.document_id == "a"
    assert graph.query_ids.tolist() == ["q", "r", "r"]
    np.testing.assert_array_equal(graph.queries, [[4, 5], [2, 3], [2, 3]])
    assert graph.rankings[:, 0].tolist() == [2, 1, 2]
