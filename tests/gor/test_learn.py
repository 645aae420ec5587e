"""Which documents a network learns from, and what it keeps of them."""

import pyarrow as pa
import pytest

from gsum_assets.gor.learn import graphs_to_learn_from, learnt_hash, trained_tables
from gsum_assets.gor.settings import EncoderSettings, TrainingSettings
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


def test_documents_of_the_split_are_learnt_from():
    assert learnt(SPLIT, "val")[0] == ["b"]
    for split in ("train", None):
        documents, which = learnt(SPLIT, split)
        assert documents == ["a", "c"]
        assert which == "learnt from 2 documents, those of the split 'train'"


@pytest.mark.parametrize("table", [queries(), queries(("val", "a")), queries(("", "a"))])
def test_all_are_learnt_from_where_nothing_names_a_split(table):
    documents, which = learnt(table, None)
    assert documents == ["a", "b", "c"]
    assert "all 3 documents: no question is of the split 'train'" in which


def test_an_unknown_split_is_an_error_that_names_those_there_are():
    with pytest.raises(ValueError, match=r"split = 'trian': .* \(splits: train, val\)"):
        learnt(SPLIT, "trian")
    with pytest.raises(ValueError, match="no question names a split"):
        learnt(queries(), "train")


def test_a_split_without_graphs_is_an_error_and_not_everything():
    elsewhere = queries(("train", "z"), ("val", "a"))
    for split in ("train", None):
        with pytest.raises(ValueError, match="none of its 1 documents has simulated questions"):
            learnt(elsewhere, split)


def test_a_model_keeps_hashes_of_the_documents_that_it_learnt_from():
    settings = TrainingSettings(epochs=1)

    def kept(chosen):
        model, _ = trained_tables(GRAPHS[:2], chosen, "m", lambda _: None, lambda _: None, None)
        return model["learnt_from"][0].as_py()

    assert set(kept(settings)) == {learnt_hash("a"), learnt_hash("b")}
    untrained = settings.model_copy(update={"encoder": EncoderSettings(name="none")})
    assert kept(untrained) == []
