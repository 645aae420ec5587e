"""What could be asked about a corpus: noun phrases, with the statements that name them.

A local topic is named in neighbouring passages of one document only, a global one in several
documents or in passages that are far apart. BenchmarkQED (Microsoft, 2025) builds its questions
from data in this way from claims of a language model; here the claims are sentences.
"""

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from gsum_resources.store.content_hash import hash_texts
from gsum_resources.text.keyphrases import Keyphrase, keyphrases
from gsum_resources.text.noun_phrases import NounPhrase, is_verb_form, is_weak
from gsum_resources.text.selection import SelectionSettings, is_question, is_statement, readability
from gsum_resources.text.sentences import Sentence, read_sentences, render_sentences
from gsum_resources.text.vocabulary import n_words, word_set

_N_DOCUMENTS = 200  # documents that are looked through, drawn by their ids
_N_WORDS = (8, 45)  # least and most words of a statement
_READABLE = 0.5  # least readability of a statement
_NEAR = 1  # passages between the first and the last of a local topic
_FAR = 5  # passages between two parts of a document that count as two
_N_PARTS = 3  # least number of documents, or parts of them, of a global topic
_N_LOCAL, _N_GLOBAL = 4, 8  # most statements of a topic
_LEAST_WORDS = 12  # of all statements of a local topic
_DETERMINER = r"\b(?:the|a|an|this|that|these|those|our|their|my|his|her|its) "
_NOUNS = (  # "the store", and "the county store" at the end of a clause
    re.compile(rf"{_DETERMINER}([^\W_]+)", re.IGNORECASE),
    re.compile(rf"{_DETERMINER}[\w-]+ ([^\W_]+)[.,;:?!]", re.IGNORECASE),
)
_OPEN = re.compile(r"[\"“‘']*(?:he|she|they|these|those|them|which)\b", re.I)
_OPEN_WORTH = 0.8  # of a statement that begins with a pronoun
_UNENDED = ("—", "–", "-", "…", ",")
_PHRASE_WORDS = (2, 3)  # least and most words of a phrase
_TITLE_CHARACTERS = 60
_BEGINNING = 20_000  # characters of a document whose phrases may be suggested
_OFTEN = 3  # sentences with a phrase that is suggested before those that fewer have
_VAGUE = word_set(
    """
    two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen
    seventeen eighteen nineteen twenty thirty forty fifty hundred
    thousand first second third last next other same high low whole following rest
    january february march april may june july august september october november december
    monday tuesday wednesday thursday friday saturday sunday
    """
)


@dataclass(frozen=True)
class Statement:
    """A sentence of a document, with the name of its speaker, and the passages that hold it."""

    text: str
    document_id: str
    position: int
    chunk_ids: tuple[str, ...]


@dataclass(frozen=True)
class Topic:
    """A phrase and statements that name it, in order of the documents.

    Attributes
    ----------
    is_global : whether several documents, or far-apart passages, name it.
    is_spoken : whether its statements are from speech.
    title : title of its document; "" for a global topic.
    """

    phrase: str
    statements: Sequence[Statement]
    is_global: bool
    is_spoken: bool
    title: str

    @property
    def chunk_ids(self) -> list[str]:
        """Ids of the passages that hold its statements."""
        return list(dict.fromkeys(i for s in self.statements for i in s.chunk_ids))


def find_topics(titles: Mapping[str, str], chunks: pa.Table) -> list[Topic]:
    """Return the topics of a corpus, in an order that new documents do not change.

    Parameters `titles`: by document id; `chunks`: rows of `chunks`.
    """
    drawn = sorted(titles, key=lambda i: hash_texts(["topics", i]))[:_N_DOCUMENTS]
    passages: dict[str, list[dict]] = {document_id: [] for document_id in sorted(drawn)}
    columns = chunks.select(["chunk_id", "document_id", "start", "text"])
    for row in columns.sort_by("start").to_pylist():
        if row["document_id"] in passages:
            passages[row["document_id"]].append(row)
    documents = [_Document(titles[i], rows) for i, rows in passages.items()]
    named: dict[str, list[tuple[_Document, NounPhrase, Sequence[int]]]] = defaultdict(list)
    nouns = frozenset[str]().union(*(document.nouns for document in documents))
    for document in documents:
        for key, phrase, mentions in document.phrases(nouns):
            named[key].append((document, phrase, mentions))
    topics = [topic for where in named.values() for topic in _topics(where)]
    return sorted(topics, key=lambda topic: hash_texts(["topic", topic.phrase, topic.title]))


def distinct_topics(topics: Iterable[Topic], is_global: bool, n: int) -> list[Topic]:
    """Return the first n global or local topics that share no statement with an earlier one."""
    chosen: list[Topic] = []
    used: set[str] = set()
    for topic in topics:
        texts = {statement.text for statement in topic.statements}
        if len(chosen) < n and topic.is_global == is_global and not texts & used:
            chosen.append(topic)
            used |= texts
    return chosen


