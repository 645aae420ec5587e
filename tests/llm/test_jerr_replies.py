"""Replies of the extractive model to JERR's schemas, on texts with known answers."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from gsum_assets.jerr.prompts import Extraction, Keywords, LookUp, Pause
from gsum_resources.llm.extractive import ExtractiveModel
from gsum_resources.protocols.models import Completion, Request
from gsum_resources.protocols.results import Entity, Relationship
from gsum_resources.text.entities import relate_elements
from gsum_resources.text.ranking import least_alike
from gsum_resources.text.sentences import read_sentences
from tests.llm.embedders import WordEmbedder
from tests.llm.test_text import each
from tests.servers.clients import client_of, settings_for
from tests.servers.extractive import extractive_says
from tests.servers.scripted import scripted_server

SHELVES = "The shelves of the library reach the ceiling. The shelves need an inclining test."
ENGINE = "The engine of the boat is older than the harbour. The engine burns coal."
MOON = "The moon rose over a silent desert of glass. Nobody saw the moon."
STORY = (
    "Nell Kettle carried the brass bar to Jory Brandt. Jory Brandt laughed at Nell Kettle. "
    "The brass bar saved Jory Brandt in the winter. It was a cold winter for everybody."
)


def replied(schema, *passages, question=""):
    request = Request("facts", "", question, passages, schema=schema)
    (completion,) = ExtractiveModel(WordEmbedder()).complete([request])
    assert isinstance(completion, Completion), completion
    assert isinstance(completion.parsed, schema)
    return completion.parsed


@each("keywords")
def test_keywords_are_names_and_phrases_of_a_question(case):
    keywords = replied(Keywords, case[0]).keywords
    assert sorted(keywords) == case[1]


def test_keywords_of_the_question_precede_those_of_its_options():
    question = "Why did the guards leave the door unlocked?\n(A) They were asleep\n(B) By law"
    keywords = replied(Keywords, question).keywords
    assert set(keywords[:4]) == {"guards", "door", "leave", "unlocked"}
    assert set(keywords[4:]) == {"asleep", "law"}


def test_keywords_are_at_most_ten_with_names_first():
    keywords = replied(Keywords, f"{STORY} {ENGINE} {SHELVES}").keywords
    assert len(keywords) == len(set(keywords)) == 10
    assert {"Nell Kettle", "Jory Brandt", "brass bar"} <= set(keywords)


@pytest.mark.parametrize("passages", [(SHELVES, MOON, ENGINE), (MOON, ENGINE, SHELVES)])
def test_answering_passage_is_looked_up_first_and_unrelated_ones_never(passages):
    question = "Which test do the shelves need, and what does the engine need?"
    found = replied(LookUp, *passages, question=question).references
    assert [passages[number - 1] for number in found] == [SHELVES, ENGINE]


def test_question_about_everything_looks_up_the_most_central_passage_first():
    other = "The shelves of the library need paint. The ceiling of the library leaks."
    passages = (MOON, SHELVES, other)
    found = replied(LookUp, *passages, question="Summarize it.").references
    assert found[0] in (2, 3)
    assert len(found) == len(set(found))
    assert set(found) <= {1, 2, 3}


@pytest.mark.parametrize("n_before", [1, 2, 3])
def test_pause_is_at_a_change_of_topic(n_before):
    said = [f"The engine of the boat burns {what}." for what in ("coal", "oil", "wood", "peat")]
    turned = [f"The moon rose over the {what}." for what in ("desert", "dune", "rock")]
    assert replied(Pause, *said[:n_before], *turned).pause == n_before


def test_single_passage_is_followed_by_a_pause():
    assert replied(Pause, SHELVES).pause == 1


def test_passages_without_sentences_are_no_pause():
    assert replied(Pause, "A: Um.", "A: The boat is old.", "A: The moon is new.").pause == 2


@given(
    st.integers(1, 6).flatmap(
        lambda n: st.tuples(st.just(n), st.lists(st.integers(1, n), min_size=1, max_size=12))
    )
)
def test_pause_leaves_a_remainder(drawn):
    n_passages, passages = drawn
    vectors = np.ones((len(passages), 2), np.float32)
    assert 1 <= least_alike(vectors, sorted(passages), n_passages) <= max(1, n_passages - 1)


def test_minimum_cosine_is_found_exactly():
    angles = np.array([0.0, 0.1, 0.2, 1.2, 1.3])
    vectors = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    assert least_alike(vectors, [1, 2, 3, 4, 5], 5) == 3
    assert least_alike(vectors, [1, 1, 1, 2, 3], 3) == 1


def related(elements, text):
    sentences = read_sentences([text])
    return relate_elements(elements, sentences, np.ones(len(sentences)))


@each("relations")
def test_relation_starts_at_the_first_named_element(case):
    (found,) = related(["Jory", "Nell"], case[0])
    assert [found.source, found.relation, found.target] == case[1]


def test_elements_are_found_in_any_number_and_case():
    (found,) = related(["rubber case", "Battery"], "Rubber Cases protect the batteries.")
    assert (found.source, found.target) == ("rubber case", "Battery")
    assert related(["rubber case", "Battery"], "A rubber case. A battery.") == []


def test_words_nearest_to_the_target_name_the_relation():
    (found,) = related(
        ["battery", "charger"], "I like the battery, as the battery needs a charger."
    )
    assert found.relation == "needs"


class Elements(BaseModel):
    elements: list[str]


def test_text_is_split_into_facts_elements_and_relations():
    extraction = replied(Extraction, STORY)
    assert extraction.elements == replied(Elements, STORY).elements
    assert "Nell Kettle carried the brass bar to Jory Brandt." in extraction.facts
    assert extraction.relations
    for relation in extraction.relations:
        assert {relation.source, relation.target} <= set(extraction.elements)
        assert relation.source != relation.target
        assert 1 <= len(relation.relation.split()) <= 3


def test_text_without_elements_has_no_relations():
    extraction = replied(Extraction, "It is what it is.")
    assert extraction.elements == []
    assert extraction.relations == []


class OfEntities(BaseModel):
    nodes: list[Entity]
    relations: list[Relationship]


class OfEntitiesByName(BaseModel):
    entities: list[Entity]
    relationships: list[Relationship]


def test_relations_join_the_given_entities():
    found, expected = replied(OfEntities, STORY), replied(OfEntitiesByName, STORY)
    assert found.relations == expected.relationships != []


def test_server_reply_has_the_same_form(tmp_path):
    lookup_question = "Which test do the shelves need?"
    requests = [
        Request("facts", "Read.", question, passages, schema=schema)
        for schema, question, passages in (
            (Keywords, "", (lookup_question,)),
            (LookUp, lookup_question, (SHELVES, MOON, ENGINE)),
            (Pause, "", (SHELVES, MOON, ENGINE)),
            (Extraction, "", (STORY,)),
        )
    ]
    with (
        scripted_server(tmp_path / "log", extractive_says(WordEmbedder())) as server,
        client_of(settings_for(server.base_url)) as model,
    ):
        replies = model.complete(requests)
    expected = ExtractiveModel(WordEmbedder()).complete(requests)
    for reply, other in zip(replies, expected, strict=True):
        assert isinstance(reply, Completion), reply
        assert isinstance(other, Completion)
        assert reply.parsed == other.parsed is not None
