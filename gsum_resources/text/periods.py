"""Periods that questions name, and the dates of the documents that sentences are from."""

import re
from typing import NamedTuple

from gsum_resources.text.dates import MONTHS, days_in

_YEAR = re.compile(r"\b(?:1[5-9]|20)\d\d\b")
_MONTH = re.compile(
    rf"\b(?:{'|'.join(name.capitalize() for name in MONTHS if len(name) > 3)}|May|Mai|Mars)\b"
)
_AFTER = re.compile(r"\b(?:after|nach|après)\b(?:\W+\w+){0,2}\W*$", re.IGNORECASE)
_SINCE = re.compile(r"\b(?:since|from|seit|ab|depuis)\b(?:\W+\w+){0,2}\W*$", re.IGNORECASE)
_BEFORE = re.compile(r"\b(?:before|vor|avant)\b(?:\W+\w+){0,2}\W*$", re.IGNORECASE)
_UNTIL = re.compile(r"\b(?:until|till|by|bis|jusqu\w*)\b(?:\W+\w+){0,2}\W*$", re.IGNORECASE)
_DATE = re.compile(r"(?<!\d)((?:1[5-9]|20)\d\d-\d\d(?:-\d\d)?)(?!\d)")
_VERSION = re.compile(
    r"(?<![^\W_])(?:v|version|rev(?:ision)?|fassung)[ ._-]?(?P<number>\d{1,3})(?![^\W_])"
    r"|(?<![^\W_])(?:(?P<draft>draft|entwurf)|final|corrected|revised|korrigiert|endgültig)"
    r"(?![^\W_])",
    re.IGNORECASE,
)
_CHANGES = re.compile(
    r"\b(?:(?:been?|is|are|was|were) moved|moved from|instead|no longer|replac\w+|takes? over"
    r"|took over"
    r"|postponed|corrected|wrong|new|now|raised|lowered|increased|reduced|cancel\w+|statt"
    r"|stattdessen|nicht mehr|verschoben|verlegt|ersetzt|neuen?|jetzt|nun|désormais|remplac\w+"
    r"|déplac\w+)\b",
    re.IGNORECASE,
)
_FINAL = 10**6
_LATER = "~"  # behind each digit and "-"


class Period(NamedTuple):
    """ISO dates `date` with first <= date < end, as texts; those without a year are of any year.

    `words` are those that name it.
    """

    first: str
    end: str
    words: str
    of_any_year: bool

    def has(self, date: str) -> bool:
        """Return whether a date, "2024-05-06" or its beginning, is in the period."""
        compared = date[5:] if self.of_any_year else date
        return bool(compared) and self.first <= compared < self.end


def dates_in(text: str) -> list[str]:
    """Return the ISO dates in a text, "2024-05-06" or "2024-05"."""
    return _DATE.findall(text)


def date_of(source: str) -> str:
    """Return the date in the label of a passage, "Minutes (2024-05-06), page 2"; "" for none."""
    return next(reversed(dates_in(source)), "")


def changes(text: str) -> bool:
    """Return whether a statement says that something is no longer as it was."""
    return _CHANGES.search(text) is not None


def version_of(source: str) -> tuple[str, int]:
    """Return the date in the label of a passage, and the number of its version, to be compared.

    A draft comes before all versions, and a corrected or final one behind them.
    """
    return date_of(source), next(iter(versions_in(source)), 0)


def versions_in(text: str) -> list[int]:
    """Return the numbers of the versions that a text names, that of a draft and of a final one."""
    found = _VERSION.finditer(text)
    return [int(one["number"] or (-1 if one["draft"] else _FINAL)) for one in found]


def without_version(source: str) -> str:
    """Return the words of the label of a passage without its version: equal for versions of one.

    The dates of numbered versions are left out, too.
    """
    found = _VERSION.search(source)
    name = _DATE.sub(" ", source) if found and found["number"] else source
    return " ".join(re.findall(r"[^\W_]+", _VERSION.sub(" ", name)))


def period_of(question: str) -> Period | None:
    """Return the period that a question names: a day, month or year, or before or after one."""
    named = [(found.isoformat(), span) for found, span in days_in(question)]
    named = named or [(match[0], match.span()) for match in _YEAR.finditer(question)]
    any_year = not named
    if any_year:
        months = _MONTH.finditer(question)
        named = [(f"{MONTHS[match[0].lower()]:02}", match.span()) for match in months]
    if not named:
        return None
    (one, (start, stop)), *others = named
    before, first, end = question[:start], one, f"{one}{_LATER}"
    if others and not re.search(r"\b(?:between|from|zwischen|von|entre)\b", before, re.IGNORECASE):
        return None  # two sides of a comparison
    if others:
        other, (_, stop) = others[0]
        first, end = min(one, other), f"{max(one, other)}{_LATER}"
    elif _AFTER.search(before):
        first, end = end, _LATER
    elif _SINCE.search(before):
        end = _LATER
    elif _BEFORE.search(before):
        first, end = "", one
    elif _UNTIL.search(before):
        first = ""
    return Period(first, end, question[start:stop], any_year)
