"""How much sentences bear on a question, for answers of what bears on it alone."""

import math
import re
from collections import defaultdict
from collections.abc import Iterable, Sequence

import numpy as np

from gsum_resources.text.asked_for import VAGUE, Asked, asked_for
from gsum_resources.text.periods import Period, date_of, dates_in, period_of
from gsum_resources.text.question_kinds import rule_of
from gsum_resources.text.reading import CONTENTLESS, says_nothing
from gsum_resources.text.records import cells
from gsum_resources.text.selection import is_question
from gsum_resources.text.sentences import Sentence
from gsum_resources.text.speech import is_english
from gsum_resources.text.vocabulary import content_stems, stem, word_list, word_set, words

_SHARED_WORDS = 1 / 3  # the other weight is that of the cosine
_ABOVE = 0.6  # of a word's weight, where only a heading or the header of a table has it
_OTHER_ROW = 0.5  # factor where another row shares more words with the question
_NEARLY = 0.02
_IDENTIFIER = re.compile(  # of a row: "group C", "the third quarter"
    r"(?<=\w )(?:[A-Z]|\d|first|second|third|fourth|last|erste|zweite|dritte|letzte)\b"
)
_OF_A_NAME = 2.0
_NAME = re.compile(r"(?<=\S )[A-Z0-9][\w'’-]*")  # also behind "Mr."
_REPLY = 0.8  # of what a question bears, for what another speaker replies to it
_SECOND = 0.7  # the same for the second sentence of the reply
_REFERS = 0.6  # of what a sentence bears, for the next one that begins with a pronoun
_OF_ITS_RUN = 0.3  # weight of the best sentence of the same text
_PRONOUN = re.compile(r"(?:he|she|it|they|this|that|these|those|er|sie|es|il|elles?|ils)\b", re.I)
_BY_OTHERS = 0.35  # factor where the question names a speaker
_NOTHING = 0.4  # factor of "Good point", unless it may answer yes or no, and of a document's title
_OTHER_TIME = 0.4  # factor where the document is not of the period that the question names
_REFERS_BACK = 0.9  # of what a sentence bears, for "Two voted against" behind it
FOREIGN = frozenset(map(stem, word_list("foreign_function_words")))
"""Stems of function words of other languages."""
_GENERAL = frozenset(map(stem, word_set("decide decided decision decisions agreed new resolved")))
_LITTLE_SHARED, _LITTLE_COSINE = 0.25, 0.45  # of a sentence that is about the question
_LEAST_SHARED, _LEAST_COSINE = 0.4, 0.6  # of a sentence that states what is asked for


