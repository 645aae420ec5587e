"""Records of tables of documents: CSV, TSV, JSON Lines, JSON and `documents.parquet`.

A malformed row or a broken archive becomes a record with a `problem`, so that the other records are
kept.
"""

import csv
import gzip
import hashlib
import zlib
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice
from pathlib import Path
from statistics import fmean
from typing import IO, Any

import pyarrow as pa
import pyarrow.parquet as pq

from gsum_assets.corpus.listing import open_regular
from gsum_assets.corpus.records import (
    MOST_ID_CHARS,
    Columns,
    Record,
    broken_record,
    further_values,
    hashed_id,
    id_problem,
    named_record,
)
from gsum_assets.corpus.table_rows import NoTableError, Row, csv_header, json_items, json_lines
from gsum_assets.pipeline.corpus_settings import FOUND, ColumnNames
from gsum_resources.settings.paths import RemoteFile

RECORD_FILES = (
    "documents.csv",
    "documents.csv.gz",
    "documents.jsonl",
    "documents.jsonl.gz",
    "documents.parquet",
)
"""Tables whose documents have ids that are unique in the corpus."""
TABLE_SUFFIXES = (".csv", ".csv.gz", ".tsv", ".jsonl", ".jsonl.gz", ".json")
"""Extensions of tables of documents, by any name."""
_QUESTIONS = ("queries", "questions")  # names of tables that hold no documents
_FIRST_ROWS = 100  # from which the columns of a table are derived
_BROKEN_ARCHIVE = (gzip.BadGzipFile, EOFError, zlib.error)


def table_suffix(file: str) -> str:
    """Return the extension of a table, "" for a file that is none."""
    name = file.lower()
    return next((suffix for suffix in TABLE_SUFFIXES if name.endswith(suffix)), "")


def is_table(file: str) -> bool:
    """Return whether a file, relative to the corpus folder, is read as a table of documents.

    Tables of questions are not, nor is what lies beside a given graph.
    """
    if file in RECORD_FILES:
        return True
    suffix = table_suffix(file)
    name = file[: -len(suffix)].rpartition("/")[2].lower() if suffix else ""
    return bool(suffix) and name not in _QUESTIONS and not file.startswith("graph/")


def records_of(
    path: Path | RemoteFile,
    file: str,
    max_bytes: int,
    wanted: ColumnNames = FOUND,
    prefix: str = "",
) -> Iterator[Record]:
    """Yield the records of a table of documents.

    Parameters
    ----------
    prefix : beginning of the ids of rows whose ids are of the table alone: the file's own id.
    """
    with open_regular(path) as raw:
        if file.endswith(".parquet"):
            yield from _parquet_rows(raw, file, wanted)
            return
        stream: Any = gzip.GzipFile(fileobj=raw) if file.lower().endswith(".gz") else raw
        if file in RECORD_FILES:
            yield from _named_table(stream, file, max_bytes, wanted)
        else:
            yield from _any_table(stream, file, max_bytes, wanted, prefix)


def _named_table(
    stream: IO[bytes], file: str, max_bytes: int, wanted: ColumnNames
) -> Iterator[Record]:
    """Yield the records of `documents.csv` and the like, which have an id in each row."""
    names, rows = _opened(stream, file, max_bytes)
    if names is not None and (problem := _missing_columns(names, wanted)):
        yield broken_record(file, 1, repr(names).encode(), problem)
        return
    for row in rows:
        if row.values is None:
            yield broken_record(file, row.line, row.content, row.problem or "")
        else:
            yield named_record(
                row.values, file, row.line, row.content, _wanted_columns(row.values, wanted)
            )


def _any_table(
    stream: IO[bytes], file: str, max_bytes: int, wanted: ColumnNames, prefix: str
) -> Iterator[Record]:
    """Yield the records of a table of another name, whose columns are found by its first rows."""
    names, rows = _opened(stream, file, max_bytes)
    try:
        first = list(islice(rows, _FIRST_ROWS))
        valid = [row.values for row in first if row.values is not None]
        names = names or list(dict.fromkeys(name for row in valid for name in row))
        if not names:  # nothing but damaged rows
            yield from (broken_record(file, r.line, r.content, r.problem or "") for r in first)
            return
        if len(first) == 1 and table_suffix(file) == ".json" and not has_text_column(names, wanted):
            raise NoTableError("JSON without an array of objects")
        columns = choose_columns(names, valid, wanted)
    except NoTableError as error:
        problem = f"{error}, so no table of documents; convert or move it"
        yield Record(f"{file}:0", file, 0, b"no table", problem=problem, is_other_type=True)
        return
    except UnclearColumnsError as error:
        yield broken_record(file, 0, str(error).encode(), str(error))
        return
    used: Counter[str] = Counter()
    for row in chain(first, rows):
        if row.values is None:
            yield broken_record(file, row.line, row.content, row.problem or "")
        else:
            yield _row_record(row, row.values, file, columns, prefix, used)


