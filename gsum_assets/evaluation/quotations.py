"""Where sentences stand in texts, although fillers and repetitions of speech may be left out."""

import re
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from functools import cached_property

from gsum_resources.text.speech import speaker_labels, turn_spans
from gsum_resources.text.vocabulary import FILLER_WORDS

Span = tuple[int, int]
"""First character, and one past the last."""

_WORD = re.compile(r"[^\W_]+")
_ENDED = re.compile(r"(?<=[.?!…]) (?=\S)")
_OPENING, _CLOSING = re.compile(r"[\"'“‘(\[«]*\Z"), re.compile(r"[.!?…。！？\"'”’)\]»]*")
_NEAR = 5  # words within which a word counts as repeated
_REACH = 100  # words that may be left out of a sentence, besides seven for each of its words


class Words:
    """A text as words, in which sentences are looked up.

    Parameters
    ----------
    text : the text.
    spans : the parts of it to look in, in order; None: all of it.
    """

    def __init__(self, text: str, spans: Sequence[Span] | None = None) -> None:
        found = [
            match
            for start, end in (spans if spans is not None else [(0, len(text))])
            for match in _WORD.finditer(text, start, end)
        ]
        self._text = text
        self._words = [match[0].casefold() for match in found]
        self._spans = [match.span() for match in found]
        self._left_out: dict[int, bool] = {}

    @cached_property
    def positions(self) -> Mapping[str, Sequence[int]]:
        """Positions of each word, ascending."""
        found: dict[str, list[int]] = defaultdict(list)
        for position, word in enumerate(self._words):
            found[word].append(position)
        return dict(found)

    def has(self, words: Collection[str]) -> bool:
        """Return whether all words occur."""
        return all(word in self.positions for word in words)

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
        if whole := self._find(words_of(sentence)):
            return whole
        parts = [wanted for part in _ENDED.split(sentence) if (wanted := words_of(part))]
        if len(parts) < 2 or not all(map(self._find, parts)):
            return []
        return self._find(max(parts, key=len))

    def _find(self, wanted: Sequence[str]) -> list[Span]:
        latest: dict[int, int] = {}  # last word of an occurrence -> its first word
        for start in self._starts(wanted):
            if (last := self._last(wanted, start)) is not None:
                latest[last] = start
        return [self._span(start, last) for last, start in latest.items()]

    def _span(self, first: int, last: int) -> Span:
        """Return the characters from a word to another, with the marks around them."""
        start, end = self._spans[first][0], self._spans[last][1]
        opening = _OPENING.search(self._text, max(0, start - 4), start)
        closing = _CLOSING.match(self._text, end)
        return opening.start() if opening else start, closing.end() if closing else end

    def _starts(self, wanted: Sequence[str]) -> Sequence[int]:
        """Return the positions of the first word from which the rarest one can be reached."""
        positions = self.positions
        if not wanted or not all(word in positions for word in wanted):
            return ()
        firsts = positions[wanted[0]]
        n_before = min(range(len(wanted)), key=lambda i: len(positions[wanted[i]]))
        rarest = positions[wanted[n_before]]
        if 2 * len(rarest) > len(firsts):
            return firsts
        reach, starts = 8 * n_before + _REACH, set()
        for position in rarest:
            low = bisect_left(firsts, position - reach)
            starts.update(firsts[low : bisect_left(firsts, position - n_before + 1)])
        return sorted(starts)

    def _last(self, wanted: Sequence[str], start: int) -> int | None:
        """Return the position of the last word of a sentence that begins at `start`, if it does."""
        reached = {start}  # positions of the words matched so far
        for word in wanted[1:]:
            following = set()
            for position in reached:
                position += 1
                while position < len(self._words):
                    if self._words[position] == word:
                        following.add(position)
                    if not self._may_be_left_out(position):
                        break
                    position += 1
            if not following:
                return None
            reached = following
        return min(reached)

    @cached_property
    def _content(self) -> Sequence[int]:
        """Positions of the words that are no fillers."""
        return [i for i, word in enumerate(self._words) if word not in FILLER_WORDS]

    def _may_be_left_out(self, position: int) -> bool:
        if position not in self._left_out:
            self._left_out[position] = self._is_noise(position)
        return self._left_out[position]

    def _is_noise(self, position: int) -> bool:
        """Return whether a word is a filler, repeats one nearby, or begins the next one.

        Fillers may stand between the beginning of a word and the word: "the b- um boat".
        """
        word = self._words[position]
        if word in FILLER_WORDS:
            return True
        i = bisect_left(self._content, position)
        later = self._content[i + 1 : i + 1 + _NEAR]
        near = (*self._content[max(0, i - _NEAR) : i], *later)
        following = self._words[position + 1 : later[0] + 1 if later else None]
        is_begun = any(other.startswith(word) for other in following)
        return is_begun or any(self._words[other] == word for other in near)


class DocumentWords:
    """A document as words, of all and of each of its speakers.

    Attributes
    ----------
    names : names of the speakers; none in prose.
    """

    def __init__(self, text: str) -> None:
        self._text = text
        self._spans: dict[str, list[Span]] = defaultdict(list)
        for name, start, end in turn_spans(text, speaker_labels([text])):
            self._spans[name].append((start, end))
        self.names = frozenset(self._spans) - {""}
        self._of: dict[str, Words] = {}

    @cached_property
    def words(self) -> Words:
        """All words."""
        return Words(self._text)

    def has(self, words: Collection[str]) -> bool:
        """Return whether all words, as of `words_of`, occur; most documents need not be cut."""
        is_cut = "words" in vars(self)
        return (is_cut or all(word in self._folded for word in words)) and self.words.has(words)

    @cached_property
    def _folded(self) -> str:
        return self._text.casefold()

    def said_by(self, name: str) -> Words:
        """Return the words of a speaker, or those without a speaker for ""."""
        if name not in self._of:
            self._of[name] = Words(self._text, self._spans.get(name, ()))
        return self._of[name]

    def speaker_at(self, position: int) -> str:
        """Return who has begun to speak before a character, and speaks on; "" for nobody."""
        return next(
            (
                name
                for name, spans in self._spans.items()
                if any(start < position < end for start, end in spans)
            ),
            "",
        )

    def find(self, sentence: str, speaker: str = "") -> list[Span]:
        """Return the characters of each occurrence of a sentence.

        Parameters
        ----------
        speaker : name of the speaker who says it; "": anyone, or nobody.
        """
        if speaker:
            return self.said_by(speaker).find(sentence)
        if found := self.words.find(sentence):
            return found
        # an interjection may interrupt a speaker in the middle of the sentence
        return next((s for name in self._spans if (s := self.said_by(name).find(sentence))), [])


def words_of(sentence: str) -> list[str]:
    """Return the words of a sentence, without the last one where "…" may have cut it."""
    words = [match[0].casefold() for match in _WORD.finditer(sentence)]
    return words[:-1] if len(words) > 1 and sentence.rstrip().endswith("…") else words
