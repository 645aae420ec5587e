"""Sentences of an answer: those who say them, the passages cited behind them, their sources."""

import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from gsum_resources.text.sentences import split_sentences

QUOTED, CITED, UNSUPPORTED, NONE = "quoted", "cited", "unsupported", "none"
"""Kinds of rows of `answer_sources`."""

NumberOf = Callable[[Mapping[str, Any]], int]
"""Returns the number under which the source of a row of `answer_sources` is listed."""

_MARK = re.compile(r"[ \t]*(?:(?:#{1,6}|[-*•–]|\d{1,2}[.)])[ \t]+)?")  # of a heading or an item
_NAME = re.compile(r"([^\W\d_][^\n:?!;]{0,79}?)(?: \([^\n()]*\))?[ \t]*:[ \t]+")
_CITATION = re.compile(
    r"\s*[\[【](?:passages?\s*)?\^?(\d{1,3}(?:\s*(?:,|;|-|–|and|&)\s*\d{1,3})*)[\]】]",
    re.IGNORECASE,
)
_NUMBERS = re.compile(r"(\d+)(?:\s*[-–]\s*(\d+))?")
_MOST_IN_RANGE = 20  # passages of "[4-6]"


@dataclass(frozen=True)
class Sentence:
    """A sentence of an answer as it is shown, with the name of its speaker.

    Attributes
    ----------
    number : from 1; 0 for a heading and for a text without words, which need no source.
    numbers : numbers under which its sources are listed.
    unsupported : numbers that the model wrote although the passages do not support the sentence.
    needs_source : whether a source was looked for, and none was found.
    """

    number: int
    text: str
    numbers: Sequence[int] = ()
    unsupported: Sequence[int] = ()
    needs_source: bool = False

    @property
    def label(self) -> str:
        """The numbers in brackets: "[2]", "[3?]" for an unsupported one, "[?]" for no source."""
        shown = [*map(str, self.numbers), *(f"{number}?" for number in self.unsupported)]
        return f"[{', '.join(shown)}]" if shown else "[?]" if self.needs_source else ""


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
    for text in answer.splitlines():
        mark = _MARK.match(text)
        end = mark.end() if mark else 0
        line = Line(text[:end], [Sentence(0, sentence) for sentence in split_sentences(text[end:])])
        sentences = []
        for sentence in line.sentences:
            needs_number = not line.is_heading and re.search(r"[^\W_]", sentence.text) is not None
            n += needs_number
            sentences.append(replace(sentence, number=n if needs_number else 0))
        lines.append(Line(line.mark, sentences))
    return lines


class Said(NamedTuple):
    """A sentence with the names before it, outermost first: two in "Dov: Hanneke: I move …".

    Attributes `number`: as of `Sentence`; `words`: the sentence without the names.
    """

    number: int
    text: str
    names: tuple[str, ...]
    words: str


def said_sentences(answer: str, names: Collection[str]) -> Iterator[Said]:
    """Yield the sentences of an answer with the names of their speakers.

    A line without a name continues the one before, unless it begins with a mark (an item, or "–"
    for an unknown speaker), is a heading or is blank. `names` are all names of speakers; other
    words before a colon are part of a sentence.
    """
    speakers: tuple[str, ...] = ()
    for line in lines_of(answer):
        if line.mark.strip() or line.is_heading or not line.sentences:
            speakers = ()
        of_line = speakers
        for i, sentence in enumerate(line.sentences):
            words, before = sentence.text, []
            while (match := _NAME.match(words)) and match[1] in names:
                before.append(match[1])
                words = words[match.end() :]
            if before:
                speakers = (*of_line, *before) if i else tuple(before)
            of_line = of_line if i else speakers
            yield Said(sentence.number, sentence.text, speakers, words)


def without_citations(reply: str) -> tuple[str, Mapping[int, Sequence[int]]]:
    """Return a reply without the numbers of passages in brackets, and these by sentence.

    A number belongs to the sentence that it stands in or behind.
    """
    lines, citations = [], []  # index of the line, characters before in it, numbers
    for line in reply.splitlines():
        text, end = "", 0
        for match in _CITATION.finditer(line):
            text += line[end : match.start()]
            citations.append((len(lines), _n_characters(text), _numbers(match[1])))
            end = match.end()
            if line[end : end + 1].isalnum():
                text += " "
        lines.append((text + line[end:]).rstrip() if end else line)
    text = "\n".join(lines).rstrip() if citations else reply
    shown = lines_of(text)
    cited: dict[int, list[int]] = {}
    for index, n_before, numbers in citations:
        if number := _sentence_at(shown, index, n_before):
            of_sentence = cited.setdefault(number, [])
            of_sentence += [n for n in numbers if n not in of_sentence]
    return text, cited


def _numbers(cited: str) -> list[int]:
    """Return the numbers of "2, 4-6"."""
    numbers = []
    for match in _NUMBERS.finditer(cited):
        first, last = int(match[1]), int(match[2] or match[1])
        within = range(first, min(last, first + _MOST_IN_RANGE) + 1)
        numbers += within if first <= last else [first, last]
    return numbers


def _sentence_at(lines: Sequence[Line], index: int, n_before: int) -> int:
    """Return the sentence that holds or ends after `n_before` characters of a line without blanks.

    Return the one before if there is none.
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
    return len("".join(text.split()))


def shown_lines(answer: str, rows: Iterable[Mapping[str, Any]], number_of: NumberOf) -> list[Line]:
    """Return the lines of an answer with its sources, rows of `answer_sources`."""
    rows_of: dict[int, list[Mapping[str, Any]]] = defaultdict(list)
    for row in sorted(rows, key=lambda row: (row["sentence"], row["source"])):
        rows_of[row["sentence"]].append(row)

    def with_sources(sentence: Sentence) -> Sentence:
        of_sentence = rows_of[sentence.number]
        sourced = [row for row in of_sentence if row["kind"] not in (NONE, UNSUPPORTED)]
        return replace(
            sentence,
            numbers=list(dict.fromkeys(map(number_of, sourced))),
            unsupported=[row["cited"] for row in of_sentence if row["kind"] == UNSUPPORTED],
            needs_source=bool(of_sentence) and not sourced,
        )

    return [Line(line.mark, list(map(with_sources, line.sentences))) for line in lines_of(answer)]


def with_numbers(lines: Iterable[Line]) -> str:
    """Return an answer with the label of each sentence behind it.

    Sentences in a row from the same source have it behind the last one, if none is in doubt.
    """
    return "\n".join(line.mark + " ".join(_numbered(line.sentences)) for line in lines)


def _numbered(sentences: Sequence[Sentence]) -> Iterator[str]:
    for i, sentence in enumerate(sentences):
        following = sentences[i + 1].label if i + 1 < len(sentences) else ""
        continues = sentence.label == following and "?" not in following
        yield sentence.text if continues else f"{sentence.text} {sentence.label}".rstrip()
