"""Rules that read text: cases in `text_cases.yaml`, and what holds for any text."""

import random
import re
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
import yaml
from hypothesis import example, given, settings
from hypothesis import strategies as st

from gsum_assets.corpus.names import clean_name, names_skipped
from gsum_assets.evaluation.quotations import Speakers, Verdict, Words
from gsum_resources.text.bearing import bearing
from gsum_resources.text.entities import extract_entities, guess_type, proper_names
from gsum_resources.text.facts import atomic_statements, extract_facts
from gsum_resources.text.keyphrases import distinct, enumerate_phrases, keyphrases, write_question
from gsum_resources.text.noun_phrases import noun_phrases
from gsum_resources.text.passages import join_overlapping
from gsum_resources.text.question_kinds import OTHERWISE, RULES, rule_of, words_of_answer
from gsum_resources.text.ranking import centrality, grade, relevance
from gsum_resources.text.reading import Reading, is_fact, question_aspects
from gsum_resources.text.refusals import refusal_in, says_nothing
from gsum_resources.text.selection import (
    SelectionSettings,
    is_statement,
    readability,
    relevance_factor,
    select_sentences,
    word_weights,
)
from gsum_resources.text.sentences import (
    Sentence,
    flat_text,
    join_texts,
    read_sentences,
    render_sentences,
    split_clauses,
    split_sentences,
)
from gsum_resources.text.speech import (
    Turn,
    is_spoken,
    join_interrupted,
    speaker_labels,
    tidy_spacing,
    trim_speech,
    turn_spans,
    turns,
)
from gsum_resources.text.summarize import choose_sentences
from gsum_resources.text.vocabulary import content_stems
from tests.llm.embedders import WordEmbedder

CASES = yaml.safe_load((Path(__file__).parent / "text_cases.yaml").read_text("utf-8"))
KINDS = CASES["kinds of questions"]


def each(*names: str) -> pytest.MarkDecorator:
    """Run a test for each row of some tables."""
    return pytest.mark.parametrize("case", [case for name in names for case in CASES[name]])


def ones(sentences: list[Sentence]) -> np.ndarray:
    return np.ones(len(sentences))


def prose(*texts: str) -> list[Sentence]:
    return [Sentence(text, "", 0) for text in texts]


def speakers(passages: list[str]) -> dict[str, str]:
    return {sentence.text: sentence.speaker for sentence in read_sentences(passages)}


# Questions and refusals


@each("refusals")
def test_a_refusal_is_recognized(case: str) -> None:
    assert refusal_in(f" {case}\n") == case


@each("answers")
def test_an_answer_is_no_refusal(case: str) -> None:
    assert refusal_in(case) is None


@each("marked refusals, and what they say")
def test_the_mark_is_recognized_and_is_no_part_of_the_text(case: list[str]) -> None:
    assert refusal_in(case[0]) == case[1]


def test_a_long_reply_is_an_answer() -> None:
    assert not says_nothing("The documents do not say. " + "They only discuss the boat. " * 20)
    assert not says_nothing("")


@pytest.mark.parametrize(("kind", "case"), [(kind, q) for kind in KINDS for q in KINDS[kind]])
def test_kinds_of_questions(kind: str, case: str) -> None:
    assert rule_of(case).kind == kind


def test_every_kind_has_one_rule_or_none() -> None:
    assert sorted(rule.kind for rule in (*RULES, OTHERWISE)) == sorted(KINDS)


@each("lengths of answers")
def test_a_fact_gets_a_short_answer(case: list) -> None:
    assert words_of_answer(case[0], 130) == case[1]
    assert words_of_answer(case[0], 20) == 20


def test_a_brief_answer_of_yes_or_no_is_as_short_as_one_for_a_fact() -> None:
    assert words_of_answer("Was the valve fixed?", 130, is_brief=True) == 40
    assert words_of_answer("Was the valve fixed?", 130) == 130  # as in stored answers
    assert words_of_answer("Which valves were fixed?", 130, is_brief=True) == 130


@each("facts")
def test_questions_for_a_fact(case: list) -> None:
    assert is_fact(case[0]) is case[1]


@each("numbers of aspects")
def test_questions_about_everything_have_no_aspect(case: list) -> None:
    assert len(question_aspects(case[0])) == case[1]


# Sentences and speech

MEETING = (
    "# The hatch, 30 March\n"
    "Dov: The rails cost nine hundred pounds. The county pays for the rails in April.\n"
    "Hanneke: I move that there's a safety officer for the rails and the hatch.\n"
    "Dov: Then the rails and the hatch have one officer.\n"
    "Marit: Who writes the minutes of the hatch?"
)


