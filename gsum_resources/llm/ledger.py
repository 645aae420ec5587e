"""The ledger: a record of every request to a language model, with its tokens, time and price.

A reply and its row are written in one transaction of the state database (`state.py`). The table
`llm_calls` is written from the database at the end of each batch of requests.
"""

import io
import logging
import time
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.parquet as pq
import sqlalchemy as sa
from sqlalchemy.exc import OperationalError

from gsum_resources.protocols.models import CompletionError, Reply, Request
from gsum_resources.state.database import (
    CALLS,
    EXPORTS,
    REPLIES,
    batches_of,
    insert_new,
    state_of,
    unwritable,
)
from gsum_resources.store.appended import path_of, paths_of
from gsum_resources.store.parquet_store import ParquetStore
from gsum_resources.store.table import Table

_ROWS_AT_ONCE = 20_000
_LOG = logging.getLogger(__name__)


@dataclass(frozen=True)
class Ledger:
    """Records the calls of one asset for one corpus; `run_id` is "" outside of a run."""

    store: ParquetStore
    table: Table
    corpus: str
    asset: str
    run_id: str = ""

    def row(self, key: bytes, request: Request, reply: Reply, cached: bool = False) -> dict:
        """Return the row of a call that has just ended; `cached`: the reply is from the memo."""
        error = reply.message if isinstance(reply, CompletionError) else None
        return {
            "corpus": self.corpus,
            "asset": self.asset,
            "document_id": request.document_id,
            "model": reply.model,
            "prompt_hash": key.hex(),
            "tokens_in": reply.tokens_in,
            "tokens_out": reply.tokens_out,
            "latency_s": 0.0 if cached else reply.latency_s,
            "calls": reply.calls,
            "retries": reply.retries,
            "structured": request.schema is not None,
            "left_out": getattr(reply, "left_out", 0),
            "cached": cached,
            "cost_usd": 0.0 if cached else reply.cost_usd,
            "error": error and error.replace("\0", "\ufffd"),  # PostgreSQL rejects it in texts
            "run_id": self.run_id,
            "time": time.time_ns() // 1000,
        }

    def enter(self, rows: Sequence[dict], replies: Sequence[dict] = ()) -> None:
        """Insert rows, and the rows of `REPLIES` of these calls, in one transaction."""

        def insert(connection: sa.Connection, is_repeated: bool) -> None:
            new = [row for row in rows if not (is_repeated and _is_entered(connection, row))]
            insert_new(connection, REPLIES, replies)
            if new:
                connection.execute(sa.insert(CALLS), new)

        try:
            state_of(self.store).repeat(insert)
        except OperationalError as error:
            if self.run_id or not unwritable(error):
                raise
            _LOG.warning("this answer is not in the log of calls: %s", unwritable(error))


def _is_entered(connection: sa.Connection, row: dict) -> bool:
    same = [CALLS.c[name] == row[name] for name in ("corpus", "prompt_hash", "time")]
    return connection.execute(sa.select(CALLS.c.id).where(*same)).first() is not None


@dataclass(frozen=True)
class Spent:
    """What the calls of a corpus have cost."""

    calls: int
    cost_usd: float


def spent(store: ParquetStore, corpus: str) -> Spent:
    """Return what all calls of a corpus have cost."""
    sums = sa.func.sum(CALLS.c.calls), sa.func.sum(CALLS.c.cost_usd)
    with state_of(store).reading() as connection:
        calls, usd = connection.execute(sa.select(*sums).where(CALLS.c.corpus == corpus)).one()
    return Spent(int(calls or 0), usd or 0.0)


def export_calls(store: ParquetStore, table: Table, corpus: str | None = None) -> None:
    """Write calls that are not in the table's files yet as a new file of each corpus, or of one.

    A file is named by its first call, so that an interrupted export is repeated under the same
    name. A corpus without a recorded export (documents were forgotten) gets one file that replaces
    all others.
    """
    last_of = sa.select(CALLS.c.corpus, sa.func.max(CALLS.c.id)).group_by(CALLS.c.corpus)
    if corpus is not None:
        last_of = last_of.where(CALLS.c.corpus == corpus)
    with state_of(store).writing(alone=CALLS) as connection:
        done = {row.corpus: row.last_id for row in connection.execute(sa.select(EXPORTS))}
        for name, last in connection.execute(last_of).all():
            if last <= done.get(name, 0):
                continue
            path = path_of(store, table, name, f"{done.get(name, 0) + 1:012}")
            _write_calls(connection, store, table, path, name, done.get(name, 0))
            if name not in done:
                for old_path in set(paths_of(store, table, name)) - {path}:
                    with suppress(FileNotFoundError):
                        store.fs.rm_file(old_path)
            connection.execute(sa.delete(EXPORTS).where(EXPORTS.c.corpus == name))
            connection.execute(sa.insert(EXPORTS).values(corpus=name, last_id=last))


def _write_calls(
    connection: sa.Connection, store: ParquetStore, table: Table, path: str, corpus: str, after: int
) -> None:
    columns = [CALLS.c[name] for name in table.schema.names]
    query = sa.select(*columns).where(CALLS.c.corpus == corpus, CALLS.c.id > after)
    rows = connection.execute(query.order_by(CALLS.c.id)).mappings()
    buffer = io.BytesIO()
    with pq.ParquetWriter(buffer, table.schema, compression="zstd") as writer:
        while batch := rows.fetchmany(_ROWS_AT_ONCE):
            writer.write_table(pa.Table.from_pylist([dict(row) for row in batch], table.schema))
    store.replace_file(path, buffer.getbuffer())


def forget_replies(connection: sa.Connection, prompt_hashes: Iterable[str]) -> int:
    """Delete replies, and return their number."""
    keys = (bytes.fromhex(digest) for digest in prompt_hashes)
    return sum(
        connection.execute(sa.delete(REPLIES).where(REPLIES.c.key.in_(batch))).rowcount
        for batch in batches_of(keys)
    )
