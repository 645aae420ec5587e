"""ReadAgent (Lee et al., 2024, arXiv 2402.09727, 3.1): pages that end at natural pauses.

Its look-up (3.2) is that of JERR, with gists of pages in place of synopses of line chunks.
"""

import hashlib
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import pyarrow as pa

from gsum_assets.evaluation.token_usage import why
from gsum_assets.jerr.prompts import PROMPTS
from gsum_assets.jerr.schemas import Pause
from gsum_assets.jerr.settings import PageSettings
from gsum_assets.pipeline.prompts import Prompts
from gsum_assets.pipeline.result import Result
from gsum_assets.pipeline.tables import TABLES
from gsum_resources.protocols.models import Completion, LanguageModel, Reply, Request

_BORDERS = (
    re.compile(r"\n\s*\n"),  # of paragraphs,
    re.compile(r"\n"),  # of lines,
    re.compile(r"(?:(?<=[.!?…])|(?<=[.!?…][\"'”’)\]]))\s+"),  # and of sentences
)
_PIECES = 10  # number of runs of words into which the text of a page is split if it has no borders
_PAUSE_WORDS = 10  # of a reply


@dataclass(frozen=True)
class _Unit:
    """A paragraph, or a section of one that is too long for a page; offsets into the document."""

    start: int
    end: int
    n_words: int


@dataclass
class _Reader:
    """One document, and the state of its pagination.

    Attributes
    ----------
    ends : end of each page so far, as a number of units.
    open_ends : possible ends of the current page, ascending; empty at the end of the document.
    """

    row: Mapping[str, Any]
    units: Sequence[_Unit]
    ends: list[int] = field(default_factory=list)
    open_ends: Sequence[int] = ()

    @property
    def first(self) -> int:
        """First unit of the current page."""
        return self.ends[-1] if self.ends else 0

    def read_on(self, settings: PageSettings) -> None:
        """End pages as long as there is only one possible end."""
        self.open_ends = self._possible_ends(settings)
        while len(self.open_ends) == 1:
            self.ends.append(self.open_ends[0])
            self.open_ends = self._possible_ends(settings)

    def _possible_ends(self, settings: PageSettings) -> Sequence[int]:
        """Return the ends that give the current page an allowed length.

        The rest of the document is one page if it fits. The page is shorter if the next unit is too
        long.
        """
        n_words, last, ends = 0, self.first, []
        for unit in self.units[self.first :]:
            n_words += unit.n_words
            if n_words > settings.max_words:
                return ends or [last]
            last += 1
            if n_words >= settings.min_words:
                ends.append(last)
        return [last] if last > self.first else []

    def text(self, first: int, end: int) -> str:
        """Return the text of the document from unit `first` to `end`."""
        return self.row["text"][self.units[first].start : self.units[end - 1].end]


def paginate(
    documents: pa.Table, model: LanguageModel, settings: PageSettings, prompts: Prompts = PROMPTS
) -> Result:
    """Split each document into pages at pauses chosen by `model`, and request gists of the pages.

    A prompt shows the text after the last page: the text that the page contains in any case as one
    passage, then each paragraph after which it may end. Without a valid reply, the page ends at the
    last of these. The requests of each round are sent for all documents together. A page no longer
    than a gist is its own gist; a page without a valid reply has none.
    """
    ordered = documents.select(["document_id", "text"]).sort_by("document_id").to_pylist()
    readers = [_Reader(row, list(_units(row["text"], settings.max_words))) for row in ordered]
    failures: list[str] = []
    reading = readers
    while reading:
        for reader in reading:
            reader.read_on(settings)
        reading = [reader for reader in reading if reader.open_ends]
        requests = [
            Request(
                task="topic",
                instructions=prompts.text("pause"),
                passages=tuple(
                    map(reader.text, [reader.first, *reader.open_ends[:-1]], reader.open_ends)
                ),
                max_words=_PAUSE_WORDS,
                schema=Pause,
                document_id=reader.row["document_id"],
            )
            for reader in reading
        ]
        replies = model.complete(requests) if requests else []
        for reader, reply in zip(reading, replies, strict=True):
            failures += _pause(reader, reply)
    pages = [page for reader in readers for page in _pages(reader)]
    failures += _add_gists(pages, model, settings, prompts)
    return Result(pa.Table.from_pylist(pages, TABLES["jerr.pages"].schema), failures)