@each("sentences")
def test_text_is_split_into_sentences(case: list) -> None:
    assert split_sentences(case[0]) == case[1]


def test_clauses_of_a_run_on_sentence_have_a_minimum_length() -> None:
    sentence = ", and ".join(f"we went to place {i} to see the thing" for i in range(8))
    pieces = split_clauses(sentence)
    assert len(pieces) == 8
    assert all(len(piece.split()) >= 7 for piece in pieces)
    assert split_clauses("Short, and sweet.") == ["Short, and sweet."]


def test_overlapping_passages_give_each_sentence_once() -> None:
    whole = " ".join(f"The boat number {i} left harbour {i} at dawn." for i in range(20))
    passages = [whole[300:700], whole[:350], whole[650:]]
    assert [s.text for s in read_sentences(passages)] == split_sentences(whole)


def test_cut_borders_are_marked() -> None:
    sentences = read_sentences(["and then it ended badly. The crew went home. They never"])
    assert [s.whole for s in sentences] == [False, True, False]


@each("speech, and what is left of it")
def test_noise_is_trimmed(case: list[str]) -> None:
    assert trim_speech(case[0]) == case[1]


@each("speech without noise")
def test_good_sentences_are_unchanged(case: str) -> None:
    assert trim_speech(case) == case


@each("quoted prose")
def test_sentences_of_prose_are_unchanged(case: str) -> None:
    read = list(speakers([f"The lamp was lit. {case} The lamp went out."]))
    assert read == ["The lamp was lit.", case, "The lamp went out."]


@each("quoted prose", "spoken sentences")
def test_spoken_words_that_are_no_fillers_stay(case: str) -> None:
    before, after = (re.findall(r"\w+", text.lower()) for text in (case, trim_speech(case)))
    assert after == before


FILLED = "um uh the battery I mean you know we so like it costs , . ? -"


@given(st.lists(st.sampled_from(FILLED.split()), min_size=1, max_size=25))
def test_no_word_is_ever_added(tokens: list[str]) -> None:
    spoken = " ".join(tokens)
    remaining = iter(re.findall(r"\w+", tidy_spacing(spoken).lower()))
    assert all(word in remaining for word in re.findall(r"\w+", trim_speech(spoken).lower()))


REPEATED = ("um", "uh", "the", "the", "boat", "I mean", "no", "you know", "so", "or", "right", "b")


@given(st.lists(st.sampled_from(REPEATED)))
@example(["right", "the", "I mean", "I mean", "um", "the", "boat"])
@example(["the", "b", "um", "boat"])
def test_only_fillers_and_repetitions_are_left_out(tokens: list[str]) -> None:
    spoken = " ".join(tokens)
    assert Words(spoken).hold(trim_speech(spoken)) or not trim_speech(spoken)


def test_a_begun_word_is_left_out_before_its_word_alone() -> None:
    assert Words("The b um boat.").hold("The boat.")
    assert not Words("The b um lamp boat.").hold("The lamp boat.")


def test_labels_are_recurring_names() -> None:
    minutes = "# Minutes\nTreasurer: the accounts are in order.\nThe chair opened.\nAll agreed."
    interview = "Dana: Who fixed it?\nPaul: Marta did.\nDana: And the company?"
    sign = "He looked up.\nThe sign said: beware of the dog.\nNote: it was late.\nShe ran."
    present = "Present: Tom Varga.\nTom Varga opened the meeting.\nApologies: none."
    house = "Hon. Ann Lee (Hull, NDP): I rise.\nThe Chair: Order.\nHon. Ann Lee: Now."
    for texts, labels in (
        (["Ann: Hello.\nProject Manager: Hi.\nAnn: We start."], {"Ann", "Project Manager"}),
        ([sign], set()),
        ([present], set()),
        ([house], {"Hon. Ann Lee", "The Chair"}),
        ([minutes, interview], {"Dana", "Paul"}),  # a label of one text is no speaker of another
        ([f"{minutes}\nPaul: I object.", interview], {"Dana", "Paul", "Treasurer"}),
    ):
        assert speaker_labels(texts) == labels