def _row_record(
    row: Row,
    values: Mapping[str, Any],
    file: str,
    columns: Columns,
    prefix: str,
    used: Counter[str],
) -> Record:
    """Return the record of a row; one without an id gets a hash of its content as id.

    Parameters
    ----------
    used : counts of the hashes so far, to number equal rows.
    """
    given_id = values.get(columns.id)
    has_id = (
        isinstance(given_id, str | int) and not isinstance(given_id, bool) and str(given_id).strip()
    )
    if has_id and columns.is_unique:
        document_id = str(given_id)
    elif has_id:
        document_id = f"{prefix}:{given_id}"
    else:
        digest = hashlib.blake2b(row.content, digest_size=6).hexdigest()
        used[digest] += 1
        document_id = f"{prefix}:{digest}" + (f"-{used[digest]}" if used[digest] > 1 else "")
    if len(document_id) > MOST_ID_CHARS:
        document_id = hashed_id(document_id, document_id)
    location = f"{file}, row {row.number}"
    content = f"{location}\0{columns.text}\0{columns.title}\0".encode("utf-8", "surrogatepass")
    content += row.content
    if problem := id_problem(document_id):
        return broken_record(file, row.line, content, problem)
    title, text = values.get(columns.title), values.get(columns.text)
    cites = values.get("cites")
    metadata = further_values(values, columns)
    return Record(
        document_id,
        file,
        row.line,
        content,
        title,
        text,
        cites,
        location=location,
        metadata=metadata,
    )


def _opened(stream: IO[bytes], file: str, max_bytes: int) -> tuple[list[str] | None, Iterator[Row]]:
    """Return the names of a header, None for JSON, and the rows; damage is a row of its own."""
    suffix = table_suffix(file)
    if suffix == ".json":
        return None, json_items(stream, max_bytes)
    if suffix.startswith(".jsonl"):
        return None, _until_damage(json_lines(stream, max_bytes))
    try:
        names, rows = csv_header(stream, max_bytes)
    except _BROKEN_ARCHIVE as error:
        return None, iter([_damage(error, 1)])
    except csv.Error as error:
        problem = f"line 1 is not CSV: {error}; correct its quotes"
        return None, iter([Row(1, 1, problem.encode(), problem=problem)])
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
    problem = f"the gzip archive is damaged ({error}); compress it again"
    return Row(line, line, b"", problem=problem)


def _wanted_columns(names: Collection[str], wanted: ColumnNames) -> Columns:
    """Return the columns of a table with ids, by their usual names if `wanted` ones are missing."""
    text = next((name for name in wanted.text if name in names), "text")
    title = wanted.title if wanted.title in names else "title"
    return Columns(text, title, wanted.id if wanted.id in names else "id")


def _missing_columns(names: Collection[str], wanted: ColumnNames) -> str | None:
    columns = _wanted_columns(names, wanted)
    if columns.text in names and ("document_id" in names or columns.id in names):
        return None
    return f"needs the columns document_id (or id) and text, has {sorted(names)}; rename them"


def _parquet_rows(stream: IO[bytes], file: str, wanted: ColumnNames) -> Iterator[Record]:
    row = 0
    try:
        source = pq.ParquetFile(stream)
        names = source.schema_arrow.names
        if problem := _missing_columns(names, wanted):
            yield broken_record(file, 0, repr(names).encode(), problem)
            return
        own_columns = _wanted_columns(names, wanted)
        used = ("document_id", own_columns.id, own_columns.title, own_columns.text, "cites")
        further = [field.name for field in source.schema_arrow if not _is_binary(field.type)]
        columns = [name for name in dict.fromkeys((*used, *further)) if name in names]
        for batch in source.iter_batches(batch_size=64, columns=columns):
            for values in zip(*(cells(batch[name]) for name in columns), strict=True):
                row += 1
                named = dict(zip(columns, values, strict=True))
                yield named_record(named, file, row, repr(values).encode(), own_columns)
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        # Arrow reports damage as a plain OSError; its subclasses come from disk or network.
        if isinstance(error, OSError) and type(error) is not OSError:
            raise
        stream.seek(0)
        digest = hashlib.file_digest(stream, "blake2b").digest()  # type: ignore[arg-type]
        problem = f"not readable as Parquet ({str(error).splitlines()[0]}); write it again"
        yield broken_record(file, row and row + 1, digest, problem)


def cells(column: pa.Array | pa.ChunkedArray) -> list[Any]:
    """Return Python values; strings as bytes, because Arrow does not guarantee their UTF-8."""
    kind = column.type
    if _is_text(kind):
        column = column.cast(pa.large_binary())
    elif (pa.types.is_list(kind) or pa.types.is_large_list(kind)) and _is_text(kind.value_type):
        column = column.cast(pa.list_(pa.large_binary()))
    return column.to_pylist()


def _is_binary(kind: pa.DataType) -> bool:
    return pa.types.is_binary(kind) or pa.types.is_large_binary(kind)


def _is_text(kind: pa.DataType) -> bool:
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    return pa.types.is_string(kind) or pa.types.is_large_string(kind)


_TEXTS = ("text", "body", "content", "contents", "full_text", "article", "transcript")
_TITLES = ("title", "subject", "headline")
_IDS = ("document_id", "doc_id", "id")
_LONG = 50  # characters on average of a column that may be the text without such a name
_LONGEST_NAME = 60  # characters; a longer one is text, and the file has no header
_SHOWN = 12


class UnclearColumnsError(Exception):
    """Error for a table without one column that must be the text; the message has the remedy."""


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
