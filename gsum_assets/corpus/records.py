"""Read the records of one file, without judging the contents of the documents.

A record is a whole file, a line of `documents.jsonl`, or a row of `documents.csv` or
`documents.parquet`. A malformed line or a broken archive becomes a record with a `problem`, so
that the other records are kept.
"""

import csv
import gzip
import hashlib
import io
import json
import zlib
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any
from unicodedata import category

import pyarrow as pa
import pyarrow.parquet as pq

from gsum_assets.corpus.listing import open_regular
from gsum_resources.paths import RemoteFile

RECORD_FILES = (
    "documents.csv",
    "documents.csv.gz",
    "documents.jsonl",
    "documents.jsonl.gz",
    "documents.parquet",
)
_COLUMNS = ("document_id", "id", "title", "text", "cites")
_FORBIDDEN = frozenset("/\\")  # separators of paths
MOST_ID_CHARS = 200
PIECE = 65_536  # bytes; of an oversized file only the two ends enter its hash
_BROKEN_ARCHIVE = (gzip.BadGzipFile, EOFError, zlib.error)


@dataclass(frozen=True)
class Record:
    """One document as stored in its source.

    Attributes
    ----------
    document_id : the id, or "{file}:{line}" without a valid one.
    file : path relative to the corpus folder, with "/".
    line : line or row within the file, from 1; 0 for a whole file.
    content : the bytes covered by the content hash.
    title, text, cites : unchanged values; the text of a file is undecoded bytes, a CSV cell of
        citations is already split into ids.
    problem : why the record cannot be used, or None.
    converter : file name extension that selects the converter of `content`; "" for text.
    name : title of a whole file that has none inside, if it differs from the id.
    is_other_type : whether the file has a type that gsum does not read.
    """

    document_id: str
    file: str
    line: int
    content: bytes
    title: Any = None
    text: Any = None
    cites: Any = None
    problem: str | None = None
    converter: str = ""
    is_other_type: bool = False
    name: str = ""


def id_problem(document_id: str) -> str | None:
    """Return why an id cannot be used, or None."""
    if not document_id.strip():
        return "the id is empty; give each document an id"
    if len(document_id) > MOST_ID_CHARS:
        return f"the id has {len(document_id)} characters, more than {MOST_ID_CHARS}; shorten it"
    bad = sorted({c for c in document_id if c in _FORBIDDEN or category(c) in ("Cc", "Cs")})
    if bad or ".." in document_id:
        what = ascii("".join(bad)) if bad else "'..'"
        return f"the id {document_id!a} contains {what}; rename it without"
    return None


def too_large(size: int, max_bytes: int) -> str:
    """Return the reason for rejecting a document of `size` bytes."""
    return (
        f"{size} bytes, more than max_bytes = {max_bytes}; split it, "
        "or raise max_bytes in [documents] of corpus.toml"
    )


def records_of(path: Path | RemoteFile, file: str, max_bytes: int) -> Iterator[Record]:
    """Yield the records of one of `RECORD_FILES`."""
    line = 0
    with open_regular(path) as raw:
        if file.endswith(".parquet"):
            yield from _parquet_rows(raw, file)
            return
        stream: Any = gzip.GzipFile(fileobj=raw) if file.endswith(".gz") else raw
        rows = _json_lines if ".jsonl" in file else _csv_rows
        try:
            for record in rows(stream, file, max_bytes):
                line = record.line
                yield record
        except _BROKEN_ARCHIVE as error:
            problem = f"the gzip archive is damaged ({error}); compress it again"
            yield _broken(file, line + 1, b"", problem)


def _broken(file: str, line: int, content: bytes, problem: str) -> Record:
    return Record(f"{file}:{line}", file, line, content, problem=problem)


def _record(row: Mapping[str, Any], file: str, line: int, content: bytes) -> Record:
    """Return a record from named values; `document_id` takes precedence over `id`."""
    value = row.get("document_id")
    value = row.get("id") if value is None else value
    if isinstance(value, bytes):
        value = value.decode("utf-8", "surrogateescape")
    if isinstance(value, int) and not isinstance(value, bool):
        value = str(value)
    if not isinstance(value, str):
        return _broken(file, line, content, f"document_id is {value!r:.60}; give it a string")
    if problem := id_problem(value):
        return _broken(file, line, content, problem)
    title, text, cites = row.get("title"), row.get("text"), row.get("cites")
    return Record(value, file, line, content, title, text, cites)