@pytest.mark.parametrize(
    "form",
    [
        "{}: {}",
        "> {}: {}",
        "- {}: {}",
        "[00:01:02] {}: {}",
        "00:01:02 {}: {}",
        "(10:32) - {}: {}",
        "**{}:** {}",
        "__{}__: {}",
        "[{}]: {}",
        "{} [10:32]: {}",
        "{} (Finance): {}",
        "{}  00:01:02\n{}",
        "{} - {}",
        "{} – {}",
        "**{}** — {}",
    ],
)
def test_speakers_of_transcripts_in_many_forms(form: str) -> None:
    said = [("Ada d'Arc", "We pay."), ("Tom", "No."), ("Ada d'Arc", "Yes.")]
    text = "\n".join(form.format(*pair) for pair in said)
    labels = speaker_labels([text])
    assert labels == {"Ada d'Arc", "Tom"}
    assert turns(text, labels) == [Turn(*pair) for pair in said]
    spans = turn_spans(text, labels)
    assert [(name, text[start:end].strip()) for name, start, end in spans] == said


@pytest.mark.parametrize(
    "form", ["[{2}] {0}: {1}", "{2} {0}: {1}", "{0} [{2}]: {1}", "{0}  {2}\n{1}"]
)
def test_a_passage_of_a_timed_transcript_has_speakers_that_speak_once(form: str) -> None:
    said = [("Ada", "We pay.", "00:01:02"), ("Tom", "No.", "00:01:10"), ("Eva", "Yes.", "00:02:01")]
    text = "\n".join(["at the door.", *(form.format(*turn) for turn in said)])
    assert speaker_labels([text]) == {"Ada", "Tom", "Eva"}


@pytest.mark.parametrize(
    "text",
    [
        "At 10:30 we met.\nShe came 10:45\nit rang 11:00\nthen at 11:30",
        "09:00 Welcome: by Ana\n10:00 Budget: by Tom\n11:00 Lunch: for all",
        "Monday 09:00\nTuesday 09:00\nWednesday 10:00",
        "Monday\nLunch 12:00\nDinner 18:00\nTuesday\nLunch 12:00\nDinner 18:00",
        "Ada Lee - Treasurer.\nTom Varga - Secretary.\nEva Roth - Chair.",
        "Rent - 500\nPower - 300\nRent - 510\nPower - 290",
        "Monday - closed\nTuesday - 9 to 5\nMonday - 9 to 5",
        "Ada - who was late - sat.\nIt rained.\nTom left.\nAda - cold by now - rose.\nSo be it.",
        "Ada - I pay.\nAda - I paid.",
    ],
)
def test_agendas_lists_and_prose_with_dashes_have_no_speakers(text: str) -> None:
    assert not speaker_labels([text])


def test_words_before_the_first_label_and_a_truncated_last_one_have_no_speaker() -> None:
    labels = frozenset(["Ann", "Project Manager"])
    assert turns("and so it ended.\nAnn: Yes.", labels)[0] == Turn("", "and so it ended.")
    assert turns("Ann: Yes.\nProject Man", labels) == [Turn("Ann", "Yes.")]


def test_interrupted_statement_is_joined() -> None:
    talk = [Turn("A", "rechargeable batteries and"), Turn("B", "Mm-hmm."), Turn("A", "a stand.")]
    assert join_interrupted(talk) == [Turn("A", "rechargeable batteries and a stand.")]
    finished = [Turn("A", "Batteries."), Turn("B", "Mm-hmm."), Turn("A", "A stand.")]
    assert join_interrupted(finished) == finished


def test_fillers_indicate_unlabelled_speech() -> None:
    assert is_spoken("so um we could uh do it you know as a case")
    assert not is_spoken("The frost that winter went two feet down into the moss.")


def test_turns_keep_their_speakers() -> None:
    assert speakers(["Ann: We sell it. Um, it is red.\nBo: Why do we?"]) == {
        "We sell it.": "Ann",
        "It is red.": "Ann",
        "Why do we?": "Bo",
    }
    assert read_sentences(["A: Um.\nB: Mm-hmm.\nA: Uh."]) == []
    wrapped = "Dov: The rails\ncost a lot\nof money\nthis year.\nDov: Yes, they\ndo.\n"
    once = speakers([f"{wrapped}Hanneke: I move\nthat we wait."])
    assert once["I move that we wait."] == "Hanneke"
    items = speakers(["The hatch:\n- Dov: The rails are in.\n- Marit: We wait.\n- The boat leaks."])
    assert items["The rails are in."] == "Dov"
    assert items["We wait."] == "Marit"
    assert items["The boat leaks."] == ""


