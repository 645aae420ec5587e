"""Sentences of an answer, with the numbers of passages that a language model wrote behind them."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from gsum_resources.text.sentences import split_sentences

_MARK = re.compile(r"[ \t]*(?:(?:#{1,6}|[-*•–]|\d{1,2}[.)])[ \t]+)?")  # of a heading or an item
_NAME = re.compile(r"([^\W\d_][^\n:?!;]{0,79}?)(?: \([^\n()]*\))?[ \t]*:[ \t]+")
_CITATION = re.compile(
    r"\s*[\[【](?:passages?\s*)?\^?(\d{1,3}(?:\s*(?:,|;|-|–|and|&)\s*\d{1,3})*)[\]】]",
    re.IGNORECASE,
)
_NUMBERS = re.compile(r"(\d+)(?:\s*[-–]\s*(\d+))?")
_BLANKS = re.compile(r"\s+")


@dataclass(frozen=True)
class Sentence:
    """A sentence of an answer as it is shown, with the name of a speaker before it.

    Attributes
    ----------
    number : from 1; 0 for a heading and for a text without words, which need no source.
    """

    number: int
    text: str


@dataclass(frozen=True)
class Line:
    """A line of an answer; `mark` is what stands before its sentences: "- ", "## " or "– "."""

    mark: str
    sentences: Sequence[Sentence]

    @property
    def is_heading(self) -> bool:
        """Whether the line is a heading."""
        return self.mark.lstrip().startswith("#") or (
            bool(self.sentences) and self.sentences[-1].text.endswith((":", "："))
        )


def lines_of(answer: str) -> list[Line]:
    """Return the lines of an answer with their sentences, which are numbered throughout."""
    lines, n = [], 0
    for line in answer.splitlines():
        mark = _MARK.match(line)
        end = mark.end() if mark else 0
        shown = Line(line[:end], [Sentence(0, text) for text in split_sentences(line[end:])])
        if not shown.is_heading:
            sentences = []
            for sentence in shown.sentences:
                has_words = re.search(r"[^\W_]", sentence.text) is not None
                n += has_words
                sentences.append(Sentence(n if has_words else 0, sentence.text))
            shown = Line(shown.mark, sentences)
        lines.append(shown)
    return lines


def split_name(text: str, names: frozenset[str]) -> tuple[str, str]:
    """Return the innermost of the names of speakers at the beginning of a text, and the rest."""
    speaker = ""
    while (match := _NAME.match(text)) and match[1] in names:
        speaker, text = match[1], text[match.end() :]
    return speaker, text


def without_citations(reply: str) -> tuple[str, Mapping[int, Sequence[int]]]:
    """Return a reply without the numbers of passages in brackets, and these by sentence.

    Returns
    -------
    The text, as it would be without them; and the numbers in order, by the number of the sentence
    that they stand in or behind.
    """
    lines, cited_at = [], []  # index of the line, characters before in it, numbers
    for line in reply.splitlines():
        kept, end = "", 0
        for match in _CITATION.finditer(line):
            kept += line[end : match.start()]
            cited_at.append((len(lines), _n_characters(kept), _numbers(match[1])))
            end = match.end()
            if line[end : end + 1].isalnum():
                kept += " "
        lines.append((kept + line[end:]).rstrip() if end else line)
    text = "\n".join(lines).rstrip() if cited_at else reply
    shown = lines_of(text)
    cited: dict[int, list[int]] = {}
    for index, n_before, numbers in cited_at:
        if number := _sentence_at(shown, index, n_before):
            of_sentence = cited.setdefault(number, [])
            of_sentence += [n for n in numbers if n not in of_sentence]
    return text, cited


def _numbers(cited: str) -> list[int]:
    numbers = []
    for match in _NUMBERS.finditer(cited):
        first, last = int(match[1]), int(match[2] or match[1])
        numbers += range(first, min(last, first + 20) + 1) if first <= last else [first, last]
    return numbers


def _sentence_at(lines: Sequence[Line], index: int, n_before: int) -> int:
    """Return the sentence that holds or ends at a position of a line, or else the one before.

    Parameters
    ----------
    n_before : characters before the position in its line, without blanks.
    """
    line = lines[index] if index < len(lines) else Line("", ())
    end = _n_characters(line.mark)
    for sentence in line.sentences:
        end += _n_characters(sentence.text)
        if n_before <= end and sentence.number:
            return sentence.number
    # a line of numbers alone, or a heading: they belong to what stands before
    before = [s.number for line in lines[: index + 1] for s in line.sentences if s.number]
    return before[-1] if before else 0


def _n_characters(text: str) -> int:
    return len(_BLANKS.sub("", text))
