"""HippoRAG 2 on a chain of three entities, with the numbers by hand."""

import numpy as np
import pyarrow as pa
import pytest

from gsum_assets.hippo_rag.edges import synonyms
from gsum_assets.hippo_rag.retriever import HippoRag, PhraseGraph, phrase_weights
from gsum_assets.hippo_rag.triples import Recognition, link_questions, triple_rows
from tests.gor.toy_documents import Scripted
from tests.models import HashEmbedder
from tests.multi_hop.toys import NAMES, collection, edges, question

IDS = ["c0", "c1", "c2"]
LINKED = {"q": [("a", "b", 1.0)]}


def chooser(*numbers: int) -> Scripted:
    """A language model that finds the given facts helpful."""
    return Scripted(lambda request: Recognition(helpful=list(numbers)).model_dump_json())


def triples() -> pa.Table:
    vectors = pa.array(np.eye(3, dtype="f4").tolist(), pa.list_(pa.float32()))
    ends = {"entity_ids": [["a", "b"], ["b", "c"], ["c", "d"]]}
    of = {"text": ["A – B", "B – C", "C – D"], "document_ids": [["d0"], ["d1"], ["d2"]]}
    return pa.table({"relationship_id": ["r0", "r1", "r2"], **ends, **of, "embedding": vectors})


def test_triple_is_named_after_its_ends() -> None:
    entities = pa.table({"entity_id": list(NAMES), "name": list(NAMES.values())})
    related = {"relationship_id": ["r1", "r0"], "source_id": ["a", "b"], "target_id": ["b", "c"]}
    said = {"description": ["Ana lives in Brod.", ""], "document_ids": [["d0"], ["d1"]]}
    rows = triple_rows(pa.table(related | said), entities, HashEmbedder())
    assert rows["text"].to_pylist() == ["Brod – Cern", "Ana – Brod: Ana lives in Brod."]
    assert rows["entity_ids"].to_pylist() == [["b", "c"], ["a", "b"]]


def test_synonyms_are_phrases_above_the_cosine() -> None:
    entities = pa.table({"entity_id": ["e2", "e0", "e1"], "name": ["one", "two", "one"]})
    assert list(synonyms(entities, HashEmbedder())) == [
        ("synonym", "e1", "e2", pytest.approx(1, abs=1e-5))
    ]
    assert list(synonyms(entities.slice(0, 1), HashEmbedder())) == []


def test_phrase_weighs_the_mean_of_its_triples_by_the_passages_that_hold_it() -> None:
    phrases, holding = {"a": 0, "b": 1, "c": 2}, np.array([1, 2, 4])
    linked = [("a", "b", 1.0), ("b", "c", 0.5), ("c", "elsewhere", 0.5)]
    assert phrase_weights(linked, phrases, holding, 3).tolist() == [1, 0.375, 0.125]
    assert phrase_weights(linked, phrases, holding, 1).tolist() == [1, 0, 0]


def test_question_is_linked_with_the_nearest_triples_of_its_scope() -> None:
    rows = link_questions(triples(), question(0.1, 0.9, 0.5), None, 2).rows.to_pylist()
    assert [row["linked_ids"] for row in rows] == [["r1", "r2"]]
    assert rows[0]["relationship_ids"] == rows[0]["linked_ids"]
    assert rows[0]["calls"] == 0
    one = link_questions(triples(), question(0.1, 0.9, 0.5, document_id="d0"), None, 2)
    assert one.rows["linked_ids"].to_pylist() == [["r0"]]


def test_language_model_chooses_among_the_triples() -> None:
    model = chooser(2, 7)
    row = link_questions(triples(), question(0.1, 0.9, 0.5), model, 2).rows.to_pylist()[0]
    assert (row["relationship_ids"], row["calls"], row["tokens_in"]) == (["r2"], 1, 10)
    assert model.requests[0].passages == ("B – C", "C – D")
    none = link_questions(triples(), question(0.1, 0.9, 0.5), chooser(), 2)
    assert none.rows["relationship_ids"].to_pylist() == [[]]


def test_where_the_model_fails_all_triples_stay_and_it_is_said() -> None:
    result = link_questions(triples(), question(0.1, 0.9, 0.5), Scripted(lambda request: None), 2)
    assert result.rows["relationship_ids"].to_pylist() == [["r1", "r2"]]
    assert "the server is tired" in result.failures[0]


def test_walk_reaches_the_passage_of_the_second_hop() -> None:
    graph = PhraseGraph.of(IDS, edges(("relation", "b", "c", 1.0)))
    asked = question(0.9, 0.5, 0.5)
    scores = HippoRag(collection(), graph, LINKED).scores(asked)
    first, second, alone = scores.nodes[0]
    assert first > second > alone


def test_without_a_triple_passages_are_ranked_by_their_vectors() -> None:
    graph = PhraseGraph.of(IDS, edges())
    scores = HippoRag(collection(), graph, {"q": []}).scores(question(0.2, 0.4, 0.6))
    assert scores.nodes[0] == pytest.approx([0, 0.5, 1], abs=1e-5)


def test_graph_of_a_document_has_no_edge_that_leads_out_of_it() -> None:
    graph = PhraseGraph.of(["c1"], edges(("relation", "a", "b", 1.0), ("synonym", "b", "c", 0.9)))
    assert graph.phrases == {"b": 0, "c": 1}
    assert len(graph.walk.weights) == 2 * 3  # two contexts and the synonym