def test_one_passage_of_speech_among_prose_keeps_its_speaker() -> None:
    boats = [f"The boat number {i} left the quay at dawn.\nIt came back." for i in range(5)]
    found = speakers([*boats, "Dov: The skipper is 21,600. We wait.", "Chapter One: The lamp."])
    assert found["We wait."] == "Dov"
    assert found["It came back."] == found["Chapter One: The lamp."] == ""


@pytest.mark.parametrize(
    ("passage", "shown"),
    [
        ("of April.\nMarit: We wait.\nDov: So be it.", "– …of April.\nMarit: We wait."),
        ("and CERB pays.\nMarit: We wait.\nDov: So be it.", "– …CERB pays.\nMarit: We wait."),
        ("Pell who drove. We saw Pell there.\nDov: So be it.", "– …Pell who drove. We saw Pell"),
        ("25,000 falls away.\nMarit: We wait.\nDov: So be it.", "– …25,000 falls away.\nMarit:"),
        ("Please note it.\nMarit: We wait.\nDov: So be it.", "– Please note it.\nMarit: We wait."),
        (
            "Marit: We wait.\nDov: So be it. There will be a",
            "Marit: We wait.\nDov: So be it. There",
        ),
        ("Marit: We wait for\nDov: So be it.", "Marit: We wait for.\nDov: So be it."),
        ("because it leaks. The boat is red.", "…because it leaks. The boat is red."),
        ("The boat is red. It leaks at the", "The boat is red. It leaks at the"),
    ],
)
def test_sentences_cut_by_a_border_are_shown_as_cut(passage: str, shown: str) -> None:
    once = render_sentences(read_sentences([passage]))
    assert once.startswith(shown)
    assert once.endswith("There will be a …") == passage.endswith("There will be a")
    assert render_sentences(read_sentences([once])) == once


def test_a_cut_sentence_is_a_sentence_of_its_own() -> None:
    assert split_sentences("It is red. …because it leaks. … So be it.") == [
        "It is red.",
        "…because it leaks. …",
        "So be it.",
    ]


def test_nobody_without_a_name_goes_on_for_another() -> None:
    texts = ["of April. It was late.\nMarit: We wait.", "the red boat.\nMarit: So be it."]
    cut = [s for s in read_sentences(texts) if not s.speaker]
    assert render_sentences([*cut, Sentence("We wait.", "Marit", 2)]) == (
        "– …of April. It was late.\n– …the red boat.\nMarit: We wait."
    )


def test_cut_turns_have_no_speaker() -> None:
    found = speakers([MEETING[40:], "of April.\nMarit: We wait.\nDov: So be it."])
    assert found["I move that there's a safety officer for the rails and the hatch."]
    assert found["…of April."] == ""


@each("what ends a turn")
def test_what_follows_no_turn_directly_has_no_speaker(case: str) -> None:
    text = f"Dov: The rails are in.\nMarit: We wait.{case}The boat leaks."
    assert speakers([text])["The boat leaks."] == ""


@pytest.mark.parametrize(
    ("texts", "rendered"),
    [
        (["Door quote", "The door costs 310."], "Door quote. The door costs 310."),
        (["Dear board,", "The door costs 310."], "Dear board, The door costs 310."),
        (["Costs:", "The door costs 310."], "Costs: The door costs 310."),
        (["The door costs 310.", "Lamp quote"], "The door costs 310. Lamp quote"),
    ],
)
def test_heading_and_sentence_stay_apart(texts: list[str], rendered: str) -> None:
    text = render_sentences([Sentence(text, "", 0) for text in texts])
    assert text == rendered
    if texts[0][-1].isalnum():
        assert [s.text for s in read_sentences([text])] == ["Door quote.", texts[1]]


def test_texts_are_joined_without_lending_a_speaker() -> None:
    assert join_texts(["A lamp.", "A  ferry."]) == "A lamp. A ferry."
    joined = join_texts(["Dov: A lamp.\n– A quay.", "A ferry.", "Marit: A mill."])
    assert joined == "Dov: A lamp.\n– A quay.\n– A ferry.\nMarit: A mill."
    assert list(speakers([joined]).values()) == ["Dov", "", "", "Marit"]
    assert flat_text("One\ntwo.") == "One two."
    assert flat_text("Dov:  One.\n\nMarit: Two.") == "Dov: One.\nMarit: Two."


