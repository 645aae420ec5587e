"""Sources of an answer: titles and positions of its passages in their documents."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from gsum_assets.evaluation.answer import reading_order
from gsum_resources.text.sentences import split_sentences

_MARK = re.compile(r"[ \t]*(?:#{1,6}|[-*•]|\d{1,2}[.)])[ \t]+")  # of a heading or an item
_NAME = re.compile(r"[^:]{1,40}: ")

Locate = Callable[[str, int, int], str]
"""Maps document, first character and one past the last to "page 12", or "" without pages."""


@dataclass(frozen=True)
class Source:
    """A passage that an answer was written from.

    Attributes
    ----------
    title : title of its document, or the kind of text if it comes from several.
    location : location within the document, "page 4" or "passage 3 of 14"; "" if it has none.
    text : the passage.
    document_id, node_id : as in `contexts`.
    """

    title: str
    location: str
    text: str
    document_id: str | None
    node_id: str

    def __str__(self) -> str:
        return f"{self.title}, {self.location}" if self.location else self.title


def sources_of(
    passages: Sequence[dict],
    titles: Mapping[str, str],
    chunks: Sequence[dict],
    locate: Locate,
) -> list[Source]:
    """Return the sources of an answer, in the order in which its model read them.

    Parameters
    ----------
    passages : rows of `contexts`, best first.
    titles : titles of the documents by id.
    chunks : rows of `chunks` of at least the passages' documents; texts are not needed.
    locate : returns a location by page or heading.
    """
    by_id = {chunk["chunk_id"]: chunk for chunk in chunks}
    n_chunks: dict[str, int] = {}
    for chunk in chunks:
        n_chunks[chunk["document_id"]] = n_chunks.get(chunk["document_id"], 0) + 1
    sources = []
    for row in reading_order(passages):
        document_id, chunk = row["document_id"], by_id.get(row["node_id"])
        kind = row["node_kind"].replace("_", " ")
        title = titles.get(document_id or "", document_id) or f"{kind} over several documents"
        location = kind if document_id else ""
        if chunk:
            location = locate(chunk["document_id"], chunk["start"], chunk["end"])
            if location in ("", title, f'section "{title}"'):  # no more than the title
                location = f"passage {chunk['position'] + 1} of {n_chunks[chunk['document_id']]}"
        sources.append(Source(title, location, row["text"], document_id, row["node_id"]))
    return sources


def with_numbers(text: str, sources: Sequence[Source]) -> str:
    """Return an answer with "[2]" after each sentence that source 2 contains word for word.

    A sentence that a language model has put in its own words gets no number.
    """
    plain = [_plain(source.text) for source in sources]
    return "\n".join(_numbered(line, plain) for line in text.splitlines())


def _numbered(line: str, sources: Sequence[str]) -> str:
    mark = _MARK.match(line)
    start = mark.end() if mark else 0
    sentences = split_sentences(line[start:])
    if not sentences:
        return line
    speaker = _plain(name[0]) if (name := _NAME.match(line[start:])) else ""
    numbers = [_first_with(_plain(sentence), speaker, sources) for sentence in sentences]
    shown = []
    for i, (sentence, number) in enumerate(zip(sentences, numbers, strict=True)):
        ends = i + 1 == len(sentences) or numbers[i + 1] != number
        shown.append(f"{sentence} [{number}]" if number and ends else sentence)
    return line[:start] + " ".join(shown)


def _first_with(sentence: str, speaker: str, sources: Sequence[str]) -> int:
    """Return the number, from 1, of the first source that contains a sentence; 0 if none does.

    A source in which the line's speaker has a turn is preferred.
    """
    spoken = _NAME.sub("", sentence)
    numbers = [i for i, source in enumerate(sources, 1) if sentence in source or spoken in source]
    return next((i for i in numbers if speaker in sources[i - 1]), numbers[0] if numbers else 0)


def _plain(text: str) -> str:
    return " ".join(text.split()).strip("–… ").casefold()
