"""Extractive answers: sentences of the passages."""

import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from gsum_resources.text.asked_for import NOW
from gsum_resources.text.bearing import FOREIGN, bearing, has_asked, is_about, is_stated
from gsum_resources.text.periods import (
    changes,
    period_of,
    version_of,
    versions_in,
    without_version,
)
from gsum_resources.text.question_kinds import is_settled_by_one, rule_of
from gsum_resources.text.ranking import centrality, relevance
from gsum_resources.text.reading import CONTENTLESS, Reading, says_nothing
from gsum_resources.text.selection import (
    SelectionSettings,
    is_question,
    is_statement,
    relevance_factor,
    select_sentences,
)
from gsum_resources.text.sentences import Sentence
from gsum_resources.text.speech import is_speech
from gsum_resources.text.vocabulary import FUNCTION_WORDS, content_stems, n_words, stem

_AROUND = 30  # words of a sentence and those around it
_BRIEF = 60  # words of a brief answer
_SMALL_TALK = 0.05  # factor of a sentence that says nothing, in a summary
_OF_A_NEWER = 0.65  # of what the best statement bears, for a newer one that may replace it
_OF_A_CHANGE = 0.55  # the same, for a newer one that says what has changed
_OF_A_DIFFERENCE = 0.35  # the same, for what tells the sides of a comparison apart
_COMPARING = frozenset(
    map(stem, ("compare", "change", "contrast", "differ", "different", "geändert", "number"))
)
_LABEL_WORD = re.compile(r"\d+|[^\W\d_]+")
_AS_MUCH = 0.9  # of what the older statement bears, for the newer one of the same thing
_SAME_THING = 0.6  # cosine of two statements of one thing, perhaps with other numbers


@dataclass(frozen=True)
class SummarySettings:
    """Threshold of unrelated sentences, and the settings of the selection.

    The `of_…` are the share of what the best statement bears on the question that a sentence must
    reach to be in a brief answer: `of_an_unlikely` where the product with its passage's probability
    reaches `of_a_brief_answer`. Chosen on QMSum train (docs/asking.md).
    """

    unrelated: float = 0.2
    of_a_fact: float = 0.8
    of_a_brief_answer: float = 0.7
    of_an_unlikely: float = 0.6
    selection: SelectionSettings = field(default_factory=SelectionSettings)


def choose_sentences(
    reading: Reading,
    max_words: int,
    settings: SummarySettings | None = None,
    probabilities: np.ndarray | None = None,
    is_brief: bool = False,
) -> list[Sentence]:
    """Return the sentences of a summary, in document order.

    If even the best sentence is too long, its first words are returned, ending in "…".

    Parameters
    ----------
    max_words : requested length; exceeded by `selection.slack` at most.
    probabilities : that the passage of each sentence holds evidence, `(n_sentences,)`, by which a
        question that does not request everything prefers sentences.
    is_brief : whether questions, and sentences that bear less on the question than the best
        statement, are left out even if there is room for them.
    """
    settings = settings or SummarySettings()
    central = centrality(reading.vectors, settings.unrelated)
    wanted, selection = None, settings.selection
    if len(reading.aspects):
        relevant = relevance(reading.vectors, reading.aspects)
        bears = bearing(reading.question, reading.sentences, relevant) if is_brief else relevant
        of_speech = is_speech([sentence.speaker for sentence in reading.sentences])
        wanted = relevance_factor(bears, probabilities, settings.selection, of_speech)
        if is_brief:
            answers = _answering(reading, relevant, bears, probabilities, settings)
            if not answers.any():
                return []
            wanted *= answers
            is_settled = is_settled_by_one(reading.question)
            is_one = is_settled or of_speech or rule_of(reading.question).kind == "comparison"
            if not is_one:
                chosen = _with_context(reading.sentences, wanted, min(max_words, _BRIEF))
                return [reading.sentences[i] for i in chosen]
            selection = replace(selection, shortest=2 if is_settled else 3)  # "Marta did."
    elif is_brief:
        wanted = np.array([_SMALL_TALK if says_nothing(s) else 1.0 for s in reading.sentences])
    chosen = select_sentences(
        reading.sentences, reading.vectors, wanted, central, max_words, selection
    )
    if chosen or not reading.sentences:
        return [reading.sentences[i] for i in chosen]
    best = int((central if wanted is None else wanted).argmax())
    sentence = reading.sentences[best]
    cut = " ".join(sentence.text.split()[: max(1, max_words - 3)]).rstrip(" ,;:.") + "…"
    return [Sentence(cut, sentence.speaker, sentence.run, whole=False)]