@given(st.lists(st.sampled_from(MEETING.splitlines()[1:]), min_size=1, max_size=5), st.data())
def test_joined_and_cut_texts_are_read_as_the_source_has_them(
    lines: list[str], data: st.DataObject
) -> None:
    start = data.draw(st.integers(0, 60))
    texts = [lines[0][start:], *lines[1:]]
    source = Speakers([MEETING])
    shown = render_sentences(read_sentences([join_texts(texts)]))
    verdicts = [source.verdict(s) for s in source.shown(shown) if s.names]
    assert Verdict.WRONG not in verdicts


def test_rendered_sentences_read_back() -> None:
    sentences = [
        Sentence("The boat is old and red.", "Ann", 0),
        Sentence("It leaks at the stern.", "Ann", 0),
        Sentence("The price was low.", "", 0),
        Sentence("We bought it in spring.", "Bo Lee", 0),
        Sentence("The hull is steel.", "Ann", 0),
    ]
    read = read_sentences([render_sentences(sentences)])
    assert [(s.speaker, s.text) for s in read] == [(s.speaker, s.text) for s in sentences]


# Overlapping passages

TEXT = " ".join(f"sentence{i} has its own number {i * 7919}." for i in range(60))


@given(st.permutations(range(9)))
def test_chunks_of_one_text_join_to_it(order: list[int]) -> None:
    step, size = 260, 320
    chunks = [TEXT[i * step : i * step + size].strip() for i in range(9)]
    assert join_overlapping([chunks[i] for i in order]) == [TEXT[: 8 * step + size].strip()]


def test_runs_keep_the_order_of_their_best_passages() -> None:
    passages = [f"{name} " * 20 for name in ("beta", "alpha", "gamma")]
    assert join_overlapping(passages) == [p.strip() for p in passages]
    first, second, other = TEXT[:300], TEXT[250:600], "Nothing in common with the rest at all."
    assert join_overlapping([second, other, first]) == [TEXT[:600].strip(), other]
    assert join_overlapping([TEXT[100:300], TEXT, TEXT, "  "]) == [TEXT]
    assert len(join_overlapping(["One story ends here. Yeah.", "Yeah. Another begins here."])) == 2
    a, b = "x" * 40, "y" * 40
    assert len(join_overlapping([a + b, b + a])) == 1  # a cycle


@given(st.text("ab", min_size=1), st.text("ab", min_size=1), st.integers(1, 7))
def test_two_passages_are_joined_at_their_longest_overlap(
    first: str, second: str, least: int
) -> None:
    def shared(left: str, right: str) -> int:
        lengths = range(least, 1 + min(len(left), len(right)))
        return max((n for n in lengths if left.endswith(right[:n])), default=0)

    joined = join_overlapping([first, second], least)
    longer, shorter = sorted((first, second), key=len, reverse=True)
    if first == second or (shorter in longer and len(shorter) >= least):
        assert joined == [longer]
    elif n := max(shared(first, second), shared(second, first)):
        left, right = (first, second) if shared(first, second) == n else (second, first)
        assert joined == [left + right[n:]]
    else:
        assert joined == [first, second]


def test_many_passages_are_joined_in_linear_time() -> None:
    rng = random.Random(0)
    text = " ".join(str(rng.random()) for _ in range(20_000))
    chunks = [text[i : i + 1200] for i in range(0, len(text), 1000)]
    rng.shuffle(chunks)
    assert join_overlapping(chunks) == [text.strip()]


# What bears on a question


def bears(question: str, sentences: list[Sentence], relevant: list[float]) -> list[float]:
    return bearing(question, sentences, np.array(relevant)).tolist()


def test_words_replies_pronouns_and_the_text_decide_what_bears_on_a_question() -> None:
    roof, bees = Sentence("The roof leaks.", "", 0), Sentence("The bees sleep.", "", 1)
    first, second = bears("Which roof leaks?", [roof, bees], [0.3, 0.3])
    assert first > second
    said = {"Who fixed the valve?": "Dana", "Marta did it by three.": "Paul", "That helps.": "Dana"}
    talk = [Sentence(text, speaker, 0) for text, speaker in said.items()]
    _, reply, last = bears("Who fixed the valve?", talk, [0.9, 0.0, 0.0])
    assert reply > last
    read = read_sentences(["Ruth climbed to the roof. She names 2,300 pounds. Bees sleep."])
    _, refers, other = bears("What does the roof cost?", read, [0.6, 0.1, 0.1])
    assert refers > other
    organ = prose("Mice ate the organ's bellows.", "It is old.")
    _, same, other = bears("Organ?", [*organ, Sentence("Bad road.", "", 1)], [0.6, 0.1, 0.2])
    assert same > other
    by_teo = Sentence("The rope was not hooked back.", "Teo", 0)
    by_marit = Sentence("Teo told us of the rope.", "Marit", 1)
    first, second = bears("What did Teo say about the rope?", [by_teo, by_marit], [0.5, 0.6])
    assert first > second
    assert bears("Who?", [], []) == []