def bearing(question: str, sentences: Sequence[Sentence], relevant: np.ndarray) -> np.ndarray:
    """Return cosine to the question and share of its words, 2 : 1, `(n_sentences,)`.

    In other languages than English it is 1 : 2. A word counts by how few of the sentences have it.
    A reply counts at least as the question that it replies to, times 0.8, and a sentence that
    begins with a pronoun as the one before it, times 0.6. Factors: what others than a named speaker
    say; rows that share less than another; what lacks what is asked for, or is not near another
    word of the question; small talk and names of documents; documents of another period. The best
    sentence of the same run of passages is added with 0.3. `relevant` has the cosines,
    `(n_sentences,)`.
    """
    period = period_of(question)
    stems = [
        frozenset(content_stems(f"{s.speaker} {s.text}{_spelled(s, period)}")) for s in sentences
    ]
    titles = [frozenset(content_stems(s.source)) for s in sentences]
    above = [frozenset(content_stems(f"{s.heading} {s.lead}")) for s in sentences]
    forms: defaultdict[tuple[int, str, str], set[str]] = defaultdict(set)
    for sentence, said in zip(sentences, stems, strict=True):
        if sentence.kind == "form":  # a long one is read by its lines
            forms[_form_of(sentence)] |= said
    own, around = stems.copy(), above.copy()
    for i, sentence in enumerate(sentences):
        # of prose that is about what its document is called, each sentence would count
        if sentence.is_record:
            own[i] = (stems[i] | above[i] if sentence.kind == "row" else stems[i]) - titles[i]
            around[i] = above[i] | titles[i]
            if sentence.kind == "form":
                around[i] |= forms[_form_of(sentence)]
    held = [said | title for said, title in zip(stems, titles, strict=True)]
    shared = _shares(question, own, around, held)
    by_words = _SHARED_WORDS if _is_known(question, sentences) else 1 - _SHARED_WORDS
    alone = (1 - by_words) * relevant + by_words * shared
    bears = alone.copy()
    for i in range(1, len(sentences)):
        last, this = sentences[i - 1 : i + 1]
        if last.run != this.run:
            continue
        if is_question(last) and this.speaker and this.speaker != last.speaker:
            bears[i] = max(bears[i], _REPLY * alone[i - 1])
            if i + 1 < len(sentences) and sentences[i + 1].speaker == this.speaker:
                bears[i + 1] = max(bears[i + 1], _SECOND * alone[i - 1])
        elif this.speaker == last.speaker and _PRONOUN.match(this.text):
            bears[i] = max(bears[i], _REFERS * bears[i - 1])
    spaced = f" {' '.join(words(question))} "
    speakers = {s.speaker for s in sentences} - {""}
    named = {name for name in speakers if f" {' '.join(words(name))} " in spaced}
    if named:
        bears *= [1 if s.speaker in named else _BY_OTHERS for s in sentences]
    identifiers = {found.lower() for found in _IDENTIFIER.findall(question)}
    of_rows = {
        i: share + (share > 0 and not identifiers.isdisjoint(cells(s.text.lower())))
        for i, (s, share) in enumerate(zip(sentences, shared, strict=True))
        if s.kind == "row"
    }
    most = max(of_rows.values(), default=0)
    for i, share in of_rows.items():
        bears[i] *= _OTHER_ROW if share < most - _NEARLY else 1
    for asked in asked_for(question):
        about = _about(asked, sentences)
        for i in about if asked.refers else ():
            before = [j for j in (i - 2, i - 1) if j >= 0 and _goes_on(sentences[j], sentences[i])]
            bears[i] = max([bears[i], *(_REFERS_BACK * bears[j] for j in before)])
        bears *= [1 if i in about else asked.weight for i in range(len(sentences))]
    if rule_of(question).kind != "yes_no":
        bears *= [_NOTHING if says_nothing(s) else 1 for s in sentences]
    bears *= [
        _NOTHING if s.kind == "prose" and 2 * len(said & title) > len(said) else 1
        for s, said, title in zip(sentences, stems, titles, strict=True)
    ]
    if period:
        within = [
            period.has(date_of(s.source)) or period.words in f"{s.source} {s.text}"
            for s in sentences
        ]
        bears *= [1 if is_within or not any(within) else _OTHER_TIME for is_within in within]
    runs = np.array([sentence.run for sentence in sentences], int)
    best = np.full(runs.max(initial=-1) + 1, -np.inf)
    np.maximum.at(best, runs, bears)
    return (1 - _OF_ITS_RUN) * bears + _OF_ITS_RUN * best[runs]


def is_about(question: str, sentences: Sequence[Sentence], relevant: np.ndarray) -> bool:
    """Return whether a sentence and those around it share words with the question, or is near.

    All are about a question that names nothing but a period, such as "What was decided in June?".
    """
    period = period_of(question)
    subject = question.replace(period.words, " ") if period else question
    if {*content_stems(subject)} <= CONTENTLESS | _GENERAL:
        return True
    return bool(_near(subject, sentences, relevant, _LITTLE_SHARED, _LITTLE_COSINE, True).any())


def _form_of(sentence: Sentence) -> tuple[int, str, str]:
    """Return what the lines of a form have in common."""
    return sentence.run, sentence.heading, sentence.lead or sentence.text


