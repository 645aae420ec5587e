"""Choice of the columns of a table that hold text, title and id of its documents."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from gsum_assets.pipeline.corpus_settings import ColumnNames

_TEXTS = ("text", "body", "content", "contents", "full_text", "article", "transcript")
_TITLES = ("title", "subject", "headline")
_IDS = ("document_id", "doc_id", "id")
_LONG = 50  # characters on average of a column that may be the text without such a name
_LONGEST_NAME = 60  # characters; a longer one is text, and the file has no header
_SHOWN = 12


class UnclearColumnsError(Exception):
    """Error for a table without one column that must be the text; the message has the remedy."""


@dataclass(frozen=True)
class Columns:
    """The columns of one table.

    Attributes
    ----------
    text, title, id : names of the columns; "" without one.
    is_unique : whether ids are unique in the whole corpus, not only in the table.
    """

    text: str
    title: str = "title"
    id: str = "id"
    is_unique: bool = True


def choose_columns(
    names: Sequence[str], rows: Iterable[Mapping[str, Any]], wanted: ColumnNames
) -> Columns:
    """Return the columns of a table of documents.

    Parameters
    ----------
    wanted : the columns that `corpus.toml` names, which come first.

    Raises
    ------
    UnclearColumnsError
        If no column, or more than one, may be the text.
    """
    by_key = {name.strip().casefold(): name for name in reversed(names)}
    ids = [by_key[key] for key in _IDS if key in by_key]
    titles = [by_key[key] for key in _TITLES if key in by_key]
    is_wanted = wanted.id in names
    return Columns(
        _text_column(names, list(rows), wanted),
        wanted.title if wanted.title in names else next(iter(titles), ""),
        wanted.id if is_wanted else next(iter(ids), ""),
        is_wanted or "document_id" in by_key,
    )


def has_text_column(names: Collection[str], wanted: ColumnNames) -> bool:
    """Return whether a column has the name of a text."""
    return any(name in wanted.text or name.strip().casefold() in _TEXTS for name in names)


def _text_column(names: Sequence[str], rows: list[Mapping[str, Any]], wanted: ColumnNames) -> str:
    for name in wanted.text:
        if name in names:
            return name
    named = [name for name in names if name.strip().casefold() in _TEXTS]
    plain = [name for name in named if name.strip().casefold() == "text"]
    long = [name for name in names if _is_long(row.get(name) for row in rows)]
    for candidates in (plain, named, long):
        if len(candidates) == 1 and len(candidates[0]) <= _LONGEST_NAME:
            return candidates[0]
    candidates = named or long
    shown = ", ".join(_printable(name) for name in names[:_SHOWN])
    more = ", …" if len(names) > _SHOWN else ""
    reason = "several may be" if len(candidates) > 1 else "none is certainly"
    example = _printable((candidates or names)[0])
    raise UnclearColumnsError(
        f"a table with the columns {shown}{more}, of which {reason} the text; name it in "
        f'[documents] of corpus.toml, as text_column = "{example}", or move the file'
    )


def _printable(name: str) -> str:
    shown = name[:_LONGEST_NAME].encode("utf-8", "backslashreplace").decode()
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in shown)


def _is_long(values: Iterable[Any]) -> bool:
    """Return whether a column holds long texts: no numbers, no addresses, no short values."""
    filled = [value for value in values if value not in (None, "")]
    if not filled or not all(isinstance(value, str) for value in filled):
        return False
    has_words = any(" " in value.strip() or not value.isascii() for value in filled)
    return has_words and fmean(len(value) for value in filled) >= _LONG
