"""Whether the sentences of a text are said by the speakers under whose names it shows them.

The words of a sentence are looked up in the turns of its speaker. Fillers and repetitions of speech
may be left out, nothing else; so a sentence that a model has put in its own words is found nowhere,
and neither right nor wrong.
"""

import re
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from itertools import chain

from gsum_resources.text.fillers import FILLER_WORDS
from gsum_resources.text.sentences import split_sentences
from gsum_resources.text.speech import speaker_labels, turns

_WORD = re.compile(r"[^\W_]+")
_ITEM = re.compile(r"[-*•][ \t]+")
_ENDED = re.compile(r"(?<=[.?!…]) (?=\S)")
_NEAR = 5  # words within which a word counts as repeated


class Verdict(StrEnum):
    """Result for one sentence."""

    RIGHT = "right"
    WRONG = "wrong speaker"
    ELSEWHERE = "not in a document"
    UNATTRIBUTED = "unattributed"


@dataclass(frozen=True)
class ShownSentence:
    """A sentence of a text.

    Attributes
    ----------
    labels : names shown before it, outermost first: several in "Dov: Hanneke: I move …", and none
        if no speaker is named.
    """

    text: str
    labels: tuple[str, ...] = ()


class Words:
    """A text as words, in which sentences are looked up."""

    def __init__(self, text: str) -> None:
        self._words = _words(text)

    @cached_property
    def _positions(self) -> Mapping[str, Sequence[int]]:
        found: dict[str, list[int]] = defaultdict(list)
        for position, word in enumerate(self._words):
            found[word].append(position)
        return found

    def hold(self, sentence: str) -> bool:
        """Return whether a sentence's words are here in this order, fillers aside.

        The last word may be cut if the sentence ends in "…". A sentence before one that begins
        with a lower-case letter, cut by the border of a passage, may be elsewhere than that.
        """
        parts = _ENDED.split(sentence)
        return self._hold(sentence) or (len(parts) > 1 and all(map(self._hold, parts)))

    def _hold(self, sentence: str) -> bool:
        wanted = _words(sentence)
        is_cut = sentence.rstrip().endswith("…")
        if is_cut and len(wanted) > 1:
            wanted = wanted[:-1]
        starts = self._positions.get(wanted[0], ()) if wanted else ()
        return not wanted or any(self._follows(wanted, start) for start in starts)

    def _follows(self, wanted: Sequence[str], start: int) -> bool:
        reached = {start + 1}  # positions after the words matched so far
        for word in wanted[1:]:
            following = set()
            for position in reached:
                while position < len(self._words):
                    if self._words[position] == word:
                        following.add(position + 1)
                    if not self._may_be_left_out(position):
                        break
                    position += 1
            if not following:
                return False
            reached = following
        return True

    @cached_property
    def _content(self) -> Sequence[int]:
        """Positions of the words that are no fillers."""
        return [i for i, word in enumerate(self._words) if word not in FILLER_WORDS]

    def _may_be_left_out(self, position: int) -> bool:
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


class Speakers:
    """What each speaker says in some documents.

    Parameters
    ----------
    documents : texts; prose has no speakers.
    """

    def __init__(self, documents: Iterable[str]) -> None:
        self._turns: list[dict[str, Words]] = []
        self._texts: list[Words] = []
        for text in documents:
            said: dict[str, list[str]] = defaultdict(list)
            for turn in turns(text, speaker_labels([text])):
                said[turn.speaker].append(turn.text)
            self._turns.append({name: Words(" ".join(t)) for name, t in said.items()})
            self._texts.append(Words(text))
        self.names = frozenset(name for said in self._turns for name in said if name)

    @cached_property
    def _label(self) -> re.Pattern[str]:
        names = "|".join(re.escape(name) for name in sorted(self.names, key=len, reverse=True))
        return re.compile(rf"({names})(?: \([^\n()]*\))?[ \t]*:[ \t]*" if names else r"(?!)")

    def shown(self, text: str) -> Iterator[ShownSentence]:
        """Yield the sentences of a text with the names that it shows for them.

        A line without a name continues the one before, unless it begins with a mark (an item, or
        "–" for an unknown speaker) or is a heading, which a line that follows does not continue.
        """
        labels: tuple[str, ...] = ()
        for line in map(str.strip, text.splitlines()):
            item = _ITEM.match(line)
            rest, own = self._split_labels(line[item.end() if item else 0 :])
            is_heading = rest.startswith("#") or rest.endswith(":")
            if own or item or is_heading or rest.startswith("–") or not line:
                labels = own
            outer = labels
            for sentence in split_sentences(rest.lstrip("– ")):
                said, inner = self._split_labels(sentence)
                labels = (*outer, *inner) if inner else labels
                yield ShownSentence(said, labels)

    def _split_labels(self, text: str) -> tuple[str, tuple[str, ...]]:
        """Return a text without the names at its beginning, and these names."""
        names = []
        while match := self._label.match(text):
            names.append(match[1])
            text = text[match.end() :]
        return text, tuple(names)

    def verdict(self, sentence: ShownSentence) -> Verdict:
        """Return whether the innermost speaker says a sentence in a document."""
        return self.verdict_for(sentence.text, sentence.labels[-1] if sentence.labels else "")

    def verdict_for(self, text: str, name: str) -> Verdict:
        """Return whether a speaker says a sentence in a document."""
        if any(said[name].hold(text) for said in self._turns if name and name in said):
            return Verdict.RIGHT
        if not self._is_quoted(text):
            return Verdict.ELSEWHERE
        return Verdict.WRONG if name else Verdict.UNATTRIBUTED

    def _is_quoted(self, text: str) -> bool:
        said = (words for turns_of in self._turns for words in turns_of.values())
        return any(words.hold(text) for words in chain(self._texts, said))


def _words(text: str) -> list[str]:
    return _WORD.findall(text.casefold())
