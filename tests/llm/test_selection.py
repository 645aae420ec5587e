"""Selection keeps its budget, avoids repetition and follows the question."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gsum_resources.text.ranking import centrality, relevance
from gsum_resources.text.selection import (
    SelectionSettings,
    is_statement,
    readability,
    relevance_factor,
    select_sentences,
    word_weights,
)
from gsum_resources.text.sentences import Sentence, read_sentences, render_sentences
from gsum_resources.text.vocabulary import content_stems
from tests.llm.embedders import WordEmbedder

SETTINGS = SelectionSettings()
NOUNS = """boat lamp river clerk winter bridge letter orchard signal harbour coin mirror"""
NOUNS = sorted(NOUNS.split())


def prose(*texts):
    return [Sentence(text, "", 0) for text in texts]


def select(sentences, max_words, relevant=None, probabilities=None):
    vectors = WordEmbedder().embed([s.text for s in sentences])
    central = np.ones(len(sentences))
    wanted = None
    if relevant is not None:
        wanted = relevance_factor(relevant, probabilities, SETTINGS, of_speech=False)
    return select_sentences(sentences, vectors, wanted, central, max_words, SETTINGS)


def test_word_weights_equal_the_formula():
    weights = word_weights([frozenset("ab"), frozenset("a")], 2.0)
    assert np.isclose(weights["a"], np.log(3) ** 2)
    assert np.isclose(weights["b"], np.log(2) ** 2)


def test_centrality_of_a_star_is_highest_at_its_centre():
    vectors = np.array([[1, 1, 1], [1, 0, 0], [0, 1, 0], [0, 0, 1]], float)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    scores = centrality(vectors)
    assert np.argmax(scores) == 0
    assert np.allclose(scores, [1, 1 / 3, 1 / 3, 1 / 3])


def test_unrelated_sentences_are_equally_central():
    assert np.allclose(centrality(np.eye(4)), 0)
    assert centrality(np.zeros((0, 3))).shape == (0,)


def test_relevance_is_the_nearest_aspect():
    assert np.allclose(relevance(np.eye(3), np.eye(3)[:2]), [1, 1, 0])


def test_repeated_sentence_is_chosen_last():
    sentences = prose(
        "The old boat crossed the wide river slowly.",
        "The old boat crossed the wide river slowly again.",
        "A clerk wrote letters about the winter orchard.",
    )
    assert 2 in select(sentences, 17)
    assert len(select(sentences, 17)) == 2


def test_relevant_sentence_wins():
    sentences = prose(*(f"The {noun} was painted red by them." for noun in NOUNS))
    relevant = np.full(len(NOUNS), 0.1)
    relevant[7] = 0.9
    assert select(sentences, 7, relevant) == [7]


def test_probable_passage_outweighs_a_slightly_more_relevant_sentence():
    sentences = prose(*(f"The {noun} was painted red by them." for noun in NOUNS))
    relevant = np.full(len(NOUNS), 0.5)
    relevant[7] = 0.6
    probabilities = np.full(len(NOUNS), 0.2)
    probabilities[3] = 0.4
    assert select(sentences, 7, relevant, probabilities) == [3]
    assert select(sentences, 7, relevant, np.full(len(NOUNS), 0.2)) == [7]


def test_relevance_factor_equals_the_formula():
    relevant, probabilities = np.array([0.25, 0.0]), np.array([0.25, 0.0])
    for of_speech, known, expected in (
        (True, None, [0.125, 0.01**1.5]),
        (False, None, [0.125, 0.01**1.5]),
        (True, probabilities, [0.125 * 0.5, 0.001**1.5 * 0.1]),
        (False, probabilities, [0.5 * 0.125, 0.001**0.5 * 0.01**1.5]),
    ):
        assert np.allclose(relevance_factor(relevant, known, SETTINGS, of_speech), expected)


def test_chat_questions_and_fragments_count_less():
    sentences = [
        Sentence("The boat crossed the river.", "", 0),
        Sentence("I told you what my boat is.", "", 0),
        Sentence("Was the boat in the river?", "", 0),
        Sentence("The boat crossed the", "", 0, whole=False),
        Sentence("Another boat in the river.", "", 0),
    ]
    factors = readability(sentences, SETTINGS)
    assert factors[0] == 1
    assert all(factors[1:] < 1)


@settings(max_examples=60)
@given(
    st.lists(
        st.tuples(
            st.sampled_from(["Ann", "The Project Manager", ""]),
            st.lists(st.sampled_from(NOUNS), min_size=1, max_size=30),
        ),
        min_size=1,
        max_size=25,
    ),
    st.integers(5, 120),
)
def test_budget_and_order_are_kept(content, max_words):
    sentences = [Sentence(" ".join(text) + ".", speaker, 0) for speaker, text in content]
    chosen = select(sentences, max_words)
    assert chosen == sorted(set(chosen))
    text = render_sentences([sentences[i] for i in chosen])
    assert len([w for w in text.split() if w != "–"]) <= max_words * 1.03


@settings(max_examples=60)
@given(st.lists(st.lists(st.sampled_from(NOUNS), min_size=6, max_size=12), min_size=1, max_size=12))
def test_each_chosen_sentence_adds_most_to_those_before(content):
    sentences = prose(*(f"The {' '.join(text)} is old." for text in content))
    stems = [frozenset(content_stems(s.text)) for s in sentences]
    weights, worth = word_weights(stems, SETTINGS.word_power), readability(sentences, SETTINGS)

    def gain(i, chosen):
        seen = Counter(word for j in chosen for word in stems[j])
        covered = sum(weights[w] * SETTINGS.repetition ** seen[w] for w in stems[i])
        return covered * worth[i] / len(sentences[i].text.split()) ** SETTINGS.length_power

    distinct, chosen, budget = np.eye(len(sentences)), [], 40
    while fitting := [
        i
        for i in range(len(sentences))
        if i not in chosen
        and sum(len(sentences[j].text.split()) for j in (*chosen, i)) <= budget * 1.03
    ]:
        chosen.append(max(fitting, key=lambda i: (gain(i, chosen), -i)))
    ones = np.ones(len(sentences))
    assert select_sentences(sentences, distinct, None, ones, budget, SETTINGS) == sorted(chosen)


def test_rendered_sentences_read_back():
    sentences = [
        Sentence("The boat is old and red.", "Ann", 0),
        Sentence("It leaks at the stern.", "Ann", 0),
        Sentence("The price was low.", "", 0),
        Sentence("We bought it in spring.", "Bo Lee", 0),
        Sentence("The hull is steel.", "Ann", 0),
    ]
    read = read_sentences([render_sentences(sentences)])
    assert [(s.speaker, s.text) for s in read] == [(s.speaker, s.text) for s in sentences]


@pytest.mark.parametrize(
    ("text", "states"),
    [
        ("The ferry was late.", True),
        ("No ferry before noon on Sundays.", True),
        ("GNU LESSER GENERAL PUBLIC LICENSE Version 3, 29 June 2007", False),
        ("Sunday, 29 June 2007.", False),
        ("Pattern book, father's long muffler and foolish rumour:", False),
        ("It's a long way to the harbour", True),
        ("Planet Stories Winter Planet Stories Winter (thing)", False),
        ("the terms of the former and the latter", False),
    ],
)
def test_headings_and_date_lines_are_no_statements(text, states):
    assert is_statement(Sentence(text, "", 0)) is states


def test_sentence_cut_at_the_border_is_no_statement():
    assert not is_statement(Sentence("The boat was seen near the", "", 0, whole=False))
    assert is_statement(Sentence("we saw the boat near the", "Ann", 0, whole=False))


def test_heading_is_chosen_only_without_statements():
    heading = "Boat Lamp River Clerk Winter Bridge"
    assert select(prose(heading, "The boat was seen near the river."), 30) == [1]
    assert select(prose(heading), 30) == [0]
