"""Keyphrases, questions, topics, entities, facts and grades of small texts with known answers."""

import numpy as np
import pytest

from gsum_assets.corpus.names import clean_name, names_skipped
from gsum_resources.text.entities import extract_entities, guess_type, proper_names
from gsum_resources.text.facts import atomic_statements, extract_facts
from gsum_resources.text.keyphrases import distinct, enumerate_phrases, keyphrases, write_question
from gsum_resources.text.noun_phrases import noun_phrases
from gsum_resources.text.ranking import grade
from gsum_resources.text.sentences import read_sentences

MEETING = read_sentences(
    [
        "Marketing: The rubber case should feel soft. The rubber case costs two Euro. "
        "Young users like the kinetic battery, and the kinetic battery never needs a charger.\n"
        "Project Manager: Okay. Thank you.\n"
        "Marketing: The docking station was too expensive for the production budget."
    ]
)
STORY = read_sentences(
    [
        "Nell Kettle carried the brass bar to Jory Brandt. Jory Brandt laughed. "
        '"Brass," said Nell Kettle. They lived in Sallowby near the Great Moss. '
        "The brass bar saved Jory Brandt in Sallowby, and the muffler was lost."
    ]
)


def ones(sentences):
    return np.ones(len(sentences))


def cores(sentence):
    return [phrase.core for phrase in noun_phrases(sentence)]


@pytest.mark.parametrize(
    ("sentence", "expected"),
    [
        ("We need the rubber case for the remote control.", ["rubber case", "remote control"]),
        ("They want to build a docking station.", ["docking station"]),
        ("The Bank of England raised rates.", ["Bank of England raised rates"[:15]]),
        ("It is very good.", []),
    ],
)
def test_noun_phrases(sentence, expected):
    assert cores(sentence)[: len(expected)] == expected
    assert bool(cores(sentence)) == bool(expected)


def test_keys_ignore_number_and_case():
    keys = {noun_phrases(s)[0].key for s in ("The rubber cases.", "In a Rubber Case.")}
    assert len(keys) == 1


def test_frequent_phrases_rank_first_without_shared_words():
    ranked = keyphrases(MEETING)
    assert {k.phrase.core for k in ranked[:2]} == {"rubber case", "kinetic battery"}
    words = [set(k.phrase.key.split()) for k in distinct(ranked, 4)]
    assert sum(map(len, words)) == len(set().union(*words))


def test_question_names_the_leading_speaker_and_is_reproducible():
    question = write_question(MEETING, ones(MEETING), 0.0, 1)
    assert question.startswith("What did Marketing say about ")
    assert question.endswith("?")
    assert "the rubber case" in question
    assert question == write_question(MEETING, ones(MEETING), 0.0, 2)


def test_seeds_vary_the_question_at_a_temperature():
    questions = {write_question(MEETING, ones(MEETING), 0.5, seed) for seed in range(12)}
    assert len(questions) > 3
    again = {write_question(MEETING, ones(MEETING), 0.5, seed) for seed in range(12)}
    assert questions == again


def test_question_about_prose_names_no_speaker():
    question = write_question(STORY, ones(STORY), 0.0, 0)
    assert "say about" not in question
    assert "Jory Brandt" in question


def test_no_keyphrase_gives_no_question():
    nothing = read_sentences(["It is what it is."])
    assert write_question(nothing, ones(nothing), 0.0, 0) == ""


def test_entities_have_types_descriptions_and_relationships():
    found = extract_entities(STORY, ones(STORY))
    types = {entity.name: entity.type for entity in found.entities}
    assert types["Jory Brandt"] == "person"
    assert types["Sallowby"] == "place"
    named = {(r.source, r.target) for r in found.relationships}
    assert ("Nell Kettle", "Jory Brandt") in named
    texts = {s.text for s in STORY}
    assert {r.description for r in found.relationships} <= texts
    assert all(r.source in types and r.target in types for r in found.relationships)


def test_speakers_are_persons():
    found = extract_entities(MEETING, ones(MEETING))
    assert {e.name: e.type for e in found.entities}["Marketing"] == "person"


def test_type_by_last_noun():
    assert guess_type("Welsh Committee", []) == "organization"
    assert guess_type("Lake Vessen", []) == "place"
    assert guess_type("rubber case", []) == "concept"


