"""Rows of tables of documents: CSV, TSV, JSON Lines and JSON.

A malformed row becomes a row with a `problem`, so that the other rows are kept.
"""

import csv
import io
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import IO, Any

from gsum_assets.corpus.records import PIECE, too_large

_DELIMITERS = ",;\t|"


@dataclass(frozen=True)
class Row:
    """A row of a table.

    Attributes
    ----------
    line : its first line, from 1; in JSON its number.
    number : its number for a reader: in CSV as a spreadsheet counts, the header being row 1.
    content : the bytes covered by the content hash.
    problem : why it cannot be used, or None.
    """

    line: int
    number: int
    content: bytes
    values: Mapping[str, Any] | None = None
    problem: str | None = None


class NoTableError(Exception):
    """Error for a JSON file that holds no table."""


def json_lines(stream: IO[bytes], max_bytes: int) -> Iterator[Row]:
    """Yield the rows of a file with one JSON object per line."""
    # JSON may use six bytes for a character ("\u0001"): the text of a longer line is too large.
    limit = 6 * max_bytes + PIECE
    line = 0
    while content := stream.readline(limit):
        line += 1
        if len(content) == limit and not content.endswith(b"\n"):
            size = len(content)
            while rest := stream.readline(PIECE):
                size += len(rest)
                if rest.endswith(b"\n"):
                    break
            ends = b"%d\0" % size + content[:PIECE]
            yield Row(line, line, ends, problem=too_large(size, max_bytes))
            continue
        content = content.removeprefix(b"\xef\xbb\xbf").strip()
        if content:
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
    return Row(line, line, content, problem=problem)


def _object_row(values: Any, number: int, content: bytes, name: str) -> Row:
    if isinstance(values, dict):
        return Row(number, number, content, values)
    problem = f"{name} holds a {type(values).__name__}, not an object; write {{…}}"
    return Row(number, number, content, problem=problem)


def json_items(stream: IO[bytes], max_bytes: int) -> Iterator[Row]:
    """Yield the rows of a JSON file: an array of objects, or an object that has one such array.

    An object without an array is one row.

    Raises
    ------
    NoTableError
        If it holds something else.
    """
    content = stream.read(max_bytes + 1)
    if len(content) > max_bytes:
        yield Row(0, 0, content[:PIECE], problem=too_large(len(content), max_bytes))
        return
    try:
        whole = json.loads(content)
    except (ValueError, RecursionError) as error:
        yield Row(0, 0, content, problem=f"not JSON: {error}; correct or move the file")
        return
    for number, item in enumerate(items_of(whole), start=1):
        yield _object_row(item, number, json.dumps(item).encode(), f"item {number}")


def items_of(whole: Any) -> list[Any]:
    """Return the items of a JSON file; changes of the list change `whole`, unless it is a row.

    Raises
    ------
    NoTableError
        If it holds no table.
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


def csv_header(stream: IO[bytes], max_bytes: int) -> tuple[list[str], Iterator[Row]]:
    """Return the column names of CSV or TSV, and its rows.

    The separator is the one of `,`, `;`, tab and `|` that divides the header into most columns.
    """
    # Bytes that are not UTF-8 survive as surrogates, so that only their own row is rejected.
    codec = encoding_of(stream)
    errors = "surrogateescape" if codec == "utf-8-sig" else "replace"
    text = io.TextIOWrapper(stream, codec, errors, newline="")
    csv.field_size_limit(max(csv.field_size_limit(), max_bytes + PIECE))
    first = text.readline()
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


def _csv_rows(reader: Any, header: Sequence[str]) -> Iterator[Row]:
    number = 1
    while True:
        line = reader.line_num + 1
        number += 1
        try:
            values = next(reader, None)
        except csv.Error as error:
            problem = f"line {line} is not CSV: {error}; correct its quotes"
            yield Row(line, number, problem.encode(), problem=problem)
            continue
        if values is None:
            return
        content = json.dumps(values).encode()
        if values and len(values) != len(header):
            problem = f"line {line} has {len(values)} fields, the header {len(header)}; correct it"
            yield Row(line, number, content, problem=problem)
        elif values:
            row: dict[str, Any] = dict(zip(header, values, strict=True))
            cell = row.get("cites", "")
            cited = [cited.strip() for cited in cell.split(";") if cited.strip()]
            row["cites"] = cited if cell.strip() else None
            yield Row(line, number, content, row)