def test_what_names_a_sum_bears_more_on_what_something_costs() -> None:
    sentences = [
        Sentence("The council agreed to repair the roof.", "", 0),
        Sentence("The roof of the hall was surveyed.", "", 1),
        Sentence("It takes 2,300 pounds to replace the slates.", "", 1),
    ]
    agreed, surveyed, cost = bears("What does the roof cost?", sentences, [0.5, 0.4, 0.4])
    assert cost > max(surveyed, agreed)
    agreed, surveyed, cost = bears("What happens to the roof?", sentences, [0.5, 0.4, 0.4])
    assert agreed > cost
    ferry = Sentence("The ferry leaves at noon.", "", 0)
    roof = Sentence("The slates cost 2,300 pounds.", "", 1)  # of something else
    first, second = bears("How much does the ferry cost?", [ferry, roof], [0.45, 0.4])
    assert first > second


def brief(
    question: str, sentences: list[Sentence], vectors: list, likely: list[float] | None = None
) -> list[Sentence]:
    reading = Reading(sentences, np.array(vectors), question, np.array([[1.0, 0.0]]))
    probabilities = None if likely is None else np.array(likely)
    return choose_sentences(reading, 130, None, probabilities, is_brief=True)


def test_brief_answer_prefers_probable_passages_unless_it_compares() -> None:
    sentences = [
        Sentence("The council repairs the roof of the hall.", "", 0),
        Sentence("The council repairs the organ of the church.", "", 1),
    ]
    vectors = [[1.0, 0.0], [0.8, 0.6]]
    why = "Why does the council repair the hall?"
    assert brief(why, sentences, vectors, [0.3, 0.9]) == sentences[1:]
    assert brief(why, sentences, vectors, [0.8, 0.9]) == sentences
    assert brief("How do the repairs differ?", sentences, vectors, [0.3, 0.9]) == sentences
    bees = [sentences[0], Sentence("Bees sleep in winter and wake in March.", "", 1)]
    why, vectors = "Why is the roof repaired?", [[1.0, 0.0], [0.1, 0.995]]
    assert brief(why, bees, vectors, [0.05, 1.0]) == bees[:1]  # what bears on nothing


def test_short_reply_answers_a_question_for_a_fact() -> None:
    talk = [Sentence("Who fixed it?", "Dana", 0), Sentence("Marta did.", "Paul", 0)]
    assert brief("Who fixed it?", talk, [[0.9, 0.1], [0.3, 0.9]]) == talk[1:]


# Selection of sentences

SETTINGS = SelectionSettings()
NOUNS = ["boat", "bridge", "clerk", "coin", "harbour", "lamp", "letter", "mirror"]
NOUNS += ["orchard", "river", "signal", "winter"]


def select(
    sentences: list[Sentence],
    max_words: int,
    relevant: np.ndarray | None = None,
    probabilities: np.ndarray | None = None,
) -> list[int]:
    vectors = WordEmbedder().embed([s.text for s in sentences])
    wanted = None
    if relevant is not None:
        wanted = relevance_factor(relevant, probabilities, SETTINGS, of_speech=False)
    return select_sentences(sentences, vectors, wanted, ones(sentences), max_words, SETTINGS)


def test_weights_and_factors_equal_their_formulas() -> None:
    weights = word_weights([frozenset("ab"), frozenset("a")], 2.0)
    assert weights == pytest.approx({"a": np.log(3) ** 2, "b": np.log(2) ** 2})
    relevant, probabilities = np.array([0.25, 0.0]), np.array([0.25, 0.0])
    for of_speech, known, expected in (
        (True, None, [0.125, 0.01**1.5]),
        (False, None, [0.125, 0.01**1.5]),
        (True, probabilities, [0.125 * 0.5, 0.001**1.5 * 0.1]),
        (False, probabilities, [0.5 * 0.125, 0.001**0.5 * 0.01**1.5]),
    ):
        assert np.allclose(relevance_factor(relevant, known, SETTINGS, of_speech), expected)
    assert np.allclose(relevance(np.eye(3), np.eye(3)[:2]), [1, 1, 0])  # to the nearest aspect