def test_facts_are_single_statements_with_elements():
    facts = extract_facts(STORY, ones(STORY)).facts
    statements = [fact.statement for fact in facts]
    assert "The muffler was lost." in statements
    assert all(0 < len(fact.elements) <= 3 for fact in facts)
    assert not any(statement.endswith("?") for statement in statements)


def test_atomic_statements():
    assert atomic_statements("The hull leaks badly, and it is old.") == [
        "The hull leaks badly.",
        "It is old.",
    ]
    assert atomic_statements('"It leaks, and it is old," he said.') == [
        '"It leaks, and it is old," he said.'
    ]


def test_enumeration():
    shown = [enumerate_phrases(list("abc")[:n]) for n in range(4)]
    assert shown == ["", "a", "a and b", "a, b and c"]


def test_grades_reach_both_bounds():
    assert [grade(share, 1, 10) for share in (-1, 0, 0.5, 1, 2)] == [1, 1, 5, 10, 10]


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("Его построил инженер Иван Петров, который жил в Одессе.", ["Иван Петров", "Одессе"]),
        ("Ο μηχανικός Νίκος Παππάς έζησε στην Αθήνα.", ["Νίκος Παππάς", "Αθήνα"]),
        ("The mill of Łukasz Ševčík burned.", ["Łukasz Ševčík"]),
        ("码头的吊车坏了。", []),
    ],
)
def test_names_of_scripts_with_capitals_are_found(text: str, names: list[str]) -> None:
    assert list(proper_names(read_sentences([text]))) == names


def test_lack_of_names_is_reported_for_scripts_without_capitals() -> None:
    skipped = names_skipped(["The ferry.", "码头的吊车坏了。"], "extractive-9/x")
    assert skipped is not None
    assert "choose a language model" in skipped
    assert names_skipped(["The ferry.", "Порт."], "extractive-9/x") is None
    assert names_skipped(["码头的吊车坏了。"], "judge") is None


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("Ada Lovelace wrote a program.", ["Ada Lovelace"]),
        ("Whispering Corin left. A whispering wind blew.", ["Corin"]),
        ("They met Dr. Lin at St. John's in May.", ["Dr. Lin", "St. John's"]),
        ("He works for O'Brien & Sons.", ["O'Brien & Sons"]),
        ("The U.S. sent help to J. R. Smith.", ["U.S.", "J. R. Smith"]),
        ("We wrote it in .NET last week.", [".NET"]),
        ('They heard Joe "King" Oliver play.', ['Joe "King" Oliver']),
        ("They saw AC|DC in Sallowby.", ["AC|DC", "Sallowby"]),
        ("In December Teo left on a Monday.", ["Teo"]),
        ("Nobody lives in Little Maule. New York is far.", ["Little Maule", "New York"]),
        ("He saw Ludwig van Beethoven's grave.", ["Ludwig van Beethoven"]),
        ("He asked the Bank of the South.", ["Bank of the South"]),
        ("Oh no! Longer days. Nobody, Yes, I'm sure.", []),
        ("THE WHOLE LINE IS SHOUTED BY CORIN.", []),
    ],
)
def test_names(text: str, names: list[str]) -> None:
    assert list(proper_names(read_sentences([text]))) == names
    assert [clean_name(name) for name in names] == names


@pytest.mark.parametrize(
    ("name", "text", "kind"),
    [
        ("Teo", "Teo laughed. The others saw Teo.", "person"),
        ("Teo", "That is late, Teo.", "person"),
        ("Mrs Pell", "", "person"),
        ("Tarnholt", "They lived in Tarnholt.", "place"),
        ("Quarry Landing", "", "place"),
        ("U.S.", "", "organization"),
        ("Constance", "The Constance leaked. Bram liked the Constance.", "thing"),
        ("Oona Lisk", "They paid Oona Lisk.", "person"),
        ("Eleven Minutes", "They read Eleven Minutes.", "thing"),
    ],
)
def test_types_by_the_words_beside_a_name(name: str, text: str, kind: str) -> None:
    assert guess_type(name, read_sentences([text])) == kind


def test_concepts_are_noun_phrases_without_names_numbers_and_verbs() -> None:
    text = (
        "The hatch was open. The old hatch of the boat let in water. The county's 24 pounds and "
        "the eleventh were in his hand in November. The long face of the Trust."
    )
    sentences = read_sentences([text])
    found = extract_entities(sentences, ones(sentences)).entities
    assert {e.name for e in found if e.type == "concept"} == {"hatch", "boat", "water"}
