"""The names by which people know a document: its title, the name of its file, and its date.

A row of `documents` written by an earlier version has a title alone.
"""

import re
from collections.abc import Collection, Iterable, Mapping
from typing import Any

import pyarrow as pa

from gsum_assets.corpus.conversion.formats import FORMATS
from gsum_assets.corpus.records import TEXT_SUFFIXES
from gsum_resources.store.arrow import pc
from gsum_resources.text.dates import MONTH_NAMES, Date

NAMED = ("document_id", "title", "file", "date", "date_source")
"""The columns of `documents` that name a document."""

_ORDER = re.compile(r"^\d{1,3}[-_. ]+(?=\D)")
_WORD = re.compile(r"\d+|[^\W\d_]+")
_EXTENSION = re.compile(
    rf"(?:{'|'.join(map(re.escape, (*TEXT_SUFFIXES, *FORMATS)))})$", re.IGNORECASE
)


def named_rows(documents: Any, ids: Collection[str] | None = None) -> list[dict[str, Any]]:
    """Return the rows of the lazy table `documents` of all or some documents, by their names."""
    try:
        rows = documents.columns(NAMED)
    except KeyError:
        rows = documents.columns(NAMED[:2])
    if ids is not None:
        rows = rows.filter(pc.is_in(rows["document_id"], pa.array(list(ids), pa.string())))
    return rows.to_pylist()


def file_stem(file: str) -> str:
    """Return the name of a file without its folders and its extension; also of a file's id."""
    return _EXTENSION.sub("", re.split(r"/|--", file)[-1])


def shown_name(row: Mapping[str, Any], longest: int = 1_000) -> str:
    """Return the title of a document, with the name of its file and its date if it has neither.

    A file's name whose words are in the title is not repeated, nor is the time of a file shown.
    Title and file have at most `longest` characters each.
    """
    title, stem = row["title"][:longest], file_stem(row.get("file") or "")[:longest]
    if title == row["document_id"] and stem:  # it has none
        title = title.replace("--", "/")
    words = _words(_ORDER.sub("", stem))
    details = [stem] if words - _words(title) else []
    if date := stated_date(row):
        day = date.day.isoformat()[: 7 if date.is_month else 10]
        details += [day] if day not in f"{title} {details}" else []
    return f"{title} ({', '.join(details)})" if details else title


def shown_names(rows: Iterable[Mapping[str, Any]], longest: int = 1_000) -> dict[str, str]:
    """Return the names of documents as they are shown, by id; see `shown_name`."""
    return {row["document_id"]: shown_name(row, longest) for row in rows}


def says_more(location: str, name: str) -> bool:
    """Return whether a location says more than the shown name of its document does."""
    section = location.removeprefix('section "').removesuffix('"')
    return bool(section) and not f"{name} (".startswith(f"{section} (")


def searched_name(row: Mapping[str, Any]) -> str:
    """Return what a search may name a document by: title, file, and date, in several languages."""
    date = stated_date(row)
    day = f"{date.day.year} {date.day.day} {MONTH_NAMES[date.day.month - 1]}" if date else ""
    return f"{row['title']} {file_stem(row.get('file') or '')} {day}".replace("_", " ")


def stated_date(row: Mapping[str, Any]) -> Date | None:
    """Return the date of a document, unless it is only the time of its file."""
    source = row.get("date_source") or "file time"
    return None if source == "file time" else Date(row["date"], source.endswith("month"))


def _words(text: str) -> set[str]:
    return set(_WORD.findall(text.lower()))
