"""The contract of every baseline retriever."""

import numpy as np
import pytest

from gsum_assets.retrieval.baselines import FullContext, RandomOrder, TfIdf
from gsum_assets.retrieval.bm25 import Bm25
from gsum_assets.retrieval.collection import Collection, Questions
from gsum_assets.retrieval.dense import Dense
from gsum_assets.retrieval.hybrid import hybrid, rrf
from gsum_assets.retrieval.words import Words
from tests.retrieval.toys import (
    collection,
    of_texts,
    rank_questions,
    tables,
    toy_question,
    toy_questions,
)

BASELINES = {
    "random": RandomOrder,
    "bm25": Bm25,
    "bm25 with bigrams": lambda scope: Bm25(scope, Words(bigrams=True)),
    "tfidf": TfIdf,
    "dense": Dense,
    "hybrid": hybrid,
    "rrf": rrf,
    "full_context": FullContext,
}

ASKED = toy_questions(
    ("the boat", None, 1),
    ("the boat", "apples", 1),
    ("harbour", "boats", 2),
    ("zyzzyva", None, 0),
    ("", None, 2),
    ("what is the", "clouds", 2),
)


@pytest.fixture(params=BASELINES, name="build")
def _build(request):
    return BASELINES[request.param]


def test_scores_have_one_row_per_question_and_one_column_per_item(build):
    found = build(collection()).scores(ASKED)
    assert found.nodes.shape == (6, 5)
    assert found.documents.shape == (6, 3)
    assert np.isfinite(found.nodes).all()
    assert np.isfinite(found.documents).all()


def test_every_item_of_the_scope_is_ranked_once(build):
    rows = rank_questions(build, ASKED, collection()).to_pylist()
    ranked = {(r["query_id"], r["level"]): set() for r in rows}
    for row in rows:
        ranked[row["query_id"], row["level"]].add(row["item_id"])
    assert len(rows) == sum(map(len, ranked.values()))
    assert ranked["q0", "document"] == {"apples", "boats", "clouds"}
    assert ranked["q1", "document"] == {"apples"}
    assert ranked["q2", "node"] == {"c-boat-1", "c-boat-2"}
    assert len(ranked["q3", "node"]) == len(ranked["q4", "node"]) == 5


def test_row_order_does_not_matter(build):
    shuffled = Collection.from_tables(*tables((4, 2, 0, 3, 1)))
    expected = rank_questions(build, ASKED, collection())
    assert rank_questions(build, ASKED, shuffled).equals(expected)


def test_question_order_does_not_matter(build):
    order = [4, 1, 5, 0, 3, 2]
    expected = rank_questions(build, ASKED, collection()).to_pylist()
    turned = rank_questions(build, ASKED.take(order), collection()).to_pylist()
    assert sorted(map(str, turned)) == sorted(map(str, expected))


def test_document_question_sees_only_its_document(build):
    questions = toy_questions(("the boat at the harbour", "boats", 1))
    alone = collection().document(1)
    assert rank_questions(build, questions, alone).equals(
        rank_questions(build, questions, collection())
    )


def test_one_document_of_one_chunk(build):
    table = rank_questions(build, toy_question("lonely", "", "zyzzyva"), of_texts("a lonely text"))
    assert table["rank"].to_pylist() == [1] * 6


def test_texts_without_any_word(build):
    table = rank_questions(build, toy_question("boat", ""), of_texts("the", "?!"))
    assert table["item_id"].to_pylist()[:2] in (["d0", "d1"], ["d1", "d0"])
    assert len(table) == 8


def test_no_questions(build):
    assert build(collection()).scores(toy_questions()).nodes.shape == (0, 5)


@pytest.mark.parametrize("build", [Dense, hybrid, rrf])
def test_missing_vectors_raise(build):
    bare = Collection.from_tables(*tables()[:2])
    with pytest.raises(ValueError, match="5 chunks have no embeddings; pass"):
        build(bare)
    without = Questions(ids=["q"], texts=["boat"], document_ids=[None])
    with pytest.raises(ValueError, match=r"question vectors None do not fit .*\(5, 3\)"):
        build(collection()).scores(without)