def _with_context(sentences: Sequence[Sentence], wanted: np.ndarray, max_words: int) -> list[int]:
    """Return the best sentence of each paragraph or other record, with those around it in it.

    In the order of the text; those with the best come first up to `max_words`.
    """
    records: dict[tuple[int, int, int], list[int]] = defaultdict(list)
    for i, sentence in enumerate(sentences):
        records[sentence.run, sentence.turn, sentence.record].append(i)
    wanted = wanted * np.array([is_statement(s) for s in sentences])
    of_best = {max(of_record, key=wanted.__getitem__): of_record for of_record in records.values()}
    chosen: list[int] = []
    seen: set[str] = set()
    n_chosen = 0
    for best in sorted((i for i in of_best if wanted[i] > 0), key=lambda i: -wanted[i]):
        around = _around(best, of_best[best], sentences)
        n_around = sum(n_words(sentences[i].text) for i in around)
        if sentences[best].text not in seen and (not chosen or n_chosen + n_around <= max_words):
            chosen += around
            n_chosen += n_around
            seen.update(sentences[i].text for i in around)
    return sorted(chosen)


def _around(best: int, of_record: Sequence[int], sentences: Sequence[Sentence]) -> Sequence[int]:
    """Return a sentence, the whole ones behind it in its record and those before, 30 words."""
    around, n_chosen = [best], n_words(sentences[best].text)
    at = of_record.index(best)
    for neighbours in (of_record[at + 1 :], of_record[:at][::-1]):
        for i in neighbours:
            n_added = n_words(sentences[i].text)
            if n_chosen + n_added > _AROUND or not sentences[i].whole:
                break
            around.append(i)
            n_chosen += n_added
    return around


def _answering(
    reading: Reading,
    relevant: np.ndarray,
    bears: np.ndarray,
    probabilities: np.ndarray | None,
    settings: SummarySettings,
) -> np.ndarray:
    """Return which sentences answer a question briefly, `(n_sentences,)`; none if nothing does."""
    sentences, question = reading.sentences, reading.question
    fact, kind = is_settled_by_one(question), rule_of(question).kind
    bears = bears * _newest_versions(reading)
    sides = _sides(reading) if kind == "comparison" else []
    is_known = is_about(question, sentences, relevant) or bool(sides)
    if not is_known or (kind == "fact" and not is_stated(question, sentences, relevant)):
        return np.zeros(len(sentences), bool)
    if sides:
        on_subject = _on_subject(reading)
        if not on_subject.any():
            settings = replace(settings, of_a_brief_answer=_OF_A_DIFFERENCE)
        sides = [side & on_subject if (side & on_subject).any() else side for side in sides]
        of_sides = [_enough(sentences, bears * side, None, False, settings) for side in sides]
        enough = np.logical_or.reduce(np.logical_and(sides, of_sides))
    else:
        prefers = probabilities is not None and not fact and kind != "comparison"
        likely = bears * probabilities if prefers else None
        enough = _enough(sentences, bears, likely, fact, settings)
    answers = _current(reading, bears, enough, fact)
    quoted = [s.text for s, is_quoted in zip(sentences, answers, strict=True) if is_quoted]
    return answers if kind != "fact" or has_asked(question, quoted) else np.zeros_like(answers)


