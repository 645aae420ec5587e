"""What bears on a question."""

import numpy as np

from gsum_resources.text.bearing import bearing
from gsum_resources.text.reading import Reading
from gsum_resources.text.sentences import Sentence, read_sentences
from gsum_resources.text.summarize import choose_sentences


def of(question: str, sentences: list[Sentence], relevant: list[float]) -> np.ndarray:
    return bearing(question, sentences, np.array(relevant))


def test_of_equally_similar_sentences_one_with_the_words_of_the_question_bears_more() -> None:
    roof, bees = Sentence("The roof leaks.", "", 0), Sentence("The bees sleep.", "", 1)
    first, second = of("Which roof leaks?", [roof, bees], [0.3, 0.3])
    assert first > second


def test_reply_bears_like_the_question_that_it_replies_to() -> None:
    said = {"Who fixed the valve?": "Dana", "Marta did it by three.": "Paul", "That helps.": "Dana"}
    talk = [Sentence(text, speaker, 0) for text, speaker in said.items()]
    _, reply, last = of("Who fixed the valve?", talk, [0.9, 0.0, 0.0])
    assert reply > last


def test_pronoun_refers_to_the_sentence_before() -> None:
    prose = read_sentences(["Ruth climbed to the roof. She names 2,300 pounds. Bees sleep."])
    _, refers, other = of("What does the roof cost?", prose, [0.6, 0.1, 0.1])
    assert refers > other


def test_sentence_of_a_text_that_bears_is_preferred() -> None:
    texts = [Sentence("Mice ate the organ's bellows.", "", 0), Sentence("It is old.", "", 0)]
    same, other = of("Organ?", [*texts, Sentence("The road is bad.", "", 1)], [0.6, 0.1, 0.2])[1:]
    assert same > other


def test_no_sentences_bear_nothing() -> None:
    assert of("Who?", [], []).shape == (0,)


def test_brief_answer_prefers_probable_passages_unless_it_compares() -> None:
    sentences = [
        Sentence("The council repairs the roof of the hall.", "", 0),
        Sentence("The council repairs the organ of the church.", "", 1),
    ]
    vectors = np.array([[1.0, 0.0], [0.8, 0.6]])

    def answer(question: str, likely: list[float]) -> list[Sentence]:
        reading = Reading(sentences, vectors, question, np.array([[1.0, 0.0]]))
        return choose_sentences(reading, 130, None, np.array(likely), is_brief=True)

    assert answer("Why does the council repair the hall?", [0.3, 0.9]) == sentences[1:]
    assert answer("Why does the council repair the hall?", [0.8, 0.9]) == sentences
    assert answer("How do the council's repairs differ?", [0.3, 0.9]) == sentences


def test_probable_passages_that_bear_on_nothing_do_not_empty_an_answer() -> None:
    sentences = [
        Sentence("The council repairs the roof of the hall.", "", 0),
        Sentence("Bees sleep in winter and wake in March.", "", 1),
    ]
    vectors = np.array([[1.0, 0.0], [0.1, 0.995]])
    reading = Reading(sentences, vectors, "Why is the roof repaired?", np.array([[1.0, 0.0]]))
    chosen = choose_sentences(reading, 130, None, np.array([0.05, 1.0]), is_brief=True)
    assert chosen == sentences[:1]


def test_what_names_a_sum_bears_more_on_what_something_costs() -> None:
    sentences = [
        Sentence("The council agreed to repair the roof.", "", 0),
        Sentence("The roof of the hall was surveyed.", "", 1),
        Sentence("It takes 2,300 pounds to replace the slates.", "", 1),
    ]
    agreed, surveyed, cost = of("What does the roof cost?", sentences, [0.5, 0.4, 0.4])
    assert cost > surveyed
    assert cost > agreed
    agreed, surveyed, cost = of("What happens to the roof?", sentences, [0.5, 0.4, 0.4])
    assert agreed > cost


def test_a_sum_in_a_text_about_something_else_is_not_preferred() -> None:
    ferry = Sentence("The ferry leaves at noon.", "", 0)
    roof = Sentence("The slates cost 2,300 pounds.", "", 1)
    first, second = of("How much does the ferry cost?", [ferry, roof], [0.45, 0.4])
    assert first > second


def test_what_the_named_speaker_says_bears_more() -> None:
    by_teo = Sentence("The rope was not hooked back.", "Teo", 0)
    by_marit = Sentence("Teo told us of the rope.", "Marit", 1)
    first, second = of("What did Teo say about the rope?", [by_teo, by_marit], [0.5, 0.6])
    assert first > second


def test_short_reply_answers_a_question_for_a_fact() -> None:
    talk = [Sentence("Who fixed it?", "Dana", 0), Sentence("Marta did.", "Paul", 0)]
    reading = Reading(talk, np.array([[0.9, 0.1], [0.3, 0.9]]), "Who fixed it?", np.eye(2)[:1])
    assert choose_sentences(reading, 130, is_brief=True) == talk[1:]
