"""Units of a text by its lines: headings, rows of tables, forms, items of lists, paragraphs.

A person who marks an answer in a table, a form or a list marks a row, a run of "Key: value" lines
or an item, and reads it with the line that introduces it.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import takewhile, zip_longest
from typing import Literal, NamedTuple

from gsum_resources.text.vocabulary import word_set

Kind = Literal["prose", "heading", "row", "form", "item", "list"]

ENDS = ".!?…؟۔।॥።。！？｡"  # also of Arabic, Indic and Ethiopic scripts, Chinese and Japanese
CLOSES = "\"'”’)\\]」』）"
_ENDED = re.compile(rf"[{ENDS}][{CLOSES}]*$")
_LAST = re.compile(r"[:\"”" + ENDS + "]$")
_HEADING = re.compile(r"#{1,6}[ \t]+(?=\S)")
_ITEM = re.compile(r"(?:[-*•]|\d{1,2}[.)])[ \t]+(?=\S)")
_PAIR = re.compile(
    r"(?=[^\W_])(?![a-zß-ÿ])(?:[^\s:|]+[ \t]+){0,4}[^\s:|]+(?::[ \t]+|\?[ \t]{3,})\S"
)
_LISTS = re.compile(rf":.*[,;\d].*[^{ENDS}]$")  # a pair alone is else a title: "Part 2: the ferry"
_RULE = re.compile(r"\|?[\s|:=+-]+$")  # below the header of a table
_CELL_END = re.compile(r"(?<!\\)\|")
_OF_MAIL = word_set(
    "from to cc bcc date sent subject attachments von an datum gesendet betreff anlagen de à objet"
)
_LONG = 40  # words; longer forms and lists are read by their lines


class Record(NamedTuple):
    """A unit of a text.

    Attributes
    ----------
    text : on one line, without its mark; a form has a line for each pair, a list for each item.
    kind : a `form` is a run of "Key: value" lines, or one line of a long run; a `list` begins with
        the line that introduces it, or is one item of a long list; other items are `prose`.
    lead : the line that introduces it: the header of its table, the sentence before its list, the
        first line of its form; "" for none.
    heading : the heading that it stands below; "" for none.
    """

    text: str
    kind: Kind = "prose"
    lead: str = ""
    heading: str = ""


def records(text: str) -> Iterator[Record]:
    """Yield the units of a text in order; the header of a table is a heading."""
    heading = lead = ""
    groups = list(_groups(text))
    for i, (kind, lines) in enumerate(groups):
        joined = " ".join(" ".join(lines).split())
        if kind == "heading":
            heading, lead = joined, ""
            yield Record(joined, "heading")
        elif kind == "row":
            header, *rows = [line for line in lines if not _RULE.match(line)] or [""]
            is_named = len(rows) < len(lines) - 1 or len(cells(header)) > 2
            yield Record(header, "heading" if rows and is_named else "row", heading=heading)
            yield from (Record(row, "row", header, heading) for row in rows)
        elif kind == "form" and _OF_MAIL.issuperset(
            line.partition(":")[0].lower() for line in lines
        ):
            heading = f"{heading} {joined}".strip()
            yield Record(joined, "heading")
        elif kind == "form" and (len(lines) > 1 or _LISTS.search(joined)):
            is_named = not any(char.isdigit() for char in lines[0].partition(":")[0])  # else a log
            yield from _together(kind, lines, lines[0] if is_named else "", heading)
        elif kind == "item" and lead:
            if i and groups[i - 1][0] != "item":
                of_list = takewhile(lambda group: group[0] == "item", groups[i:])
                items = [f"- {' '.join(lines)}" for _, lines in of_list]
                yield from _together("list", [lead, *items], lead, heading)
        else:
            lead = joined if joined.endswith((":", "：")) else ""
            if not lead or i + 1 == len(groups) or groups[i + 1][0] != "item":
                yield Record(joined, heading=heading)


def _together(kind: Kind, lines: Sequence[str], lead: str, heading: str) -> Iterator[Record]:
    """Yield a form or list as one unit, or each line of a long one with its first line."""
    whole = "\n".join(lines)
    if len(whole.split()) <= _LONG:
        yield Record(whole, kind, heading=heading)
        return
    for line in lines[1:] if kind == "list" else lines:
        yield Record(line, kind, lead if line != lead else "", heading)


def cells(row: str) -> list[str]:
    """Return the cells of a row of a table."""
    return [cell.strip() for cell in _CELL_END.split(row.strip().strip("|"))]


def _groups(text: str) -> Iterator[tuple[Kind, list[str]]]:
    """Yield the lines that belong together, with what they are.

    A paragraph ends at a blank line, and at a line that ends with a mark; other line breaks in it
    are those of wrapped lines, also in an item and in a value of a form.
    """
    kind: Kind = "prose"
    lines: list[str] = []
    each = [line.strip() for line in text.splitlines()]
    for line, following in zip_longest(each, each[1:], fillvalue=""):
        this = _kind_of(line)
        is_open = bool(lines and line) and not _LAST.search(lines[-1])
        if is_open and kind == "prose" and this == "form" and _kind_of(following) != "form":
            this = "prose"  # a wrapped line with a colon
        if is_open and this == "prose" and kind in ("prose", "item", "form"):
            lines[-1] += f" {line}"
        elif lines and line and this == kind and kind in ("row", "form"):
            lines.append(line)
        else:
            if lines:
                yield from _checked(kind, lines)
            marked = _HEADING.match(line) or (this == "item" and _ITEM.match(line)) or None
            kind, lines = this, [line[marked.end() :] if marked else line] if line else []
    if lines:
        yield from _checked(kind, lines)


def _checked(kind: Kind, lines: list[str]) -> Iterable[tuple[Kind, list[str]]]:
    """Yield lines as a form only if most of them end without a mark, else each as prose."""
    is_form = kind == "form" and 2 * sum(bool(_ENDED.search(line)) for line in lines) <= len(lines)
    if kind != "form" or is_form:
        return [(kind, lines)]
    return [("prose", [line]) for line in lines]


def _kind_of(line: str) -> Kind:
    if line.startswith("|") and line.endswith("|") and len(line) > 1:
        return "row"
    if _HEADING.match(line):
        return "heading"
    if _ITEM.match(line):
        return "item"
    return "form" if _PAIR.match(line) else "prose"
