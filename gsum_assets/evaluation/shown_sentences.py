"""Sentences of an answer as they are shown, each with the numbers of its sources."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gsum_assets.evaluation.answer_sentences import Sentence, lines_of
from gsum_assets.evaluation.answer_sources import NONE, UNSUPPORTED

NumberOf = Callable[[Mapping[str, Any]], int]
"""Returns the number under which the source of a row of `answer_sources` is listed."""


@dataclass(frozen=True)
class ShownSentence:
    """A sentence of an answer.

    Attributes
    ----------
    text : the sentence, with the name of its speaker.
    number : its number in the answer, 0 for a heading.
    numbers : numbers under which its sources are listed.
    unsupported : numbers that the model wrote although the passages do not support the sentence.
    needs_source : whether it has no source, but is neither a heading nor without words.
    """

    text: str
    number: int
    numbers: Sequence[int] = ()
    unsupported: Sequence[int] = ()
    needs_source: bool = False

    @property
    def label(self) -> str:
        """The numbers in brackets: "[2]", "[3?]" for an unsupported one, "[?]" for no source."""
        shown = [*map(str, self.numbers), *(f"{number}?" for number in self.unsupported)]
        return f"[{', '.join(shown)}]" if shown else "[?]" if self.needs_source else ""


@dataclass(frozen=True)
class ShownLine:
    """A line of an answer; `mark` is what stands before its sentences, such as "- "."""

    mark: str
    sentences: Sequence[ShownSentence]


def shown_lines(
    answer: str, rows: Iterable[Mapping[str, Any]], number_of: NumberOf
) -> list[ShownLine]:
    """Return the lines of an answer with the sources of their sentences.

    Parameters
    ----------
    rows : rows of `answer_sources` of this answer; a sentence that has none needs none.
    """
    rows_of: dict[int, list[Mapping[str, Any]]] = defaultdict(list)
    for row in sorted(rows, key=lambda row: (row["sentence"], row["source"])):
        rows_of[row["sentence"]].append(row)
    return [
        ShownLine(line.mark, [_shown(s, rows_of[s.number], number_of) for s in line.sentences])
        for line in lines_of(answer)
    ]


def _shown(
    sentence: Sentence, rows: Sequence[Mapping[str, Any]], number_of: NumberOf
) -> ShownSentence:
    sourced = [row for row in rows if row["kind"] not in (NONE, UNSUPPORTED)]
    return ShownSentence(
        sentence.text,
        sentence.number,
        list(dict.fromkeys(map(number_of, sourced))),
        [row["cited"] for row in rows if row["kind"] == UNSUPPORTED],
        bool(rows) and not sourced,
    )


def with_numbers(lines: Iterable[ShownLine]) -> str:
    """Return an answer with the label of each sentence behind it.

    Sentences in a row from the same source have it behind the last one, if none is in doubt.
    """
    return "\n".join(line.mark + " ".join(_numbered(line.sentences)) for line in lines)


def _numbered(sentences: Sequence[ShownSentence]) -> Iterable[str]:
    for i, sentence in enumerate(sentences):
        following = sentences[i + 1].label if i + 1 < len(sentences) else ""
        continues = sentence.label == following and "?" not in following
        yield sentence.text if continues else f"{sentence.text} {sentence.label}".rstrip()
