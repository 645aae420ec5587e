"""Rows of tables of documents: CSV, TSV, JSON Lines and JSON; a malformed row has a `problem`."""

import csv
import gzip
import io
import json
import zlib
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain, count
from typing import IO, Any

from gsum_assets.corpus.decoding import NotTextError, decode
from gsum_assets.corpus.records import PIECE, too_large

_DELIMITERS = ",;\t|"
_BROKEN_ARCHIVE = (gzip.BadGzipFile, EOFError, zlib.error)


@dataclass(frozen=True)
class Row:
    """A row of a table, with a problem if it cannot be used.

    `line` is its first line, from 1 (in JSON its number), `number` that for a reader: in CSV as a
    spreadsheet counts, the header being row 1. `content` is covered by the content hash.
    """

    line: int
    content: bytes
    number: int = 0
    values: Mapping[str, Any] | None = None
    problem: str | None = None


class NoTableError(Exception):
    """Error for a JSON file that holds no table."""


def table_rows(
    stream: IO[bytes], suffix: str, max_bytes: int
) -> tuple[list[str] | None, Iterator[Row]]:
    """Return the names of a header, None for JSON, and the rows of an unpacked stream.

    Damage is a row of its own. The rows raise `NoTableError` if a JSON file holds no table.
    """
    if suffix == ".json":
        return None, _json_items(stream, max_bytes)
    if suffix.startswith(".jsonl"):
        return None, _until_damage(_json_lines(stream, max_bytes))
    try:
        names, rows = _csv_table(stream, max_bytes)
    except _BROKEN_ARCHIVE as error:
        return None, iter([_damage(error, 1)])
    except csv.Error as error:
        return None, iter([_not_csv(error, 1)])
    return names, _until_damage(rows)


def _until_damage(rows: Iterator[Row]) -> Iterator[Row]:
    """Yield rows, and one with a problem where a compressed file is damaged."""
    line = 0
    try:
        for row in rows:
            line = row.line
            yield row
    except _BROKEN_ARCHIVE as error:
        yield _damage(error, line + 1)


def _damage(error: Exception, line: int) -> Row:
    return Row(line, b"", problem=f"the gzip archive is damaged ({error}); compress it again")


def _json_lines(stream: IO[bytes], max_bytes: int) -> Iterator[Row]:
    """Yield the rows of a file with one JSON object per line."""
    # JSON may use six bytes for a character ("\u0001"): the text of a longer line is too large.
    limit = 6 * max_bytes + PIECE
    line = 0
    while content := stream.readline(limit):
        line += 1
        if len(content) == limit and not content.endswith(b"\n"):
            size, rest = len(content), b""
            while not rest.endswith(b"\n") and (rest := stream.readline(PIECE)):
                size += len(rest)
            ends = b"%d\0" % size + content[:PIECE]
            yield Row(line, ends, problem=too_large(size, max_bytes))
        elif content := content.removeprefix(b"\xef\xbb\xbf").strip():
            yield _json_row(content, line)


def _json_row(content: bytes, line: int) -> Row:
    try:
        values = json.loads(content.decode("utf-8"))
    except UnicodeDecodeError as error:
        problem = f"line {line} is not UTF-8 at byte {error.start}; save the file as UTF-8"
    except json.JSONDecodeError as error:
        problem = f"line {line}, column {error.colno} is not JSON: {error.msg}; correct the line"
    except (ValueError, RecursionError) as error:
        problem = f"line {line} is not usable JSON: {error}; correct the line"
    else:
        return _object_row(values, line, content, f"line {line}")
    return Row(line, content, problem=problem)


def _object_row(values: Any, number: int, content: bytes, name: str) -> Row:
    if isinstance(values, dict):
        return Row(number, content, number, values)
    problem = f"{name} holds a {type(values).__name__}, not an object; write {{…}}"
    return Row(number, content, problem=problem)


def _json_items(stream: IO[bytes], max_bytes: int) -> Iterator[Row]:
    """Yield the rows of a JSON file, see `items_of`."""
    content = stream.read(max_bytes + 1)
    if len(content) > max_bytes:
        yield Row(0, content[:PIECE], problem=too_large(len(content), max_bytes))
        return
    try:
        whole = json.loads(content)
    except (ValueError, RecursionError) as error:
        yield Row(0, content, problem=f"not JSON: {error}; correct or move the file")
        return
    for number, item in enumerate(items_of(whole), start=1):
        yield _object_row(item, number, json.dumps(item).encode(), f"item {number}")


def items_of(whole: Any) -> list[Any]:
    """Return the items of a JSON file: an array of objects, or an object with one such array.

    An object without an array is one row. Changes of the list change `whole`, unless it is a row.
    Raises `NoTableError` if it holds no table.
    """
    if isinstance(whole, dict):
        arrays = [value for value in whole.values() if _is_table(value)]
        if not arrays and whole:
            return [whole]
        whole = arrays[0] if len(arrays) == 1 else None
    if not _is_table(whole):
        raise NoTableError("JSON without an array of objects")
    return whole


def _is_table(value: Any) -> bool:
    return isinstance(value, list) and any(isinstance(item, dict) for item in value)


def _csv_table(stream: IO[bytes], max_bytes: int) -> tuple[list[str], Iterator[Row]]:
    """Return the column names of CSV or TSV, and its rows.

    The separator is the one of `,`, `;`, tab and `|` that divides the header into most columns.
    """
    # Bytes that are not UTF-8 survive as surrogates, so that only their own row is rejected.
    codec = encoding_of(stream)
    errors = "surrogateescape" if codec == "utf-8-sig" else "replace"
    text = io.TextIOWrapper(stream, codec, errors, newline="")
    csv.field_size_limit(max(csv.field_size_limit(), max_bytes + PIECE))
    first = text.readline()
    if errors == "surrogateescape" and not first.isascii():  # names are read in any encoding
        with suppress(NotTextError):
            first = decode(first.encode("utf-8", errors))[0]
    delimiter = max(
        _DELIMITERS, key=lambda mark: len(next(csv.reader([first], delimiter=mark), []))
    )
    lines = chain([first] if first else [], text)
    reader = csv.reader(lines, delimiter=delimiter, strict=True)
    header = [name.strip() for name in next(reader, [])]
    return header, _csv_rows(reader, header)


def encoding_of(stream: IO[bytes]) -> str:
    """Return the encoding of a text: UTF-16 by its mark, else UTF-8."""
    mark = stream.read(2)
    stream.seek(0)
    return "utf-16" if mark in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig"


def _csv_rows(reader: Any, header: list[str]) -> Iterator[Row]:
    for number in count(2):
        line = reader.line_num + 1
        try:
            values = next(reader, None)
        except csv.Error as error:
            yield _not_csv(error, line)
            continue
        if values is None:
            return
        content = json.dumps(values).encode()
        if values and len(values) != len(header):
            problem = f"line {line} has {len(values)} fields, the header {len(header)}; correct it"
            yield Row(line, content, number, problem=problem)
        elif values:
            row: dict[str, Any] = dict(zip(header, values, strict=True))
            cell = row.get("cites", "")
            cited = [cited.strip() for cited in cell.split(";") if cited.strip()]
            row["cites"] = cited if cell.strip() else None
            yield Row(line, content, number, row)


def _not_csv(error: csv.Error, line: int) -> Row:
    problem = f"line {line} is not CSV: {error}; correct its quotes"
    return Row(line, problem.encode(), problem=problem)
