"""ReadAgent (arXiv 2402.09727, 3.1): pages that end at natural pauses; its look-up is JERR's."""

import hashlib
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any, NamedTuple

import pyarrow as pa

from gsum_assets.evaluation.token_usage import why
from gsum_assets.jerr.prompts import PROMPTS, Pause
from gsum_assets.jerr.settings import PageSettings
from gsum_assets.pipeline.prompts import Prompts
from gsum_assets.pipeline.result import Result
from gsum_assets.pipeline.tables import TABLES
from gsum_resources.protocols.models import Completion, LanguageModel, Request

_BORDERS = (
    re.compile(r"\n\s*\n"),  # of paragraphs,
    re.compile(r"\n"),  # of lines,
    re.compile(r"(?:(?<=[.!?…])|(?<=[.!?…][\"'”’)\]]))\s+"),  # and of sentences
)
_PIECES = 10  # number of runs of words into which the text of a page is split if it has no borders
_PAUSE_WORDS = 10  # of a reply


class _Unit(NamedTuple):
    """A paragraph, or a section of one that is too long for a page; offsets into the document."""

    start: int
    end: int
    n_words: int


@dataclass
class _Reader:
    """One document, and the ends of its pages so far, as numbers of units, after a 0."""

    document_id: str
    content: str
    units: Sequence[_Unit]
    ends: list[int] = field(default_factory=lambda: [0])

    def possible_ends(self, settings: PageSettings) -> Sequence[int]:
        """Return the ends that give the current page an allowed length; none after the last one.

        The rest of the document is one page if it fits; before a long unit a page may be shorter.
        """
        n_words, ends, last = 0, [], self.ends[-1]
        for unit in self.units[last:]:
            n_words += unit.n_words
            if n_words > settings.max_words:
                return ends or [last]
            last += 1
            if n_words >= settings.min_words:
                ends.append(last)
        return [last] if last > self.ends[-1] else []

    def text(self, first: int, end: int) -> str:
        """Return the text of the document from unit `first` to `end`."""
        return self.content[self.units[first].start : self.units[end - 1].end]

    def passages(self, ends: Sequence[int]) -> tuple[str, ...]:
        """Return the texts between the last page and each possible end of the current one."""
        return tuple(map(self.text, [self.ends[-1], *ends[:-1]], ends))

    def pages(self) -> Iterator[dict[str, Any]]:
        """Yield the rows of the document's pages, with their texts as gists."""
        seen = Counter[str]()
        for position, (first, end) in enumerate(pairwise(self.ends)):
            text = self.text(first, end)
            content = f"{self.document_id}\0{seen[text]}\0{text}".encode()
            seen[text] += 1
            yield {
                "page_id": "p" + hashlib.blake2b(content, digest_size=10).hexdigest(),
                "document_id": self.document_id,
                "position": position,
                "start": self.units[first].start,
                "end": self.units[end - 1].end,
                "n_words": sum(unit.n_words for unit in self.units[first:end]),
                "text": text,
                "gist": text,
                "model": "",
            }


def paginate(
    documents: pa.Table, settings: PageSettings, model: LanguageModel, prompts: Prompts = PROMPTS
) -> Result:
    """Split each document into pages at pauses chosen by `model`, and request gists of the pages.

    A prompt shows what the page contains in any case as one passage, then each paragraph after
    which it may end; without a valid reply, it ends at the last one. A page no longer than a gist
    is its own gist; a page without a valid reply has none.
    """
    rows = documents.select(["document_id", "text"]).sort_by("document_id").to_pylist()
    readers = [
        _Reader(row["document_id"], row["text"], _units(row["text"], settings)) for row in rows
    ]
    bare = Request("topic", prompts.text("pause"), max_words=_PAUSE_WORDS, schema=Pause)
    failures: list[str] = []
    reading = readers
    while True:
        pending: list[tuple[_Reader, Sequence[int]]] = []
        for reader in reading:
            while len(ends := reader.possible_ends(settings)) == 1:
                reader.ends += ends
            if ends:
                pending.append((reader, ends))
        if not pending:
            break
        requests = [
            replace(bare, passages=reader.passages(ends), document_id=reader.document_id)
            for reader, ends in pending
        ]
        for (reader, ends), reply in zip(pending, model.complete(requests), strict=True):
            problem = ""
            if not isinstance(reply, Completion) or not isinstance(reply.parsed, Pause):
                problem = why(reply)
            elif reply.parsed.pause > len(ends):
                problem = f"the reply names passage {reply.parsed.pause} of {len(ends)}"
            else:
                ends = ends[: reply.parsed.pause]
            if problem:
                where = f"document '{reader.document_id}', page {len(reader.ends) - 1}"
                failures.append(f"{where}: no pause, so the page has its maximum length: {problem}")
            reader.ends.append(ends[-1])
        reading = [reader for reader, _ in pending]
    pages = [page for reader in readers for page in reader.pages()]
    failures += _add_gists(pages, settings.gist_words, model, prompts)
    return Result(pa.Table.from_pylist(pages, TABLES["jerr.pages"].schema), failures)


def _units(text: str, settings: PageSettings) -> list[_Unit]:
    """Return paragraphs, split into lines, sentences or runs of words if longer than a page."""

    def split(start: int, end: int, level: int) -> Iterator[_Unit]:
        if level == len(_BORDERS):
            size = max(1, settings.max_words // _PIECES)
            words = [match.span() for match in re.finditer(r"\S+", text[start:end])]
            for run in (words[i : i + size] for i in range(0, len(words), size)):
                yield _Unit(start + run[0][0], start + run[-1][1], len(run))
            return
        borders = [match.span() for match in _BORDERS[level].finditer(text, start, end)]
        starts = [start, *(after for _, after in borders)]
        for first, last in zip(starts, [*(before for before, _ in borders), end], strict=True):
            section = text[first:last]
            section_start = first + len(section) - len(section.lstrip())
            section_end = first + len(section.rstrip())
            n_words = len(section.split())
            if n_words > settings.max_words:
                yield from split(section_start, section_end, level + 1)
            elif n_words:
                yield _Unit(section_start, section_end, n_words)

    return list(split(0, len(text), 0))


def _add_gists(
    pages: Sequence[dict[str, Any]], gist_words: int, model: LanguageModel, prompts: Prompts
) -> list[str]:
    """Replace the gists of long pages, and return a line for each page without a valid one."""
    too_long = [page for page in pages if page["n_words"] > gist_words]
    instructions = prompts.text("gist", max_words=gist_words)
    bare = Request("synopsis", instructions, max_words=gist_words)
    requests = [
        replace(bare, passages=(page["text"],), document_id=page["document_id"])
        for page in too_long
    ]
    failures = []
    for page, reply in zip(too_long, model.complete(requests), strict=True):
        gist = reply.text.strip() if isinstance(reply, Completion) else ""
        page |= {"gist": gist, "model": reply.model}
        if not gist:
            where = f"document '{page['document_id']}', page {page['position']}"
            failures.append(f"{where}: no gist: {why(reply)}")
    return failures
