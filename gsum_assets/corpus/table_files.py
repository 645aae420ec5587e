"""Records of tables of documents: CSV, TSV, JSON Lines, JSON and `documents.parquet`.

A malformed row or a broken archive becomes a record with a `problem`.
"""

import gzip
import hashlib
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice
from pathlib import Path
from statistics import fmean
from typing import IO, Any

import pyarrow as pa
import pyarrow.parquet as pq

from gsum_assets.corpus.listing import open_regular, shown_name
from gsum_assets.corpus.records import (
    MOST_ID_CHARS,
    Columns,
    Record,
    broken_record,
    file_title,
    hashed_id,
    named_record,
    record_with_id,
    too_large,
)
from gsum_assets.corpus.table_rows import NoTableError, Row, table_rows
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
_TEXTS = ("text", "body", "content", "contents", "full_text", "article", "transcript")
_TITLES = ("title", "subject", "headline")
_IDS = ("document_id", "doc_id", "id")
_LONG = 50  # characters on average of a column that may be the text without such a name
_LONGEST_NAME = 60  # characters; a longer one is text, and the file has no header
_SHOWN = 12  # columns in a message


class UnclearColumnsError(Exception):
    """Error for a table without one column that must be the text; the message has the remedy."""


class NoTextColumnError(UnclearColumnsError):
    """Error for a table none of whose columns may be the text."""


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
    """Yield the records of a table; ids of the table alone follow `prefix`, the file's own id.

    A CSV none of whose columns may be the text, such as one of figures, is one record.
    """
    try:
        with open_regular(path) as raw:
            if file.endswith(".parquet"):
                yield from _parquet_rows(raw, file, wanted)
                return
            names, rows = table_rows(_unpacked(raw, file), table_suffix(file), max_bytes)
            if file in RECORD_FILES:
                yield from _named_table(names, rows, file, wanted)
            else:
                yield from _any_table(names, rows, file, wanted, prefix)
    except NoTextColumnError:
        with open_regular(path) as raw:
            content = _unpacked(raw, file).read(max_bytes + 1)
        size = len(content)
        problem = too_large(size, max_bytes) if size > max_bytes else None
        name = file_title(file.removesuffix(".gz"))
        yield Record(prefix, file, 0, content, problem=problem, converter=".csv", name=name)


def _unpacked(raw: IO[bytes], file: str) -> Any:
    return gzip.GzipFile(fileobj=raw) if file.lower().endswith(".gz") else raw


def _named_table(
    names: Collection[str] | None, rows: Iterable[Row], file: str, wanted: ColumnNames
) -> Iterator[Record]:
    """Yield the records of `documents.csv` and the like, which have an id in each row."""
    if names is not None and (problem := _missing_columns(names, wanted)):
        yield broken_record(file, 1, repr(names).encode(), problem)
        return
    for row in rows:
        if row.values is None:
            yield broken_record(file, row.line, row.content, row.problem or "")
        else:
            columns = _wanted_columns(row.values, wanted)
            yield named_record(row.values, file, row.line, row.content, columns)


def _any_table(
    names: Sequence[str] | None,
    rows: Iterator[Row],
    file: str,
    wanted: ColumnNames,
    prefix: str,
) -> Iterator[Record]:
    """Yield the records of a table of another name, whose columns are found by its first rows."""
    try:
        first = list(islice(rows, _FIRST_ROWS))
        valid = [row.values for row in first if row.values is not None]
        names = names or list(dict.fromkeys(name for row in valid for name in row))
        has_text = any(name in wanted.text or _key(name) in _TEXTS for name in names)
        if len(first) == len(valid) == 1 and file.lower().endswith(".json") and not has_text:
            raise NoTableError("JSON without an array of objects")
        columns = _choose_columns(names, valid, wanted) if names else Columns("")  # damaged rows
    except NoTableError as error:
        problem = f"{error}, so no table of documents; convert or move it"
        yield Record(f"{file}:0", file, 0, b"no table", problem=problem, is_other_type=True)
        return
    except UnclearColumnsError as error:
        if isinstance(error, NoTextColumnError) and ".js" not in file.lower():
            raise
        yield broken_record(file, 0, str(error).encode(), str(error))
        return
    used: Counter[str] = Counter()
    for row in chain(first, rows):
        if row.values is None:
            yield broken_record(file, row.line, row.content, row.problem or "")
            continue
        document_id = _row_id(row.values.get(columns.id), row.content, columns, prefix, used)
        location = f"{file}, row {row.number}"
        content = f"{location}\0{columns.text}\0{columns.title}\0".encode("utf-8", "surrogatepass")
        content += row.content
        yield record_with_id(document_id, row.values, file, row.line, content, columns, location)


