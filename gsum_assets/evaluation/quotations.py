"""Where sentences stand in texts, although fillers and repetitions of speech may be left out."""

import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from enum import StrEnum
from functools import cached_property
from itertools import accumulate

from gsum_assets.evaluation.answer_sentences import Said, said_sentences
from gsum_resources.text.speech import speaker_labels, turn_spans
from gsum_resources.text.vocabulary import FILLER_WORDS

Span = tuple[int, int]
"""First character, and one past the last."""

_WORD = re.compile(r"[^\W_]+")
_ENDED = re.compile(r"(?<=[.?!…]) (?=\S)")
_OPENING, _CLOSING = re.compile(r"[\"'“‘(\[«]*\Z"), re.compile(r"[.!?…。！？\"'”’)\]»]*")
_NEAR = 5  # words within which a word counts as repeated


class Words:
    """A text, or spans of it in order, as words, in which sentences are looked up."""

    def __init__(self, text: str, spans: Sequence[Span] | None = None) -> None:
        parts = spans if spans is not None else [(0, len(text))]
        matches = [m for start, end in parts for m in _WORD.finditer(text, start, end)]
        self._text = text
        self._words = [match[0].casefold() for match in matches]
        self._spans = [match.span() for match in matches]
        self._positions: dict[str, list[int]] = defaultdict(list)
        for position, word in enumerate(self._words):
            self._positions[word].append(position)

    def has(self, words: Iterable[str]) -> bool:
        """Return whether all words occur."""
        return all(word in self._positions for word in words)

    def hold(self, sentence: str) -> bool:
        """Return whether a sentence's words are here in this order, fillers aside."""
        return bool(self.find(sentence)) or not words_of(sentence)

    def find(self, sentence: str) -> list[Span]:
        """Return the characters of each occurrence of a sentence, of several parts the first.

        The words of an occurrence are those of the sentence in their order; fillers and
        repetitions may stand between them. The last word may be cut if the sentence ends in "…".
        A sentence before one that begins with a lower-case letter, cut by the border of a passage,
        may be elsewhere than that: then the occurrence is the longest part.
        """
        if spans := self._find(words_of(sentence)):
            return spans
        parts = [words for part in _ENDED.split(sentence) if (words := words_of(part))]
        if len(parts) < 2 or not all(map(self._find, parts)):
            return []
        return self._find(max(parts, key=len))

    def _find(self, words: Sequence[str]) -> list[Span]:
        if not words or not self.has(words):
            return []
        first_of = {position: position for position in self._positions[words[0]]}
        for word in words[1:]:  # from the position of the word before to that of the first word
            positions, following = self._positions[word], {}
            for before, first in first_of.items():
                for i in range(bisect_right(positions, before), len(positions)):
                    if self._n_needed[positions[i]] > self._n_needed[before + 1]:
                        break
                    following[positions[i]] = first
            first_of = following
        last_of = {first: last for last, first in reversed(first_of.items())}  # the shortest
        return [self._span(first, last) for first, last in reversed(last_of.items())]

    def _span(self, first: int, last: int) -> Span:
        """Return the characters from a word to another, with the marks around them."""
        start, end = self._spans[first][0], self._spans[last][1]
        opening = _OPENING.search(self._text, max(0, start - 4), start)
        closing = _CLOSING.match(self._text, end)
        return opening.start() if opening else start, closing.end() if closing else end

    @cached_property
    def _n_needed(self) -> Sequence[int]:
        """Number of words before each position that no occurrence may leave out.

        It may leave out a filler, a word that is repeated nearby, and the beginning of the next
        word, between which fillers may stand: "the b- um boat".
        """
        content = [i for i, word in enumerate(self._words) if word not in FILLER_WORDS]
        needed = dict.fromkeys(content, True)
        latest: dict[str, int] = {}  # index in `content` of the latest occurrence
        for i, position in enumerate(content):
            word = self._words[position]
            if i - latest.get(word, -_NEAR - 1) <= _NEAR:
                needed[position] = needed[content[latest[word]]] = False
            latest[word] = i
            following = self._words[content[i + 1]] if i + 1 < len(content) else ""
            if following.startswith(word):
                needed[position] = False
        return [0, *accumulate(needed.get(i, False) for i in range(len(self._words)))]


