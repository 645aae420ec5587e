"""What is read of line chunks and questions: synopses, facts, elements, keywords."""

import json

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from gsum_assets.jerr.extract import extract
from gsum_assets.jerr.keywords import ask_keywords
from gsum_assets.jerr.settings import IndexSettings
from gsum_assets.jerr.sizes import of_one_size
from gsum_assets.jerr.synopses import synopses
from tests.gae.toy_contexts import queries
from tests.gor.toy_documents import Scripted
from tests.jerr.tower import SYNOPSES

# Facts, elements and relations of a model's reply, cleaned.

ONE = SYNOPSES.slice(0, 1)
SETTINGS = IndexSettings(max_facts=2)


def reply(facts: list[str], elements: list[str], *relations: tuple[str, str, str]) -> str:
    named = [{"source": s, "relation": r, "target": t} for s, r, t in relations]
    return json.dumps({"facts": facts, "elements": elements, "relations": named})


def test_equal_spellings_count_once_and_the_first_three_are_used() -> None:
    said = reply([], ["The Lamp", "lamp", "**Ada**", "...", "storm", "night"])
    found = extract(ONE, Scripted(lambda _: said), SETTINGS).beside["elements"]
    assert found["element"].to_pylist() == ["The Lamp", "Ada", "storm"]
    assert found["element_key"].to_pylist() == ["lamp", "ada", "storm"]
    assert found["position"].to_pylist() == [0, 1, 2]


def test_relations_join_two_distinct_elements_in_three_words() -> None:
    said = reply(
        ["Ada lights  the lamp.", "Ada lights the lamp.", "It is dark.", "A third."],
        ["Ada", "the lamp"],
        ("Ada", "is the one lighting", "The lamp"),
        ("ada", "again", "lamp"),
        ("lamp", "is lit by", "Ada"),
        ("Ada", "is", "Ada"),
        ("Ada", "fears", "storm"),
        ("lamp", " ", "Ada"),
    )
    found = extract(ONE, Scripted(lambda _: said), SETTINGS)
    columns = ("source_key", "relation", "target_key")
    assert [tuple(row[c] for c in columns) for row in found.beside["relations"].to_pylist()] == [
        ("ada", "is the one", "lamp"),
        ("lamp", "is lit by", "ada"),
    ]
    assert found.rows["statement"].to_pylist() == ["Ada lights the lamp.", "It is dark."]


def test_failure_is_reported_and_the_rest_is_kept() -> None:
    replies = iter([None, reply(["A fact."], ["storm"]), reply([], [])])
    found = extract(SYNOPSES, Scripted(lambda _: next(replies)), SETTINGS)
    assert found.beside["elements"]["chunk_id"].to_pylist() == ["a2"]
    assert found.failures == [
        "document 'a', line chunk 0: no facts and elements: the server is tired"
    ]


names = st.lists(st.text(max_size=12), max_size=6)


@given(names, st.lists(st.tuples(*[st.text(max_size=12)] * 3), max_size=6))
def test_relations_join_elements_of_the_same_synopsis_for_any_reply(
    elements: list[str], relations: list[tuple[str, str, str]]
) -> None:
    said = reply(elements, elements, *relations)
    found = extract(ONE, Scripted(lambda _: said), SETTINGS)
    keys = found.beside["elements"]["element_key"].to_pylist()
    assert len(set(keys)) == len(keys) <= SETTINGS.n_elements
    ends = [(r["source_key"], r["target_key"]) for r in found.beside["relations"].to_pylist()]
    assert len(set(ends)) == len(ends)
    assert all(one != other and {one, other} <= set(keys) for one, other in ends)


# A synopsis for every line chunk that is longer than one.

LONG = "The ferry of the old harbour leaves at noon. " * 40  # 360 words
INDEXING = IndexSettings()


def line_chunks(texts: list[str], n_tokens: int = 1000) -> pa.Table:
    rows = [
        {"chunk_id": f"c{i}", "document_id": "d", "position": i, "start": 0, "end": len(text)}
        | {"n_tokens": n_tokens, "text": text}
        for i, text in enumerate(texts)
    ]
    return pa.Table.from_pylist(rows, of_one_size("jerr.line_chunks"))


def test_length_is_proportional_to_the_chunk() -> None:
    model = Scripted(lambda _: "In short.")
    for n_tokens, words in ((1000, 100), (2000, 200), (10, 20)):
        found = synopses(line_chunks([LONG], n_tokens), model, INDEXING)
        assert found.rows["synopsis"].to_pylist() == ["In short."]
        assert model.requests[-1].max_words == words
        assert f"at most {words} words" in model.requests[-1].instructions


def test_chunk_shorter_than_a_synopsis_is_its_own_synopsis() -> None:
    model = Scripted(lambda _: "In short.")
    found = synopses(line_chunks(["The ferry leaves at noon.", LONG]), model, INDEXING)
    assert found.rows["synopsis"].to_pylist() == ["The ferry leaves at noon.", "In short."]
    assert found.rows["model"].to_pylist() == ["", "scripted"]
    assert [request.passages for request in model.requests] == [(LONG,)]


def test_invalid_reply_gives_no_row_and_keeps_the_rest() -> None:
    replies = iter([None, " ", "In short."])
    found = synopses(
        line_chunks([LONG + "1", LONG + "2", LONG]), Scripted(lambda _: next(replies)), INDEXING
    )
    assert found.rows["chunk_id"].to_pylist() == ["c2"]
    assert [problem.split(":")[0] for problem in found.failures] == [
        "document 'd', line chunk 0",
        "document 'd', line chunk 1",
    ]
    assert "the server is tired" in found.failures[0]


# Keywords of a question.


def test_keywords_are_distinct_and_at_most_ten() -> None:
    said = json.dumps({"keywords": ["lamp", " lamp ", "", *map(str, range(20))]})
    found = ask_keywords(queries({"q": "Who broke the lamp?"}), Scripted(lambda _: said))
    assert found.rows["keywords"].to_pylist() == [["lamp", *map(str, range(9))]]
    assert found.rows["calls"].to_pylist() == [1]


def test_options_of_a_choice_are_searched_for() -> None:
    model = Scripted(lambda _: json.dumps({"keywords": []}))
    questions = queries({"q": "Who broke the lamp?"}, form="choice", options=["Ada", "the storm"])
    assert ask_keywords(questions, model).rows["keywords"].to_pylist() == [[]]
    assert "(B) the storm" in model.requests[0].passages[0]


def test_retrieval_text_is_searched_for() -> None:
    model = Scripted(lambda _: json.dumps({"keywords": []}))
    questions = queries({"q": "Summarize it."}, retrieval_text="Summarize it. Topics: the lamp")
    ask_keywords(questions, model)
    assert model.requests[0].passages == ("Summarize it. Topics: the lamp",)


def test_without_a_valid_reply_the_words_of_a_question_are_keywords() -> None:
    found = ask_keywords(queries({"q": "Who broke it?"}), Scripted(lambda _: None))
    assert found.rows["keywords"].to_pylist() == [["Who", "broke", "it?"]]
    assert found.failures == ["question 'q': no keywords: the server is tired"]