class _Document:
    """Distinct sentences of a document, each with the positions of the passages that have it."""

    def __init__(self, title: str, passages: Sequence[Mapping]) -> None:
        self.title = title
        self._passages = passages
        self.sentences: list[Sentence] = []
        self._positions: list[list[int]] = []
        for position, passage in enumerate(passages):
            for sentence in read_sentences([passage["text"]]):
                self._add(sentence, position)
        self.is_spoken = any(sentence.speaker for sentence in self.sentences)
        clear = readability(self.sentences, SelectionSettings()) if self.sentences else np.ones(0)
        self.worth = np.array(
            [
                worth if worth >= _READABLE and self._states(sentence) else 0.0
                for sentence, value in zip(self.sentences, clear.tolist(), strict=True)
                for worth in [value * (_OPEN_WORTH if _OPEN.match(sentence.text) else 1)]
            ]
        )

    def _add(self, sentence: Sentence, position: int) -> None:
        """Add a sentence; one that overlapping passages share is kept where it is whole."""
        for i in range(len(self.sentences) - 1, -1, -1):
            if self._positions[i][-1] < position - 1:
                break
            earlier = self.sentences[i]
            first, second = sorted((earlier.text.casefold(), sentence.text.casefold()), key=len)
            if second.endswith(first) or second.startswith(first):
                if len(sentence.text) > len(earlier.text):
                    self.sentences[i] = replace(sentence, speaker=earlier.speaker)
                    self._positions[i] = []
                if len(sentence.text) >= len(earlier.text) and position not in self._positions[i]:
                    self._positions[i].append(position)
                return
        self.sentences.append(sentence)
        self._positions.append([position])

    def _states(self, sentence: Sentence) -> bool:
        """Return whether a sentence is a statement that is understood alone, as far as rules say.

        In speech it needs a speaker.
        """
        return (
            sentence.whole
            and is_statement(sentence)
            and not is_question(sentence)
            and not sentence.text.endswith(_UNENDED)
            and (self.is_spoken or not sentence.text.count('"') % 2)
            and _N_WORDS[0] <= n_words(sentence.text) <= _N_WORDS[1]
            and (bool(sentence.speaker) or not self.is_spoken)
        )

    @property
    def nouns(self) -> frozenset[str]:
        """Words that stand behind a determiner; most of them are nouns."""
        text = " ".join(sentence.text for sentence in self.sentences)
        return frozenset(match[1].lower() for noun in _NOUNS for match in noun.finditer(text))

    def phrases(self, nouns: Collection[str]) -> Iterator[tuple[str, NounPhrase, Sequence[int]]]:
        """Yield key, form and sentences of each phrase that could be asked about.

        It is a name or ends in a noun: "the big lathe", but not "the stove lit".
        """
        text = " ".join(sentence.text for sentence in self.sentences)
        for keyphrase in keyphrases(self.sentences):
            phrase = keyphrase.phrase
            head = phrase.core.split()[-1]
            is_noun = phrase.proper or (
                head.lower() in nouns and not is_weak(head) and not is_verb_form(head)
            )
            has_object = re.search(rf"{re.escape(phrase.core)} (?:it|him|her|them|us|me)\b", text)
            if is_specific(keyphrase, self.title) and is_noun and not has_object:
                yield phrase.key, phrase, keyphrase.sentences

    def position(self, sentence: int) -> int:
        """Return the position of the first passage that has a sentence."""
        return self._positions[sentence][0]

    def around(self, phrase: NounPhrase, mentions: Sequence[int]) -> list[int]:
        """Return the statements that name a phrase, or then only its last word: "the ramp"."""
        first, last = self.position(mentions[0]), self.position(mentions[-1])
        again = re.compile(
            rf"\b(?:the|that|this|those|these) {re.escape(phrase.core.split()[-1])}\b", re.I
        )
        return [
            i
            for i, sentence in enumerate(self.sentences)
            if self.worth[i]
            and first <= self.position(i) <= last + _NEAR
            and (i in mentions or (i > mentions[0] and again.search(sentence.text)))
        ]

    def statement(self, sentence: int) -> Statement:
        """Return a sentence as a statement."""
        positions = self._positions[sentence]
        ids = tuple(self._passages[position]["chunk_id"] for position in positions)
        document_id = self._passages[0]["document_id"]
        text = render_sentences([self.sentences[sentence]])
        if text.count('"') % 2:  # somebody reads aloud
            text = text.replace('"', "")
        return Statement(text, document_id, positions[0], ids)