class DocumentWords:
    """A document as words, of all and of each of its speakers.

    `names` are those of the speakers; none in prose.
    """

    def __init__(self, text: str) -> None:
        self._text = text
        self._spans: dict[str, list[Span]] = defaultdict(list)
        for name, start, end in turn_spans(text, speaker_labels([text])):
            self._spans[name].append((start, end))
        self.names = frozenset(self._spans) - {""}
        self._words_by: dict[str, Words] = {}

    @cached_property
    def _words(self) -> Words:
        return Words(self._text)

    @cached_property
    def _folded(self) -> str:
        return self._text.casefold()

    def has(self, words: Collection[str]) -> bool:
        """Return whether all words, as of `words_of`, occur; most documents need not be cut."""
        by_length = sorted(words, key=len, reverse=True)  # long words are rare
        return all(word in self._folded for word in by_length) and self._words.has(words)

    def said_by(self, name: str) -> Words:
        """Return the words of a speaker, or those without a speaker for ""."""
        if name not in self._words_by:
            self._words_by[name] = Words(self._text, self._spans.get(name, ()))
        return self._words_by[name]

    def speaker_at(self, position: int) -> str:
        """Return who has begun to speak before a character, and speaks on; "" for nobody."""
        for name, spans in self._spans.items():
            if any(start < position < end for start, end in spans):
                return name
        return ""

    def find(self, sentence: str, speaker: str = "") -> list[Span]:
        """Return the characters of each occurrence of a sentence, by a speaker or anyone ("")."""
        if speaker:
            return self.said_by(speaker).find(sentence)
        if spans := self._words.find(sentence):
            return spans
        # an interjection may interrupt a speaker in the middle of the sentence
        return next((s for name in self._spans if (s := self.said_by(name).find(sentence))), [])


def words_of(sentence: str) -> list[str]:
    """Return the words of a sentence, without the last one where "…" directly behind cuts it."""
    words = [match[0].casefold() for match in _WORD.finditer(sentence)]
    return words[:-1] if len(words) > 1 and re.search(r"\S…\s*$", sentence) else words


def disjoint(spans: Iterable[Span]) -> list[Span]:
    """Return spans in order, those that overlap as one, without empty ones."""
    joined: list[Span] = []
    for start, end in sorted(span for span in spans if span[0] < span[1]):
        if joined and start < joined[-1][1]:
            joined[-1] = joined[-1][0], max(end, joined[-1][1])
        else:
            joined.append((start, end))
    return joined


class Verdict(StrEnum):
    """Whether a speaker says a sentence."""

    RIGHT = "right"
    WRONG = "wrong speaker"
    ELSEWHERE = "not in a document"
    UNATTRIBUTED = "unattributed"


class Speakers:
    """What each speaker says in some documents; prose has no speakers.

    A sentence that a model has put in its own words is neither right nor wrong.
    """

    def __init__(self, documents: Iterable[str]) -> None:
        self._documents = [DocumentWords(text) for text in documents]
        self._names = frozenset(name for document in self._documents for name in document.names)

    def shown(self, text: str) -> Iterator[Said]:
        """Yield the sentences of a text with the names that it shows for them."""
        return said_sentences(text, self._names)

    def verdict(self, sentence: Said) -> Verdict:
        """Return whether the innermost speaker says a sentence in a document."""
        words, name = sentence.words, sentence.names[-1] if sentence.names else ""
        if any(name in d.names and d.said_by(name).hold(words) for d in self._documents):
            return Verdict.RIGHT
        wanted = set(words_of(words))
        if wanted and not any(d.has(wanted) and d.find(words) for d in self._documents):
            return Verdict.ELSEWHERE
        return Verdict.WRONG if name else Verdict.UNATTRIBUTED