def _units(text: str, max_words: int) -> Iterator[_Unit]:
    """Yield paragraphs, split into lines, sentences or runs of words if longer than a page."""

    def split(start: int, end: int, level: int) -> Iterator[_Unit]:
        if level == len(_BORDERS):
            size = max(1, max_words // _PIECES)
            words = [match.span() for match in re.finditer(r"\S+", text[start:end])]
            for run in (words[i : i + size] for i in range(0, len(words), size)):
                yield _Unit(start + run[0][0], start + run[-1][1], len(run))
            return
        for section_start, section_end in _sections(text, start, end, _BORDERS[level]):
            n_words = len(text[section_start:section_end].split())
            if n_words > max_words:
                yield from split(section_start, section_end, level + 1)
            elif n_words:
                yield _Unit(section_start, section_end, n_words)

    yield from split(0, len(text), 0)


def _sections(
    text: str, start: int, end: int, border: re.Pattern[str]
) -> Iterator[tuple[int, int]]:
    """Yield the spans between borders, without surrounding blanks."""
    borders = [match.span() for match in border.finditer(text, start, end)]
    starts = [start, *(after for _, after in borders)]
    for first, last in zip(starts, [*(before for before, _ in borders), end], strict=True):
        section = text[first:last]
        yield first + len(section) - len(section.lstrip()), first + len(section.rstrip())


def _pause(reader: _Reader, reply: Reply) -> list[str]:
    """End the page at the pause in the reply; else at the last possible end, with a failure."""
    ends, problem = reader.open_ends, ""
    if not isinstance(reply, Completion) or not isinstance(reply.parsed, Pause):
        problem = why(reply)
    elif reply.parsed.pause > len(ends):
        problem = f"the reply names passage {reply.parsed.pause} of {len(ends)}"
    else:
        ends = ends[: reply.parsed.pause]
    where = f"document '{reader.row['document_id']}', page {len(reader.ends)}"
    reader.ends.append(ends[-1])
    return [f"{where}: no pause, so the page has its maximum length: {problem}"] if problem else []


def _pages(reader: _Reader) -> Iterator[dict[str, Any]]:
    """Yield the rows of a document's pages without gists."""
    document_id, seen = reader.row["document_id"], Counter[str]()
    for position, (first, end) in enumerate(pairwise([0, *reader.ends])):
        text = reader.text(first, end)
        content = f"{document_id}\0{seen[text]}\0{text}".encode()
        seen[text] += 1
        yield {
            "page_id": "p" + hashlib.blake2b(content, digest_size=10).hexdigest(),
            "document_id": document_id,
            "position": position,
            "start": reader.units[first].start,
            "end": reader.units[end - 1].end,
            "n_words": sum(unit.n_words for unit in reader.units[first:end]),
            "text": text,
        }


def _add_gists(
    pages: Sequence[dict[str, Any]], model: LanguageModel, settings: PageSettings, prompts: Prompts
) -> list[str]:
    """Add gists to the rows, and return a line for each page without a valid one."""
    too_long, failures = [], []
    for page in pages:
        page |= {"gist": page["text"], "model": ""}
        if page["n_words"] > settings.gist_words:
            too_long.append(page)
    requests = [
        Request(
            task="synopsis",
            instructions=prompts.text("gist", max_words=settings.gist_words),
            passages=(page["text"],),
            max_words=settings.gist_words,
            document_id=page["document_id"],
        )
        for page in too_long
    ]
    replies = model.complete(requests) if requests else []
    for page, reply in zip(too_long, replies, strict=True):
        page |= {"gist": reply.text.strip(), "model": reply.model}
        if not isinstance(reply, Completion) or not page["gist"]:
            page["gist"] = ""
            where = f"document '{page['document_id']}', page {page['position']}"
            failures.append(f"{where}: no gist: {why(reply)}")
    return failures