def test_centrality_of_a_star_is_highest_at_its_centre() -> None:
    vectors = np.array([[1, 1, 1], [1, 0, 0], [0, 1, 0], [0, 0, 1]], float)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    assert np.allclose(centrality(vectors), [1, 1 / 3, 1 / 3, 1 / 3])
    assert np.allclose(centrality(np.eye(4)), 0)
    assert centrality(np.zeros((0, 3))).shape == (0,)


def test_repeated_sentence_is_chosen_last() -> None:
    sentences = prose(
        "The old boat crossed the wide river slowly.",
        "The old boat crossed the wide river slowly again.",
        "A clerk wrote letters about the winter orchard.",
    )
    assert 2 in select(sentences, 17)
    assert len(select(sentences, 17)) == 2


def test_relevant_sentence_and_probable_passage_win() -> None:
    sentences = prose(*(f"The {noun} was painted red by them." for noun in NOUNS))
    relevant = np.full(len(NOUNS), 0.1)
    relevant[7] = 0.9
    assert select(sentences, 7, relevant) == [7]
    relevant = np.full(len(NOUNS), 0.5)
    relevant[7] = 0.6
    probabilities = np.full(len(NOUNS), 0.2)
    probabilities[3] = 0.4
    assert select(sentences, 7, relevant, probabilities) == [3]
    assert select(sentences, 7, relevant, np.full(len(NOUNS), 0.2)) == [7]


def test_chat_questions_and_fragments_count_less() -> None:
    sentences = [
        *prose("The boat crossed the river.", "I told you what my boat is."),
        *prose("Was the boat in the river?", "Another boat in the river."),
        Sentence("The boat crossed the", "", 0, whole=False),
    ]
    factors = readability(sentences, SETTINGS)
    assert factors[0] == 1
    assert all(factors[1:] < 1)


SPOKEN = st.tuples(
    st.sampled_from(["Ann", "The Project Manager", ""]),
    st.lists(st.sampled_from(NOUNS), min_size=1, max_size=30),
)


@settings(max_examples=60)
@given(st.lists(SPOKEN, min_size=1, max_size=25), st.integers(5, 120))
def test_budget_and_order_are_kept(content: list, max_words: int) -> None:
    sentences = [Sentence(" ".join(text) + ".", speaker, 0) for speaker, text in content]
    chosen = select(sentences, max_words)
    assert chosen == sorted(set(chosen))
    text = render_sentences([sentences[i] for i in chosen])
    assert len([w for w in text.split() if w != "–"]) <= max_words * 1.03


@settings(max_examples=60)
@given(st.lists(st.lists(st.sampled_from(NOUNS), min_size=6, max_size=12), min_size=1, max_size=12))
def test_each_chosen_sentence_adds_most_to_those_before(content: list[list[str]]) -> None:
    sentences = prose(*(f"The {' '.join(text)} is old." for text in content))
    stems = [frozenset(content_stems(s.text)) for s in sentences]
    weights, worth = word_weights(stems, SETTINGS.word_power), readability(sentences, SETTINGS)
    sizes = [len(s.text.split()) for s in sentences]

    def gain(i: int, chosen: list[int]) -> float:
        seen = Counter(word for j in chosen for word in stems[j])
        covered = sum(weights[w] * SETTINGS.repetition ** seen[w] for w in stems[i])
        return covered * worth[i] / sizes[i] ** SETTINGS.length_power

    rest, chosen, budget = set(range(len(sentences))), [], 40
    while fitting := [i for i in rest if sizes[i] + sum(sizes[j] for j in chosen) <= budget * 1.03]:
        chosen.append(max(fitting, key=lambda i: (gain(i, chosen), -i)))
        rest.remove(chosen[-1])
    vectors = np.eye(len(sentences))
    selected = select_sentences(sentences, vectors, None, ones(sentences), budget, SETTINGS)
    assert selected == sorted(chosen)


@each("statements")
def test_headings_and_date_lines_are_no_statements(case: list) -> None:
    assert is_statement(Sentence(case[0], "", 0)) is case[1]


def test_sentence_cut_at_the_border_is_no_statement() -> None:
    assert not is_statement(Sentence("The boat was seen near the", "", 0, whole=False))
    assert is_statement(Sentence("we saw the boat near the", "Ann", 0, whole=False))


def test_heading_is_chosen_only_without_statements() -> None:
    heading = "Boat Lamp River Clerk Winter Bridge"
    assert select(prose(heading, "The boat was seen near the river."), 30) == [1]
    assert select(prose(heading), 30) == [0]