def _topics(where: Sequence[tuple[_Document, NounPhrase, Sequence[int]]]) -> Iterator[Topic]:
    """Yield the topic of a phrase, if it is local or global and has enough statements."""
    document, phrase, mentions = where[0]
    is_spoken = any(document.is_spoken for document, *_ in where)
    form = _form(where)
    positions = [document.position(i) for i in mentions]
    if len(where) == 1 and max(positions) - min(positions) <= _NEAR:
        statements = [document.statement(i) for i in document.around(phrase, mentions)]
        length = sum(n_words(statement.text) for statement in statements)
        if any(document.worth[i] for i in mentions) and length >= _LEAST_WORDS:
            yield Topic(form, statements[:_N_LOCAL], False, is_spoken, document.title)
        return
    best = [
        document.statement(sentence)
        for document, _, mentions in where
        for sentence in _best_of_parts(document, mentions)
    ]
    if len(best) >= _N_PARTS:
        yield Topic(form, best[:_N_GLOBAL], True, is_spoken, "")


def _best_of_parts(document: _Document, mentions: Sequence[int]) -> Iterator[int]:
    """Yield the best statement of each part of a document that names a phrase."""
    parts: list[list[int]] = []
    for sentence in mentions:
        if parts and document.position(sentence) - document.position(parts[-1][0]) < _FAR:
            parts[-1].append(sentence)
        else:
            parts.append([sentence])
    for part in parts:
        best = max(part, key=lambda i: (document.worth[i], -i))
        if document.worth[best]:
            yield best


def _form(where: Sequence[tuple[_Document, NounPhrase, Sequence[int]]]) -> str:
    """Return a phrase as it is asked about: in lower case unless it is a name."""
    forms = [phrase for _, phrase, _ in where]
    best = max(forms, key=lambda phrase: phrase.text.startswith("the "))
    text = best.core if best.proper and not best.text.startswith("the ") else best.text
    sentences = (document.sentences[i].text for document, _, mentions in where for i in mentions)
    return _within_a_sentence(text, sentences)


def suggest_question(documents: Sequence[tuple[str, str]]) -> str:
    """Return a question on a phrase of one of the documents, or a general one.

    The phrase is the most repeated one of its document, weighted by the frequency of its words, and
    occurs in few other documents. The order of the documents does not matter. `documents` are
    title and text of each.
    """
    beginnings = [text[:_BEGINNING] for _, text in documents]
    folded = [text.casefold() for text in beginnings]
    choices = []
    for (title, _), text in zip(documents, beginnings, strict=True):
        sentences = read_sentences([text])
        is_spoken = any(sentence.speaker for sentence in sentences)
        for keyphrase in keyphrases(sentences):
            if not is_specific(keyphrase, title):
                continue
            n_mentions = len(keyphrase.sentences)
            having = sum(keyphrase.phrase.core.casefold() in other for other in folded)
            weight = keyphrase.weight * n_mentions**0.5 / having if having else 0.0
            mentions = [sentences[i].text for i in keyphrase.sentences]
            phrase = _within_a_sentence(keyphrase.phrase.text, mentions)
            choices.append((min(n_mentions, _OFTEN), weight, title, phrase, is_spoken))
    if not choices:
        return "What are these documents about?"
    _, _, title, phrase, is_spoken = max(choices)
    return question_about(phrase, is_spoken, title)


def question_about(phrase: str, is_spoken: bool, title: str = "") -> str:
    """Return a question about a phrase, which names the document if its title is a name."""
    title = " ".join(title.split())
    if is_spoken:
        return f"What was said about {phrase}?"
    is_name = bool(_letters(title)) and len(title) <= _TITLE_CHARACTERS
    if not is_name or title.endswith((".", "?", "!", "…")):
        return f"What is written about {phrase}?"
    return f"What does {title} say about {phrase}?"


def is_specific(keyphrase: Keyphrase, title: str) -> bool:
    """Return whether a phrase is a whole noun phrase with other words than the title.

    A common noun in the singular without an article ("free program") is only part of a phrase.
    """
    phrase, words = keyphrase.phrase, keyphrase.phrase.core.split()
    folded = {word.casefold() for word in words}
    is_whole = phrase.text != phrase.core or phrase.proper or words[-1].endswith("s")
    return (
        is_whole
        and bool(phrase.evidence)
        and _PHRASE_WORDS[0] <= len(words) <= _PHRASE_WORDS[1]
        and _VAGUE.isdisjoint(folded)
        and all(re.fullmatch(r"[^\W\d_]{3,}(?:[-'’][^\W\d_]+)*|of|the", word) for word in words)
        and folded.isdisjoint(_letters(title))
    )


def _letters(text: str) -> list[str]:
    return re.findall(r"[^\W\d_]+", text.casefold())


def _within_a_sentence(phrase: str, sentences: Iterable[str]) -> str:
    """Return a phrase in lower case if one of the sentences that name it has it so."""
    lowered = phrase[0].lower() + phrase[1:]
    return lowered if any(lowered in sentence for sentence in sentences) else phrase
