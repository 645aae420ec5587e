"""Whether the documents answer a question, before any method does."""

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from gsum_assets.pipeline.tables import TABLES
from gsum_assets.retrieval import answerability as module
from gsum_assets.retrieval.answerability import (
    WordCounts,
    answerability,
    lacks_name,
    missing,
    separation,
    surprise,
)
from gsum_assets.retrieval.collection import Questions
from gsum_resources.embedding.embedder import LocalEmbedder
from tests.retrieval.toys import CHUNKS, collection, toy_questions

BOATS = WordCounts.of(["The boats sail to the harbour.", "A boat, the Boat's sail and the harbour"])
TREES = WordCounts.of(["The apple falls from the tree.", "What is an apple of the tree?"])
TEXTS = {chunk_id: text for chunk_id, _, _, text, _ in CHUNKS}


def read(chunk_ids: list[str]) -> list[str]:
    return [TEXTS[chunk_id] for chunk_id in chunk_ids]


def verdicts(questions: Questions) -> list[dict]:
    return answerability(questions, questions.texts, collection(), read).to_pylist()


def test_words_are_counted_by_stem_and_subtracted() -> None:
    assert BOATS.counts["boat"] == 3
    both = WordCounts.of(["boat and tree", "tree"])
    rest = both.without(WordCounts.of(["tree"]))
    assert (rest.counts["tree"], rest.counts["boat"], rest.n_words) == (1, 1, 3)


def test_words_of_the_document_speak_for_an_answer_and_those_of_others_against_it() -> None:
    assert surprise("Where did the boats sail to?", BOATS, TREES) > 1  # pyright: ignore
    assert surprise("Where is the apple, and the tree?", BOATS, TREES) < -1  # pyright: ignore


def test_a_rare_word_that_is_missing_weighs_more_than_a_usual_one() -> None:
    usual, rare = (missing(f"What is the {word} of a boat?", BOATS) for word in ("war", "gudgeon"))
    assert missing("What is the harbour of a boat?", BOATS) == 0
    assert usual is not None
    assert rare is not None
    assert rare > usual > 0


@pytest.mark.parametrize(
    ("question", "lacks"),
    [
        ("What did Napoleon think of Bram?", True),
        ('What did Bram\'s sister think of "Constance"?', False),
        ("Napoleon?", False),  # the first word may have its capital from the sentence
        ("What did I say of the Bram-boat?", False),
        ("What did it cost? Was it too much?", False),
    ],
)
def test_a_name_that_no_passage_has_is_missed(question: str, lacks: bool) -> None:
    texts = [
        "Yesterday the captain and her friend Bram were aboard. The sister sold the Constance."
    ]
    assert lacks_name(question, texts, WordCounts.of(texts)) is lacks


def test_a_noun_with_a_capital_is_no_name_in_german() -> None:
    texts = ["Im März brach die Pumpe der Fähre, und der Vorstand beschloss die Reparatur."]
    assert not lacks_name("Was kostete der Motor?", texts, WordCounts.of(texts))


@pytest.mark.parametrize(
    "question", ["Summarize the whole meeting.", "Welches Schiff lief aus?", "船はどこへ行った？"]
)
def test_questions_without_words_of_their_own_or_in_another_language_are_not_judged(
    question: str,
) -> None:
    assert surprise(question, BOATS, TREES) is None
    assert missing(question, BOATS) is None


def test_a_question_is_answered_by_its_own_document_and_refused_by_another(monkeypatch) -> None:
    monkeypatch.setattr(module, "_LEAST_OTHER_WORDS", 1)
    text = "Does the boat sail at the harbour?"
    own, other = verdicts(toy_questions((text, "boats", 1), (text, "clouds", 1)))
    assert (own["is_answered"], own["chunk_id"]) == (True, "c-boat-1")
    assert (other["is_answered"], other["chunk_id"]) == (False, "c-cloud-1")
    assert own["probability"] > 0.5 > other["probability"]


def test_words_alone_judge_questions_about_a_document(monkeypatch) -> None:
    monkeypatch.setattr(module, "_LEAST_OTHER_WORDS", 1)
    text = "Does the boat sail at the harbour?"
    asked = toy_questions((text, "boats", 1), (text, "clouds", 1), (text, None, 1))
    without = replace(asked, embeddings=None)
    of = module.answerability_by_words(without, asked.texts, collection(), read).to_pylist()
    own, other = of  # one over all documents is not judged
    assert own["threshold"] == other["threshold"] == module.BY_WORDS.threshold
    assert own["is_answered"]
    assert own["probability"] > other["probability"]
    assert "boat" in TEXTS[own["chunk_id"]]


def test_a_question_over_all_documents_is_judged_by_what_is_most_similar() -> None:
    asked = toy_questions(("Where does the boat return?", None, 1), ("The gudgeon?", None, 1))
    assert asked.embeddings is not None
    unlike = np.vstack([asked.embeddings[:1], np.zeros((1, 3), np.float32)])
    own, other = verdicts(replace(asked, embeddings=unlike))
    assert own["is_answered"]
    assert not other["is_answered"]
    assert own["chunk_id"] == "c-apple-2"  # the first of equally similar ones


def test_the_name_of_a_document_is_no_missing_word() -> None:
    asked = toy_questions(("Does the boat of Jane Doe return?", None, 1))
    here = collection()
    names = replace(here, document_names=[f"Jane Doe {i}" for i in here.document_ids])
    without, named = (
        module.answerability(asked, asked.texts, each, read)["probability"][0].as_py()
        for each in (here, names)
    )
    assert named > without


def test_a_question_about_a_document_without_passages_has_no_row() -> None:
    assert verdicts(toy_questions(("the boat", "unknown", 1))) == []


def test_refusals_are_compared_with_the_marks_of_the_source() -> None:
    rows = pa.Table.from_pylist(
        [
            {"query_id": q, "probability": p, "is_answered": p is None or p > 0.3, "chunk_id": "c"}
            for q, p in {"a": 0.9, "b": 0.2, "c": None, "d": 0.1, "e": 0.4}.items()
        ],
        TABLES["answerability"].schema,
    )
    queries = pa.table(
        {
            "query_id": ["a", "b", "c", "d", "e"],
            "is_answerable": pa.array([True, None, None, False, False]),
        }
    )
    assert separation(rows, queries) == {
        "refused": 2,
        "refused_rightly": 0.5,
        "refused_wrongly": pytest.approx(1 / 3),
    }
    assert separation(rows.slice(0, 3), queries) == {"refused": 1}


def test_the_packaged_embedder_is_the_one_that_judges() -> None:
    assert module.PACKAGED in LocalEmbedder().identity
