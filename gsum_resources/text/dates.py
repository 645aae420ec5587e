"""Dates as people write them, and the date that a document states of itself.

A date is used only where it is one of the document and can be read in one way: none is better than
a wrong one. A range has no date, nor has 3/4/2024.
"""

import re
import unicodedata
from datetime import date
from typing import NamedTuple

_LINES, _CHARS = 12, 3_000  # of the beginning of a text
_LONGEST = 120  # characters of a line that is no sentence
_DIGITS = re.compile(r"\d{4}")
MONTH_NAMES = (
    "january jan januar jänner janvier janv enero ene gennaio gen janeiro januari",
    "february feb februar février févr fév febrero febbraio fevereiro februari",
    "march mar märz mars marzo março maart mrt",
    "april apr avril avr abril abr aprile",
    "may mai mayo maggio maio mei maj",
    "june jun juni juin junio giugno junho",
    "july jul juli juillet juil julio luglio julho",
    "august aug août agosto augustus augusti",
    "september sep sept septembre septiembre settembre setembro",
    "october oct oktober okt octobre octubre ottobre outubro",
    "november nov novembre noviembre novembro",
    "december dec dezember dez décembre déc diciembre dicembre dezembro",
)
"""The names of each month in all languages that are read, separated by blanks."""

MONTHS = {name: n for n, names in enumerate(MONTH_NAMES, 1) for name in names.split()}
"""The number of each month, by its names in lower case."""

_Y = r"(?P<y>(?:1[5-9]|20)\d\d)(?!\d)"
_NAME = rf"(?P<name>{'|'.join(sorted(MONTHS, key=len, reverse=True))})\b\.?"
_D, _M = r"(?<![\d.])(?P<d>\d\d?)", r"(?P<m>\d\d?)"
_TH, _OF = r"(?:st|nd|rd|th|er|º|\.)?", r"[-\s]+(?:(?:of|del?)\s+)?"
_DAYS = (
    r"(?<!\d)(?P<y>(?:19|20)\d\d)(?P<sep>[-/.]?)(?P<m>\d\d)(?P=sep)(?P<d>\d\d)(?!\d)",
    rf"{_D}\. ?{_M}\. ?{_Y}",
    rf"{_D}([-/]){_M}\2{_Y}",
    rf"(?<!\d)(?P<m>\d\d?)([-/])(?P<d>\d\d?)\2{_Y}",
    rf"{_D}{_TH}{_OF}{_NAME}(?:{_OF}|,\s*){_Y}",
    rf"\b{_NAME}[-\s]+(?P<d>\d\d?){_TH}(?:,\s*|[-\s]+){_Y}",
    r"(?P<y>\d{4})年\s?(?P<m>\d\d?)月\s?(?P<d>\d\d?)日",
)
_MONTHS_ALONE = (
    rf"\b(?!(?-i:Mars)){_NAME}(?:{_OF}|,\s*){_Y}",
    r"(?<!\d)(?P<y>(?:19|20)\d\d)-(?P<m>\d\d)(?![-\d])",
    r"(?P<y>\d{4})年\s?(?P<m>\d\d?)月",
)
_FORMS = tuple(
    [re.compile(form, re.IGNORECASE) for form in forms] for forms in (_DAYS, _MONTHS_ALONE)
)
_OF_OTHER = re.compile(  # before a date that is the end of a range, a term, or a number
    r"(?:\b(?:to|and|from|until|till|since|before|after|by|through|effective|born"
    r"|bis|und|ab|seit|vor|nach|et|au|depuis|avant|après|y|hasta|desde"
    r"|no|nr|resolution|ordinance|order|case|invoice)|\d\s*[-–—]|#)[\s.:]*$",
    re.IGNORECASE,
)
_WEEKDAY = (
    r"(?:(?:mon|tue|wed|thu|fri|sat|sun|lun|mar|mié|jeu|jue|ven|vie|sam|sáb|dim|dom)\w*"
    r"|(?:diens|mitt|donners|frei|sonn)\w+|mercredi)[.,]?\s+"
)
_BARE = rf"(?:{_WEEKDAY})?(?:(?:den|am|le|el|the|on)\s+)?"
_LABEL = re.compile(
    r"(?:(?:date|datum|data|fecha|dato)(?: (?:and|und|et) (?:time|uhrzeit|heure)|/time)?"
    r"|dated|meeting date|date of (?:the )?meeting|as of|stand|(?:last )?updated|published|issued"
    rf"|created|adopted|approved|signed|erstellt|beschlossen|publié)\s*[:,]?\s*{_BARE}",
    re.IGNORECASE,
)
_BEFORE = re.compile(  # a place or an author, or a record
    rf"(?:[^\W\d_][^:;!?]{{0,60}},\s*){{0,2}}{_BARE}"
    r"|(?:minutes|meeting|session|sitting|notes? (?:of|on)|protokoll|sitzung|niederschrift"
    r"|compte[ -]rendu|procès-verbal|réunion|séance|acta|reunión|verbale|riunione|notulen"
    r"|vergadering)\b[^.:;!?]{0,60}\s",
    re.IGNORECASE,
)
_AFTER = re.compile(
    r"\W*|\s*[,(–—-](?:[^.!?:;]|[.:](?=\d)|\b[ap]\.m\.?){1,60}|[ T]+(?:at |um |à )?\d.{0,40}"
)


