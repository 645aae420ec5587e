"""Import of files of an older gsum: replies, calls, requests, deleted documents.

Each file is imported in one transaction that also records its path, then removed, so that an
interrupted import continues where it stopped. Files of the ledger stay until `export_calls`
replaces them.
"""

import json
import logging
import struct
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import PurePosixPath

import pyarrow.parquet as pq
import sqlalchemy as sa

from gsum_resources.state.database import (
    CALLS,
    REPLIES,
    REQUESTS,
    TAKEN_OVER,
    State,
    insert_new,
    note_documents,
)
from gsum_resources.store.memo import read_segment, shard_segments
from gsum_resources.store.parquet_store import ParquetStore

_LOG = logging.getLogger(__name__)
_OLD = ("_memo/completions", "_memo/failures", "_asked", "_departed", "_limits")
_SEARCHED = "*"  # recorded as a path once an object store was searched
_HEAD = struct.Struct("<II")  # header of a journal's record: length and CRC-32 of the body
_BODY = struct.Struct("<16si")  # key, length of the value; -1: no value
_CALLS = set(CALLS.c.keys()) - {"id", "corpus"}
Taken = Counter[str]
"""Number of imported rows by kind."""


def take_over(store: ParquetStore, state: State) -> None:
    """Import the files of an older gsum, if there are any, and log the numbers.

    In an object store they are searched once, since every search is a request.
    """
    old = [f"{store.root}/{name}" for name in _OLD]
    if not store.lists_at_once:
        if any(map(store.fs.exists, old)):
            _import_files(store, state, old)
        return
    with state.reading() as connection:
        query = sa.select(TAKEN_OVER.c.path).where(TAKEN_OVER.c.path == _SEARCHED)
        if connection.execute(query).first():
            return
    if any(map(store.fs.exists, old)):
        _import_files(store, state, old)
    with state.writing() as connection:
        insert_new(connection, TAKEN_OVER, [{"path": _SEARCHED}])


def _import_files(store: ParquetStore, state: State, old: Sequence[str]) -> None:
    """Import the files of an older gsum, and remove them with the folders `old`."""
    taken: Taken = Counter()
    kinds: tuple[tuple[str, Callable[..., Taken]], ...] = (
        ("llm_calls/corpus=*/*.parquet", _take_calls),
        ("_memo/completions/*/*.journal", _take_journal),
        ("_memo/completions/*/*.parquet", _take_replies),
        ("_memo/failures/*/*.parquet", _take_replies),
        ("_asked/*.json", _take_requests),
        ("_asked/*/*.json", _take_requests),
        ("_departed/*.json", _take_documents),
    )
    for pattern, take in kinds:
        for path in sorted(store.fs.glob(f"{store.root}/{pattern}")):
            with suppress(FileNotFoundError), state.writing(alone=TAKEN_OVER) as connection:
                name = path[len(store.root) :]
                if insert_new(connection, TAKEN_OVER, [{"path": name}]):
                    taken += take(store, connection, path)
    for folder in store.fs.glob(f"{store.root}/_memo/*/*"):
        shard_segments(store, folder)
    for folder in old:
        with suppress(FileNotFoundError):
            store.fs.rm(folder, recursive=True)
    found = ", ".join(f"{n:,} {what}" for what, n in sorted(taken.items())) or "nothing"
    _LOG.warning("imported from an older gsum, so that no reply is paid for again: %s", found)


def _take_replies(store: ParquetStore, connection: sa.Connection, path: str) -> Taken:
    return _keep_replies(connection, path, read_segment(store, path))


def _keep_replies(connection: sa.Connection, path: str, values: dict[bytes, bytes]) -> Taken:
    kind, model = PurePosixPath(path).parts[-3:-1]
    rows = [{"kind": kind, "model": model, "key": k, "value": v} for k, v in values.items()]
    return Counter({"replies": insert_new(connection, REPLIES, rows)})


def _take_calls(store: ParquetStore, connection: sa.Connection, path: str) -> Taken:
    if PurePosixPath(path).stem.isdecimal():  # current format: written by `export_calls`
        return Counter()
    with store.open_file(path) as source:
        table = pq.read_table(source)
    time = table.column_names.index("time")
    table = table.set_column(time, "time", table["time"].cast("int64"))
    corpus = PurePosixPath(path).parent.name.partition("=")[2]
    return _keep_calls(connection, [row | {"corpus": corpus} for row in table.to_pylist()])


def _keep_calls(connection: sa.Connection, calls: list[dict]) -> Taken:
    rows = [{"corpus": c["corpus"]} | {name: c.get(name) for name in _CALLS} for c in calls]
    if rows:
        connection.execute(sa.insert(CALLS), rows)
    return Counter({"calls": len(rows)})


def _take_journal(store: ParquetStore, connection: sa.Connection, path: str) -> Taken:
    """Import the replies of a killed run; some of its calls may be in the ledger already."""
    values, calls = {}, []
    for key, value, note in _entries(store.fs.cat_file(path)):
        if value is not None:
            values[key] = value
        call = json.loads(note)
        same = [CALLS.c[name] == call[name] for name in ("corpus", "prompt_hash", "time")]
        if connection.execute(sa.select(CALLS.c.id).where(*same)).first() is None:
            calls.append(call)
    return _keep_replies(connection, path, values) + _keep_calls(connection, calls)


def _entries(content: bytes) -> Iterator[tuple[bytes, bytes | None, bytes]]:
    """Yield key, value and note of each record, up to an incomplete one."""
    at = 0
    while at + _HEAD.size <= len(content):
        length, checksum = _HEAD.unpack_from(content, at)
        body = content[at + _HEAD.size : at + _HEAD.size + length]
        if len(body) < length or length < _BODY.size or zlib.crc32(body) != checksum:
            return
        key, n_value = _BODY.unpack_from(body)
        value_end = _BODY.size + max(n_value, 0)
        yield key, None if n_value < 0 else body[_BODY.size : value_end], body[value_end:]
        at += _HEAD.size + length


def _take_requests(store: ParquetStore, connection: sa.Connection, path: str) -> Taken:
    folder, name = PurePosixPath(path).parts[-2:]
    corpus = name.removesuffix(".json") if folder == "_asked" else folder
    variants = json.loads(store.fs.cat_file(path))
    rows = [{"corpus": corpus, "variant": variant} for variant in ("", *variants)]
    insert_new(connection, REQUESTS, rows)
    return Counter({"requests": len(variants)})


def _take_documents(store: ParquetStore, connection: sa.Connection, path: str) -> Taken:
    seen = json.loads(store.fs.cat_file(path))
    corpus = PurePosixPath(path).name.removesuffix(".json")
    note_documents(connection, corpus, seen["version"], seen["documents"], seen["gone"])
    return Counter({"deleted documents": len(seen["gone"])})
