"""Whether the sentences of a text are said by the speakers under whose names it shows them.

The words of a sentence are looked up in the turns of its speaker. Fillers and repetitions of speech
may be left out, nothing else; so a sentence that a model has put in its own words is found nowhere,
and neither right nor wrong.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property

from gsum_assets.evaluation.quotations import DocumentWords, words_of
from gsum_resources.text.sentences import split_sentences

_ITEM = re.compile(r"[-*•][ \t]+")


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


class Speakers:
    """What each speaker says in some documents.

    Parameters
    ----------
    documents : texts; prose has no speakers.
    """

    def __init__(self, documents: Iterable[str]) -> None:
        self._documents = [DocumentWords(text) for text in documents]
        self.names = frozenset(name for document in self._documents for name in document.names)

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
        speakers = [document for document in self._documents if name in document.names]
        if any(document.said_by(name).hold(text) for document in speakers):
            return Verdict.RIGHT
        if words_of(text) and not any(document.find(text) for document in self._documents):
            return Verdict.ELSEWHERE
        return Verdict.WRONG if name else Verdict.UNATTRIBUTED
