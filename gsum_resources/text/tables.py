"""Tables in Markdown: the line with the names of their columns, and their rows."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

_RULE = re.compile(r"^[ \t]*\|?(?:[ \t]*:?-+:?[ \t]*\|)+(?:[ \t]*:?-+:?)?[ \t]*$", re.MULTILINE)
_ROW = re.compile(r"[^\n]*\|[^\n]*\n?")


@dataclass(frozen=True)
class Table:
    """A table in a text.

    Attributes
    ----------
    start, end : characters of the names of its columns, on one line.
    rows : characters of each further line, with its line end; the first is the rule "| --- |".
    """

    start: int
    end: int
    rows: list[tuple[int, int]]


def tables_in(text: str) -> Iterator[Table]:
    """Yield the tables of a text whose columns have names, in order."""
    for rule in _RULE.finditer(text):
        end = rule.start() - 1
        start = text.rfind("\n", 0, max(0, end)) + 1
        names = text[start : max(0, end)]
        if "|" in names and names.strip("| \t"):
            rows: list[tuple[int, int]] = []
            while line := _ROW.match(text, rows[-1][1] if rows else rule.start()):
                rows.append(line.span())
            yield Table(start, end, rows)