# Phrases, entities and facts

SALES = read_sentences(
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


@each("noun phrases")
def test_noun_phrases(case: list) -> None:
    cores = [phrase.core for phrase in noun_phrases(case[0])]
    if case[1] == ["Bank of England"]:
        assert cores[0].startswith(case[1][0])
    else:
        assert cores[: len(case[1])] == case[1]
        assert bool(cores) == bool(case[1])


def test_keys_ignore_number_and_case() -> None:
    assert len({noun_phrases(s)[0].key for s in ("The rubber cases.", "In a Rubber Case.")}) == 1


def test_frequent_phrases_rank_first_without_shared_words() -> None:
    ranked = keyphrases(SALES)
    assert {k.phrase.core for k in ranked[:2]} == {"rubber case", "kinetic battery"}
    words = [set(k.phrase.key.split()) for k in distinct(ranked, 4)]
    assert sum(map(len, words)) == len(set().union(*words))


def test_question_names_the_leading_speaker_and_varies_by_seed() -> None:
    question = write_question(SALES, ones(SALES), 0.0, 1)
    assert question.startswith("What did Marketing say about ")
    assert question.endswith("?")
    assert "the rubber case" in question
    assert question == write_question(SALES, ones(SALES), 0.0, 2)
    varied, again = ({write_question(SALES, ones(SALES), 0.5, i) for i in range(12)} for _ in "ab")
    assert varied == again
    assert len(varied) > 3
    about_prose = write_question(STORY, ones(STORY), 0.0, 0)
    assert "say about" not in about_prose
    assert "Jory Brandt" in about_prose
    nothing = read_sentences(["It is what it is."])
    assert write_question(nothing, ones(nothing), 0.0, 0) == ""


def test_entities_have_types_descriptions_and_relationships() -> None:
    found = extract_entities(STORY, ones(STORY))
    types = {entity.name: entity.type for entity in found.entities}
    assert (types["Jory Brandt"], types["Sallowby"]) == ("person", "place")
    assert ("Nell Kettle", "Jory Brandt") in {(r.source, r.target) for r in found.relationships}
    assert {r.description for r in found.relationships} <= {s.text for s in STORY}
    assert all(r.source in types and r.target in types for r in found.relationships)
    spoken = extract_entities(SALES, ones(SALES)).entities
    assert {e.name: e.type for e in spoken}["Marketing"] == "person"


def test_concepts_are_noun_phrases_without_names_numbers_and_verbs() -> None:
    text = (
        "The hatch was open. The old hatch of the boat let in water. The county's 24 pounds and "
        "the eleventh were in his hand in November. The long face of the Trust."
    )
    sentences = read_sentences([text])
    found = extract_entities(sentences, ones(sentences)).entities
    assert {e.name for e in found if e.type == "concept"} == {"hatch", "boat", "water"}


@each("names")
def test_names(case: list) -> None:
    assert list(proper_names(read_sentences([case[0]]))) == case[1]
    assert [clean_name(name) for name in case[1]] == case[1]


@each("types of names")
def test_types_by_the_words_beside_a_name(case: list[str]) -> None:
    name, text, kind = case
    assert guess_type(name, read_sentences([text])) == kind


def test_lack_of_names_is_reported_for_scripts_without_capitals() -> None:
    skipped = names_skipped(["The ferry.", "码头的吊车坏了。"], "extractive-9/x")
    assert skipped is not None
    assert "choose a language model" in skipped
    assert names_skipped(["The ferry.", "Порт."], "extractive-9/x") is None
    assert names_skipped(["码头的吊车坏了。"], "judge") is None


def test_facts_are_single_statements_with_elements() -> None:
    facts = extract_facts(STORY, ones(STORY)).facts
    assert "The muffler was lost." in [fact.statement for fact in facts]
    assert all(0 < len(fact.elements) <= 3 for fact in facts)
    assert not any(fact.statement.endswith("?") for fact in facts)
    split = atomic_statements("The hull leaks badly, and it is old.")
    assert split == ["The hull leaks badly.", "It is old."]
    quoted = '"It leaks, and it is old," he said.'
    assert atomic_statements(quoted) == [quoted]


def test_enumerations_and_grades() -> None:
    shown = [enumerate_phrases(list("abc")[:n]) for n in range(4)]
    assert shown == ["", "a", "a and b", "a, b and c"]
    assert [grade(share, 1, 10) for share in (-1, 0, 0.5, 1, 2)] == [1, 1, 5, 10, 10]