def _current(reading: Reading, bears: np.ndarray, enough: np.ndarray, is_fact: bool) -> np.ndarray:
    """Return which sentences are enough, without those that newer documents replace.

    Where the question asks for the newest, only those of the newest document; for a fact, a newer
    statement of nearly the same, such as another sum, replaces the older one; one that says that
    something changed stands behind it.
    """
    dates = [version_of(sentence.source) for sentence in reading.sentences]
    asks_for_newest = NOW.search(reading.question) is not None
    if not enough.any() or not (is_fact or asks_for_newest):
        return enough
    states = np.array([s.whole and is_statement(s) for s in reading.sentences], bool)
    near = enough | (states & (bears >= _OF_A_NEWER * bears[enough].max()))
    dated = [i for i in np.flatnonzero(near).tolist() if any(dates[i])]
    if asks_for_newest:
        newest = max((dates[i] for i in dated), default=("", 0))
        return near & [date == newest for date in dates] if dated else enough
    current, period = enough.copy(), period_of(reading.question)
    if not period:
        latest = max(dates[i] for i in np.flatnonzero(enough))
        says_so = [
            any(d) and d > latest and changes(s.text)
            for d, s in zip(dates, reading.sentences, strict=True)
        ]
        current |= states & says_so & (bears >= _OF_A_CHANGE * bears[enough].max())
    for i in dated if not period else [i for i in dated if period.has(dates[i][0])]:
        alike = reading.vectors @ reading.vectors[i] >= _SAME_THING
        older = alike & enough & (bears[i] >= _AS_MUCH * bears) & [d < dates[i] for d in dates]
        current[i] |= older.any()
        current &= ~older
    return current


def _newest_versions(reading: Reading) -> np.ndarray:
    """Return which sentences are not from an older version or draft of another document read.

    Where the question names one, not from another version than that; all where it names several.
    """
    sources = {sentence.source for sentence in reading.sentences}
    named = versions_in(reading.question)
    if named:
        of_each = [versions_in(sentence.source)[:1] for sentence in reading.sentences]
        is_one = len(named) == 1 and named in of_each
        return np.array([not is_one or of in ([], named) for of in of_each], bool)
    newest: dict[str, tuple[str, int]] = {}
    for source in sources:
        name = without_version(source)
        newest[name] = max(version_of(source), newest.get(name, ("", -2)))
    old = {s for s in sources if version_of(s) < newest.get(without_version(s), ("", -2))}
    return np.array([sentence.source not in old for sentence in reading.sentences], bool)


def _sides(reading: Reading) -> list[np.ndarray]:
    """Return which sentences are of each side of a comparison, each `(n_sentences,)`.

    The sides are the documents in whose labels most words of the question stand, if they are not
    the same, such as two years. What stands in all of them word for word is of none.
    """
    asked = _label_words(reading.question) - FUNCTION_WORDS
    named = [asked & _label_words(s.source) for s in reading.sentences]
    most = max(map(len, named), default=0)
    sides = [*dict.fromkeys(words for words in named if len(words) == most)]
    texts: dict[str, set[frozenset[str]]] = defaultdict(set)
    for sentence, words in zip(reading.sentences, named, strict=True):
        texts[sentence.text.casefold()].add(words)
    differs = [not texts[s.text.casefold()].issuperset(sides) for s in reading.sentences]
    masks = [np.array(differs) & [words == side for words in named] for side in sides]
    return masks if len(sides) > 1 else []


def _on_subject(reading: Reading) -> np.ndarray:
    """Return which sentences share a word with a comparison that is in no label of a sentence."""
    labels = {stem for s in reading.sentences for stem in content_stems(s.source)}
    subject = {*content_stems(reading.question)} - labels - CONTENTLESS - FOREIGN - _COMPARING
    texts = (f"{s.text} {s.heading} {s.lead}" for s in reading.sentences)
    return np.array([not subject.isdisjoint(content_stems(text)) for text in texts], bool)


def _label_words(text: str) -> frozenset[str]:
    return frozenset(_LABEL_WORD.findall(text.lower()))


def _enough(
    sentences: Sequence[Sentence],
    bears: np.ndarray,
    likely: np.ndarray | None,
    is_fact: bool,
    settings: SummarySettings,
) -> np.ndarray:
    """Return which sentences bear enough on a question; all do where none states anything.

    `likely` is the product with the probability of each passage.
    """
    questions = np.array([is_question(s) for s in sentences], bool)
    states = np.array([s.whole and is_statement(s) for s in sentences], bool) & ~questions
    if not states.any():
        return np.ones(len(sentences), bool)
    least = settings.of_a_fact if is_fact else settings.of_a_brief_answer

    def reach(values: np.ndarray, share: float) -> np.ndarray:
        return (values >= share * values[states].max()) & (states if is_fact else ~questions)

    enough = reach(bears, least)
    if likely is None:
        return enough
    both = reach(bears, settings.of_an_unlikely) & reach(likely, least)
    return both if both.any() else enough