def _row_id(
    given_id: Any, content: bytes, columns: Columns, prefix: str, used: Counter[str]
) -> str:
    """Return the id of a row: its own, or a hash of its content; `used` numbers equal rows."""
    is_id = isinstance(given_id, str | int) and not isinstance(given_id, bool)
    if is_id and str(given_id).strip():
        document_id = str(given_id) if columns.is_unique else f"{prefix}:{given_id}"
    else:
        digest = hashlib.blake2b(content, digest_size=6).hexdigest()
        used[digest] += 1
        document_id = f"{prefix}:{digest}" + (f"-{used[digest]}" if used[digest] > 1 else "")
    return document_id if len(document_id) <= MOST_ID_CHARS else hashed_id(document_id, document_id)


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


def _choose_columns(
    names: Sequence[str], rows: Sequence[Mapping[str, Any]], wanted: ColumnNames
) -> Columns:
    """Return the columns of a table of documents; those that `corpus.toml` names come first."""
    by_key = {_key(name): name for name in reversed(names)}
    title = next((by_key[key] for key in _TITLES if key in by_key), "")
    own_id = next((by_key[key] for key in _IDS if key in by_key), "")
    is_wanted = wanted.id in names
    return Columns(
        _text_column(names, rows, wanted),
        wanted.title if wanted.title in names else title,
        wanted.id if is_wanted else own_id,
        is_wanted or "document_id" in by_key,
    )


def _key(name: str) -> str:
    return name.strip().casefold()


def _text_column(names: Sequence[str], rows: Sequence[Mapping], wanted: ColumnNames) -> str:
    for name in wanted.text:
        if name in names:
            return name
    named = [name for name in names if _key(name) in _TEXTS]
    plain = [name for name in named if _key(name) == "text"]
    long = [name for name in names if _is_long([row.get(name) for row in rows])]
    for candidates in (plain, named, long):
        if len(candidates) == 1 and len(candidates[0]) <= _LONGEST_NAME:
            return candidates[0]
    candidates = named or long
    shown = ", ".join(shown_name(name[:_LONGEST_NAME]) for name in names[:_SHOWN])
    more = ", …" if len(names) > _SHOWN else ""
    reason = "several may be" if len(candidates) > 1 else "none is certainly"
    kind = UnclearColumnsError if candidates else NoTextColumnError
    example = shown_name((candidates or names)[0][:_LONGEST_NAME])
    raise kind(
        f"a table with the columns {shown}{more}, of which {reason} the text; name it in "
        f'[documents] of corpus.toml, as text_column = "{example}", or move the file'
    )


def _is_long(values: Sequence[Any]) -> bool:
    """Return whether a column holds long texts: no numbers, no addresses, no short values."""
    filled = [value for value in values if value not in (None, "")]
    if not filled or not all(isinstance(value, str) for value in filled):
        return False
    has_words = any(" " in value.strip() or not value.isascii() for value in filled)
    return has_words and fmean(len(value) for value in filled) >= _LONG


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
        further = [field.name for field in source.schema_arrow if _is_metadata(field.type)]
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


def _is_metadata(kind: pa.DataType) -> bool:
    """Return whether a column may hold metadata; bytes and vectors do not.

    Arrow 25 refuses a whole file for one null in a column of vectors.
    """
    is_list = pa.types.is_list(kind) or pa.types.is_large_list(kind)
    is_vector = is_list and pa.types.is_floating(kind.value_type)
    binary = (pa.binary(), pa.large_binary())
    return not (is_vector or pa.types.is_fixed_size_list(kind) or kind in binary)


def cells(column: pa.Array | pa.ChunkedArray) -> list[Any]:
    """Return Python values; strings as bytes, because Arrow does not guarantee their UTF-8."""
    kind = column.type
    if isinstance(kind, pa.UuidType):
        return [value and str(value) for value in column.to_pylist()]
    if _is_text(kind):
        column = column.cast(pa.large_binary())
    elif (pa.types.is_list(kind) or pa.types.is_large_list(kind)) and _is_text(kind.value_type):
        column = column.cast(pa.list_(pa.large_binary()))
    return column.to_pylist()


def _is_text(kind: pa.DataType) -> bool:
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    return pa.types.is_string(kind) or pa.types.is_large_string(kind)
