"""How much sentences bear on a question, for answers of what bears on it alone."""

import math
import re
from collections.abc import Sequence

import numpy as np

from gsum_resources.text.reading import CONTENTLESS
from gsum_resources.text.selection import is_question
from gsum_resources.text.sentences import Sentence
from gsum_resources.text.vocabulary import content_stems, words

_COSINE, _SHARED_WORDS = 2 / 3, 1 / 3
_ABOVE = 0.6  # of a word's weight, where only a heading or the header of a table has it
_OTHER_ROW = 0.5  # factor where another row of the table has a word of the question
_REPLY = 0.8  # of what a question bears, for what another speaker replies to it
_SECOND = 0.7  # the same for the second sentence of the reply
_REFERS = 0.6  # of what a sentence bears, for the next one that begins with a pronoun
_OF_ITS_RUN = 0.3  # weight of the best sentence of the same text
_PRONOUN = re.compile(r"(?:he|she|it|they|this|that|these|those|er|sie|es|il|elles?|ils)\b", re.I)
_BY_OTHERS = 0.5  # factor where the question names a speaker
_WITHOUT_NUMBER = 0.6  # factor where the question requests one
_MONEY = (
    r"\bhow much (?:money|do(?:es)?|did|is|are|was|were|has|have|will|would)\b"
    r"|\b(?:costs?|price|fee)\b|\bkost(?:et|en|ete)\b|\bcoût\w*",
    r"[£$€¥]|\b(?:pounds?|dollars?|euros?|cents?|pence|francs?|yen|pfund|livres?|free|kostenlos|gratis"
    r"|gratuit\w*|nothing)\b",
)
_NUMBER = (
    r"\bhow (?:many|much|long|old|far|often|big|large|tall|high|wide|deep|fast)\b"
    r"|^\W*(?:(?:on|at|in|since|until) )?(?:when|what (?:date|day|year|time))\b"
    r"|^\W*(?:wann|wie ?viele?|wie (?:lange|alt|oft|hoch|weit|groß)|quand|combien)\b",
    r"\d|\b(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|(?:thir|four|fif|six"
    r"|seven|eigh|nine)teen|(?:twen|thir|for|fif|six|seven|eigh|nine)ty\S*|hundreds?|thousands?"
    r"|millions?|dozens?|half|twice|daily|weekly|(?:mon|tues|wednes|thurs|fri|satur|sun)days?|today"
    r"|yesterday|tomorrow|january|february|march|april|june|july|august|september|october|november"
    r"|december|spring|summer|autumn|winter|zwei|drei|vier|fünf|sechs|sieben|acht|neun|zehn|hundert"
    r"|tausend|deux|trois|quatre|cinq|sept|huit|neuf|dix|cent|mille)\b|[一二三四五六七八九十百千万]",
)
_REQUESTED = [(re.compile(asks, re.I), re.compile(has, re.I)) for asks, has in (_MONEY, _NUMBER)]
"""What asks for a sum of money, a number or a date, and what a sentence has that names one."""


def bearing(question: str, sentences: Sequence[Sentence], relevant: np.ndarray) -> np.ndarray:
    """Return cosine to the question and share of its words, 2 : 1, `(n_sentences,)`.

    A word counts by how few of the sentences have it. A reply counts at least as the question that
    it replies to, times 0.8, and a sentence that begins with a pronoun as the one before it, times
    0.6. What others than a named speaker say counts 0.5, and 0.6 what lacks a requested number, or
    is from a text without another word of the question. The best sentence of the same run of
    passages is added with 0.3. `relevant` has the cosines, `(n_sentences,)`.
    """
    stems = [frozenset(content_stems(f"{s.speaker} {s.text}")) for s in sentences]
    above = [frozenset(content_stems(f"{s.heading} {s.lead}")) for s in sentences]
    weights = {
        word: math.log((len(stems) + 1) / (sum(word in held for held in stems) + 0.5))
        for word in dict.fromkeys(content_stems(question))
        if word not in CONTENTLESS
    }
    total = sum(weights.values()) or 1.0
    shared = [
        sum(w * (1 if word in held else _ABOVE * (word in context)) for word, w in weights.items())
        / total
        for held, context in zip(stems, above, strict=True)
    ]
    alone = _COSINE * relevant + _SHARED_WORDS * np.array(shared)
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
    asked = f" {' '.join(words(question))} "
    speakers = {s.speaker for s in sentences} - {""}
    named = {name for name in speakers if f" {' '.join(words(name))} " in asked}
    if named:
        bears *= [1 if s.speaker in named else _BY_OTHERS for s in sentences]
    named_row = [
        s.kind == "row" and not held.isdisjoint(weights)
        for s, held in zip(sentences, stems, strict=True)
    ]
    tables = {(s.run, s.lead) for s, is_named in zip(sentences, named_row, strict=True) if is_named}
    bears *= [
        _OTHER_ROW if s.kind == "row" and (s.run, s.lead) in tables and not is_named else 1
        for s, is_named in zip(sentences, named_row, strict=True)
    ]
    bears *= [1 if names else _WITHOUT_NUMBER for names in _names_it(question, sentences, stems)]
    runs = np.array([sentence.run for sentence in sentences], int)
    best = np.full(runs.max(initial=-1) + 1, -np.inf)
    np.maximum.at(best, runs, bears)
    return (1 - _OF_ITS_RUN) * bears + _OF_ITS_RUN * best[runs]


def _names_it(
    question: str, sentences: Sequence[Sentence], stems: Sequence[frozenset[str]]
) -> Sequence[bool]:
    """Return which sentences name the number that a question requests; all if it requests none."""
    for asks, has in _REQUESTED:
        if asks.search(question):
            others = frozenset(content_stems(asks.sub(" ", question))) - CONTENTLESS
            about = {s.run for s, held in zip(sentences, stems, strict=True) if held & others}
            return [s.run in about and has.search(s.text) is not None for s in sentences]
    return [True] * len(sentences)
