"""Reads a corpus folder record by record, without judging what the documents say.

A record is a whole `.txt`/`.md` file, a line of `documents.jsonl`, or a row of `documents.csv`
or `documents.parquet`. What cannot be framed as a record (a malformed line, a broken archive)
becomes a record with a `problem`, so that the others are never lost.
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

from gsum_assets.corpus.settings import CorpusError

TEXT_SUFFIXES = (".txt", ".md")
RECORD_FILES = (
    "documents.csv",
    "documents.csv.gz",
    "documents.jsonl",
    "documents.jsonl.gz",
    "documents.parquet",
)
_FORBIDDEN = frozenset("|,[]/\\")  # not allowed in Dagster's keys, or separators of paths
_MAX_ID = 200  # characters
_PIECE = 65_536  # bytes of an oversized file's two ends that enter its hash
_BROKEN_ARCHIVE = (gzip.BadGzipFile, EOFError, zlib.error)


@dataclass(frozen=True)
class Record:
    """One document as its source holds it.

    Attributes
    ----------
    document_id : its id, or "{file}:{line}" where it has no usable one.
    file : relative to the corpus folder, with "/".
    line : line or row within the file, from 1; 0 for a whole file.
    content : the bytes that its content hash covers.
    title, text : as found; a file's text is still undecoded bytes.
    problem : why it cannot be used, or None if nothing is known against it.
    """

    document_id: str
    file: str
    line: int
    content: bytes
    title: Any = None
    text: Any = None
    problem: str | None = None


def id_problem(document_id: str) -> str | None:
    """What is wrong with an id, or None."""
    if not document_id.strip():
        return "the id is empty; give each document an id"
    if len(document_id) > _MAX_ID:
        return f"the id has {len(document_id)} characters, more than {_MAX_ID}; shorten it"
    bad = sorted({c for c in document_id if c in _FORBIDDEN or category(c) in ("Cc", "Cs")})
    if bad or ".." in document_id:
        what = ascii("".join(bad)) if bad else "'..'"
        return f"the id {ascii(document_id)} contains {what}; rename it without"
    return None


def read_records(
    folder: Path, max_bytes: int, wanted: Collection[str] | None = None
) -> Iterator[Record]:
    """Every record of a corpus folder, in the order of file names, then lines.

    Parameters
    ----------
    folder : a local or remote path.
    max_bytes : a larger file is not read but becomes a record with a problem.
    wanted : ids to read; files of others are not opened. None: all.

    Raises
    ------
    CorpusError
        If the folder does not exist.
    """
    if not folder.is_dir():
        raise CorpusError(f"corpus folder {folder} does not exist; create it or correct the path")
    for file, path in sorted(_files(folder)):
        name = file.encode("utf-8", "backslashreplace").decode()
        try:
            if file in RECORD_FILES:
                yield from _records_of(path, name, max_bytes)
            elif record := _whole_file(path, file, name, max_bytes, wanted):
                yield record
        except PermissionError:
            yield Record(f"{name}:0", name, 0, b"unreadable", problem="no right to read the file")
        except FileNotFoundError:  # deleted since the folder was listed
            continue


def _files(folder: Path, prefix: str = "", above: tuple[Path, ...] = ()) -> Iterator:
    """Pairs of relative name and path of all files that hold documents."""
    for child in folder.iterdir():
        if child.name.startswith((".", "~")):  # hidden, or an editor's temporary file
            continue
        if child.is_dir():
            seen = above
            if isinstance(child, Path):  # a link back up would be walked for ever
                seen = (*above, folder.resolve())
                if child.is_symlink() and child.resolve() in seen:
                    continue
            yield from _files(child, f"{prefix}{child.name}/", seen)
        elif child.name.lower().endswith(TEXT_SUFFIXES) or (
            not prefix and child.name in RECORD_FILES
        ):
            yield prefix + child.name, child


def _whole_file(
    path: Path, file: str, name: str, max_bytes: int, wanted: Collection[str] | None
) -> Record | None:
    natural = file.rpartition(".")[0].replace("/", "--")
    problem = id_problem(natural)
    document_id = f"{name}:0" if problem else natural
    if wanted is not None and document_id not in wanted:
        return None
    size = path.stat().st_size
    if size > max_bytes:
        with path.open("rb") as stream:
            head = stream.read(_PIECE)
            stream.seek(max(0, size - _PIECE))
            ends = b"%d\0" % size + head + stream.read(_PIECE)
        return Record(document_id, name, 0, ends, problem=too_large(size, max_bytes))
    content = path.read_bytes()
    return Record(document_id, name, 0, content, text=content, problem=problem)


def too_large(size: int, max_bytes: int) -> str:
    """The reason given for a document of `size` bytes."""
    return (
        f"{size} bytes, more than max_bytes = {max_bytes}; split it, "
        "or raise max_bytes in [documents] of corpus.toml"
    )


def _records_of(path: Path, file: str, max_bytes: int) -> Iterator[Record]:
    """The records of one of `RECORD_FILES`."""
    line = 0
    with path.open("rb") as raw:
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
            yield _broken(file, line + 1, b"", f"the gzip archive is damaged ({error}); pack anew")


def _broken(file: str, line: int, content: bytes, problem: str) -> Record:
    return Record(f"{file}:{line}", file, line, content, problem=problem)


def _record(row: Mapping[str, Any], file: str, line: int, content: bytes) -> Record:
    """A record from named values; `document_id` goes before `id`."""
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
    return Record(value, file, line, content, row.get("title"), row.get("text"))


def _json_lines(stream: IO[bytes], file: str, max_bytes: int) -> Iterator[Record]:
    # JSON may spend six bytes on a character ("\u0001"): a longer line holds too large a text.
    limit = 6 * max_bytes + _PIECE
    line = 0
    while content := stream.readline(limit):
        line += 1
        if len(content) == limit and not content.endswith(b"\n"):
            size = len(content)
            while rest := stream.readline(_PIECE):
                size += len(rest)
                if rest.endswith(b"\n"):
                    break
            ends = b"%d\0" % size + content[:_PIECE]
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
    csv.field_size_limit(max(csv.field_size_limit(), max_bytes + _PIECE))
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
            yield _record(dict(zip(header, values, strict=True)), file, line, content)


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
        columns = [name for name in ("document_id", "id", "title", "text") if name in names]
        for batch in source.iter_batches(batch_size=64, columns=columns):
            for values in zip(*(_cells(batch[name]) for name in columns), strict=True):
                row += 1
                yield _record(
                    dict(zip(columns, values, strict=True)), file, row, repr(values).encode()
                )
    except (pa.ArrowException, OSError) as error:
        # Arrow reports damage as a plain OSError; its subclasses come from disk or network.
        if isinstance(error, OSError) and type(error) is not OSError:
            raise
        stream.seek(0)
        digest = hashlib.file_digest(stream, "blake2b").digest()  # type: ignore[arg-type]
        problem = f"not readable as Parquet ({str(error).splitlines()[0]}); write it anew"
        yield _broken(file, row and row + 1, digest, problem)


def _cells(column: pa.Array) -> list[Any]:
    """Python values; strings as bytes, because Arrow does not vouch for their UTF-8."""
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
        column = column.cast(pa.large_binary())
    return column.to_pylist()