def _spelled(sentence: Sentence, period: Period | None) -> str:
    """Return the words of the period that a question names, for a row with an ISO date in it."""
    is_dated = period and sentence.kind == "row" and any(map(period.has, dates_in(sentence.text)))
    return f" {period.words}" if period and is_dated else ""


def is_stated(question: str, sentences: Sequence[Sentence], relevant: np.ndarray) -> bool:
    """Return whether a sentence states the number or date that a question asks for.

    It shares words with the question, those around it included, or is near to it. A question that
    asks for neither is.
    """
    needed = [asked for asked in asked_for(question) if asked.is_needed]
    if not needed:
        return True
    (asked,) = needed
    near = _near(asked.others, sentences, relevant, _LEAST_SHARED, _LEAST_COSINE)
    stated = [s.text for s, is_near in zip(sentences, near, strict=True) if is_near]
    return has_asked(question, stated)


def has_asked(question: str, texts: Iterable[str]) -> bool:
    """Return whether one of some texts has the number or date that a question asks for, if any."""
    forms = [
        form
        for asked in asked_for(question)
        if asked.is_needed
        for form in ([asked.has, VAGUE] if asked.may_be_vague else [asked.has])
    ]
    return not forms or any(form.search(text) for text in texts for form in forms)


def _is_known(question: str, sentences: Sequence[Sentence]) -> bool:
    """Return whether the packaged embedder knows the language of a question and its sentences."""
    return is_english(question) and is_english(" ".join(s.text for s in sentences))


def _near(
    question: str,
    sentences: Sequence[Sentence],
    relevant: np.ndarray,
    share: float,
    cosine: float,
    is_named: bool = False,
) -> np.ndarray:
    """Return which sentences, with those around them, have a share of the words, or the cosine.

    `is_named`: words around a sentence count as its own.
    """
    stems = [frozenset(content_stems(s.text)) for s in sentences]
    above = (f"{s.speaker} {s.source} {s.heading} {s.lead}".replace("_", " ") for s in sentences)
    named = [frozenset(content_stems(text)) for text in above]
    pairs = list(zip(sentences, stems, strict=True))
    windows = (pairs[max(0, i - 2) : i + 2] for i in range(len(pairs)))
    around = [
        named[i].union(*(held for s, held in nearby if s.run == sentences[i].run))
        for i, nearby in enumerate(windows)
    ]
    shares = _shares(question, around if is_named else stems, around, stems)
    least = cosine if _is_known(question, sentences) else max(cosine, _LEAST_COSINE)
    return (shares >= share) | (relevant >= least)


def _shares(
    question: str,
    own: Sequence[frozenset[str]],
    around: Sequence[frozenset[str]],
    held: Sequence[frozenset[str]],
) -> np.ndarray:
    """Return each sentence's share of the words of a question, `(n_sentences,)`.

    A word counts by how few sentences have it in `held`, and less where only `around` has it.
    """
    names = {*content_stems(" ".join(_NAME.findall(question)))}
    weights = {
        word: math.log((len(held) + 1) / (sum(word in words_of for words_of in held) + 0.5))
        * (_OF_A_NAME if word in names else 1)
        for word in dict.fromkeys(content_stems(question))
        if word not in CONTENTLESS and word not in FOREIGN
    }
    shared = [
        sum(w * (1 if word in ours else _ABOVE * (word in others)) for word, w in weights.items())
        for ours, others in zip(own, around, strict=True)
    ]
    return np.array(shared) / (sum(weights.values()) or 1.0)


def _goes_on(before: Sentence, after: Sentence) -> bool:
    """Return whether two sentences stand in one paragraph, or in one turn of speech."""
    return (before.run, before.heading, before.speaker) == (after.run, after.heading, after.speaker)


def _about(asked: Asked, sentences: Sequence[Sentence]) -> frozenset[int]:
    """Return which sentences state what is asked for, near other words of the question."""
    near = _near(asked.others, sentences, np.zeros(len(sentences)), _LITTLE_SHARED, 1, True)
    return frozenset(i for i, s in enumerate(sentences) if near[i] and asked.has.search(s.text))