class Date(NamedTuple):
    """A day; the first of its month where only the month is known."""

    day: date
    is_month: bool

    def isoformat(self) -> str:
        """Return the date as "2024-05-06", or "2024-05" for a month."""
        return self.day.isoformat()[: 7 if self.is_month else 10]


def date_of_text(text: str, title: str = "") -> Date | None:
    """Return the date that a document states in its first lines.

    It stands behind a label ("Date:", "Adopted"), else in the title or the heading of the first
    line, else on a line of its own, with a place, an author or a time, or in "Minutes of 5 May".
    """
    lines = [line for line in text[:_CHARS].splitlines() if line.strip()][:_LINES]
    plain = [_plain(line) for line in lines if len(line) <= _LONGEST and _DIGITS.search(line)]
    labelled = [[d for d, before, _ in _dates(line) if _LABEL.fullmatch(before)] for line in plain]
    headings = [
        date_of_name(line) for line in (title, *lines[:1]) if line == title or line[0] == "#"
    ]
    own = {
        found
        for found, before, after in filter(None, map(_only_date, plain))
        if _BEFORE.fullmatch(before) and _AFTER.fullmatch(after)
    }
    for dates in (*labelled, headings, own):
        if found := set(dates) - {None}:
            return found.pop() if len(found) == 1 else None
    return None


def days_in(text: str) -> list[tuple[Date, tuple[int, int]]]:
    """Return the days in a text, or without any the months, each with its first and last place."""
    return [(found, (len(before), len(text) - len(after))) for found, before, after in _dates(text)]


def date_of_name(name: str) -> Date | None:
    """Return the date in a title, or in the name of a file without its folders."""
    found = _only_date(_plain(name.replace("_", "-")))
    return found[0] if found else None


def _plain(line: str) -> str:
    """Return a line without the marks of Markdown; cells of a table are separated by commas."""
    line = re.sub(r"[*#>`]+", "", unicodedata.normalize("NFC", line))
    return " ".join(re.sub(r"\s*[|·•]\s*", ", ", line).split()).strip(" ,_")


def _only_date(line: str) -> tuple[Date, str, str] | None:
    """Return the date of a line that has one, unless what stands before says that it is no date."""
    found = _dates(line)
    is_one = len({found_date for found_date, *_ in found}) == 1
    return found[0] if is_one and not _OF_OTHER.search(found[0][1]) else None


def _dates(line: str) -> list[tuple[Date, str, str]]:
    """Return the days in a line, in order, else its months, and what stands before and after each.

    3/4/2024 is read in both ways.
    """
    for forms in _FORMS:
        matches = sorted((m for form in forms for m in form.finditer(line)), key=re.Match.start)
        read = [(_date(m.groupdict()), line[: m.start()], line[m.end() :]) for m in matches]
        if places := [(found, before, after) for found, before, after in read if found]:
            return places
    return []


def _date(parts: dict[str, str]) -> Date | None:
    year, is_month = int(parts["y"]), "d" not in parts
    month = MONTHS[parts["name"].lower()] if "name" in parts else int(parts["m"])
    if is_month and "name" not in parts and month == (year + 1) % 100:
        return None  # 2010-11 is a year of school or of budget
    try:
        return Date(date(year, month, int(parts.get("d", 1))), is_month)
    except ValueError:
        return None