def record_of(row: Mapping[str, Any], file: str, line: int) -> Record:
    """Return the record of named values, as of a line of JSON."""
    return _record(row, file, line, json.dumps(row).encode())


def _json_lines(stream: IO[bytes], file: str, max_bytes: int) -> Iterator[Record]:
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
            yield _broken(file, line, ends, too_large(size, max_bytes))
            continue
        content = content.removeprefix(b"\xef\xbb\xbf").strip()
        if content:
            yield _json_record(content, file, line)


def _json_record(content: bytes, file: str, line: int) -> Record:
    try:
        row = json.loads(content.decode("utf-8"))
    except UnicodeDecodeError as error:
        problem = f"line {line} is not UTF-8 at byte {error.start}; save the file as UTF-8"
    except json.JSONDecodeError as error:
        problem = f"line {line}, column {error.colno} is not JSON: {error.msg}; correct the line"
    except (ValueError, RecursionError) as error:
        problem = f"line {line} is not usable JSON: {error}; correct the line"
    else:
        if isinstance(row, dict):
            return _record(row, file, line, content)
        problem = f"line {line} holds a {type(row).__name__}, not an object; write {{…}}"
    return _broken(file, line, content, problem)


def _csv_rows(stream: IO[bytes], file: str, max_bytes: int) -> Iterator[Record]:
    # Bytes that are not UTF-8 survive as surrogates, so that only their own row is rejected.
    text = io.TextIOWrapper(stream, "utf-8-sig", errors="surrogateescape", newline="")
    csv.field_size_limit(max(csv.field_size_limit(), max_bytes + PIECE))
    reader = csv.reader(text, strict=True)
    header = [name.strip() for name in next(reader, [])]
    if problem := _missing_columns(header):
        yield _broken(file, 1, repr(header).encode(), problem)
        return
    while True:
        line = reader.line_num + 1
        try:
            values = next(reader, None)
        except csv.Error as error:
            problem = f"line {line} is not CSV: {error}; correct its quotes"
            yield _broken(file, line, problem.encode(), problem)
            continue
        if values is None:
            return
        content = json.dumps(values).encode()
        if values and len(values) != len(header):
            problem = f"line {line} has {len(values)} fields, the header {len(header)}; correct it"
            yield _broken(file, line, content, problem)
        elif values:
            row: dict[str, Any] = dict(zip(header, values, strict=True))
            row["cites"] = _ids_of_cell(row.get("cites", ""))
            yield _record(row, file, line, content)


def _ids_of_cell(cell: str) -> list[str] | None:
    """Return the ids in a cell, separated by ";"; None for a blank cell."""
    return [cited.strip() for cited in cell.split(";") if cited.strip()] if cell.strip() else None


def _missing_columns(names: Collection[str]) -> str | None:
    if "text" in names and ("document_id" in names or "id" in names):
        return None
    return f"needs the columns document_id (or id) and text, has {sorted(names)}; rename them"


def _parquet_rows(stream: IO[bytes], file: str) -> Iterator[Record]:
    row = 0
    try:
        source = pq.ParquetFile(stream)
        names = source.schema_arrow.names
        if problem := _missing_columns(names):
            yield _broken(file, 0, repr(names).encode(), problem)
            return
        columns = [name for name in _COLUMNS if name in names]
        for batch in source.iter_batches(batch_size=64, columns=columns):
            for values in zip(*(cells(batch[name]) for name in columns), strict=True):
                row += 1
                yield _record(
                    dict(zip(columns, values, strict=True)), file, row, repr(values).encode()
                )
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        # Arrow reports damage as a plain OSError; its subclasses come from disk or network.
        if isinstance(error, OSError) and type(error) is not OSError:
            raise
        stream.seek(0)
        digest = hashlib.file_digest(stream, "blake2b").digest()  # type: ignore[arg-type]
        problem = f"not readable as Parquet ({str(error).splitlines()[0]}); write it again"
        yield _broken(file, row and row + 1, digest, problem)


def cells(column: pa.Array | pa.ChunkedArray) -> list[Any]:
    """Return Python values; strings as bytes, because Arrow does not guarantee their UTF-8."""
    kind = column.type
    if _is_text(kind):
        column = column.cast(pa.large_binary())
    elif (pa.types.is_list(kind) or pa.types.is_large_list(kind)) and _is_text(kind.value_type):
        column = column.cast(pa.list_(pa.large_binary()))
    return column.to_pylist()


def _is_text(kind: pa.DataType) -> bool:
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    return pa.types.is_string(kind) or pa.types.is_large_string(kind)
