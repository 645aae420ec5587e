"""Which documents a network learns from, and what it keeps of them."""

import numpy as np
import pyarrow as pa
import pytest

from gsum_assets.gor.learn import graphs_to_learn_from, trained_tables, with_global_questions
from gsum_assets.gor.settings import EncoderSettings, TrainingSettings
from gsum_assets.pipeline.embed import vector_column
from gsum_resources.embedding.token_embeddings import TokenVectors
from gsum_resources.store.checkpoints import learnt_hash
from tests.gor.toy_graphs import toy_graph

GRAPHS = [toy_graph(name) for name in ("a", "b", "c")]


def queries(*rows):
    splits, documents = zip(*rows, strict=True) if rows else ((), ())
    columns = {"split": splits, "document_id": documents}
    return pa.table({name: pa.array(values, pa.string()) for name, values in columns.items()})


SPLIT = queries(("train", "a"), ("train", None), ("val", "b"), ("train", "c"))


def learnt(table, split):
    graphs, which = graphs_to_learn_from(GRAPHS, table, split)
    return [graph.document_id for graph in graphs], which


def test_training_uses_documents_of_the_split():
    assert learnt(SPLIT, "val")[0] == ["b"]
    for split in ("train", None):
        documents, which = learnt(SPLIT, split)
        assert documents == ["a", "c"]
        assert which == "learnt from 2 documents, those of the split 'train'"


@pytest.mark.parametrize("table", [queries(), queries(("val", "a")), queries(("", "a"))])
def test_training_uses_all_documents_without_splits(table):
    documents, which = learnt(table, None)
    assert documents == ["a", "b", "c"]
    assert "all 3 documents: no question is of the split 'train'" in which


def test_unknown_split_error_names_the_existing_ones():
    with pytest.raises(ValueError, match=r"split = 'trian': .* \(splits: train, val\)"):
        learnt(SPLIT, "trian")
    with pytest.raises(ValueError, match="no question names a split"):
        learnt(queries(), "train")


def test_split_without_graphs_gives_nothing_to_learn_from():
    elsewhere = queries(("train", "z"), ("val", "a"))
    for split in ("train", None):
        assert graphs_to_learn_from(GRAPHS, elsewhere, split)[0] == []


def test_model_keeps_hashes_of_training_documents():
    settings = TrainingSettings(epochs=1)

    def kept(chosen):
        model, _ = trained_tables(GRAPHS[:2], chosen, "m", lambda _: None, lambda _: None, None)
        return model["learnt_from"][0].as_py()

    assert set(kept(settings)) == {learnt_hash("a"), learnt_hash("b")}
    untrained = settings.model_copy(update={"encoder": EncoderSettings(name="none")})
    assert kept(untrained) == []


class OneToken:
    """A text is one token: equal texts match, and different ones do not."""

    identity = "one"

    def embed_tokens(self, texts):
        known = ["chunk 1", "chunk 2", "other"]
        indices = [known.index(text) if text in known else len(known) - 1 for text in texts]
        return [TokenVectors(np.eye(3, dtype=np.float32)[[i]], np.array([True])) for i in indices]


def test_global_questions_have_vectors_and_reference_ranks():
    chosen = {"a-1": "chunk 1", "a-2": "chunk 2"}
    ids = [node for graph in GRAPHS for node in graph.node_ids.tolist()]
    nodes = pa.table({"node_id": ids, "text": [chosen.get(node, "-") for node in ids]})
    rows = [
        {"query_id": "p", "kind": "general", "document_id": "b", "references": []},
        {"query_id": "q", "kind": "general", "document_id": "a", "references": ["chunk 2"]},
        {
            "query_id": "r",
            "kind": "general",
            "document_id": "a",
            "references": ["chunk 1", "chunk 2"],
        },
        {"query_id": "s", "kind": "specific", "document_id": "c", "references": ["chunk 1"]},
    ]
    rows[2]["references"] = ["chunk 1", "chunk 2"]
    vectors = np.arange(8, dtype=np.float32).reshape(4, 2)
    embeddings = pa.table({"query_id": list("srqp"), "embedding": vector_column(vectors)})
    questions = pa.Table.from_pylist(rows)
    (graph,) = with_global_questions(GRAPHS, nodes, questions, embeddings, OneToken())
    assert graph.document_id == "a"
    assert graph.query_ids.tolist() == ["q", "r", "r"]
    np.testing.assert_array_equal(graph.queries, [[4, 5], [2, 3], [2, 3]])
    assert graph.rankings[:, 0].tolist() == [2, 1, 2]
    assert not with_global_questions(GRAPHS, nodes, questions.slice(3), embeddings, OneToken())
