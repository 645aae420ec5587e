"""A language model with a ledger: no call is paid for twice, every call is on record.

A reply and its row of the ledger are one transaction of the state database (`state.py`), which
has ended before the caller learns of the reply. Of a killed run, only the calls in flight are
lost. The table `llm_calls` is written from the database at the end of each batch of requests.
"""

import io
import queue
import threading
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from contextvars import copy_context
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq
import sqlalchemy as sa

from gsum_resources.appended import path_of
from gsum_resources.llm.render import prompt_hash
from gsum_resources.llm.stored_reply import (
    decode,
    decode_failure,
    storable,
    storable_failure,
)
from gsum_resources.llm.structure import READING_VERSION
from gsum_resources.llm.tokens import Window
from gsum_resources.parquet_store import ParquetStore
from gsum_resources.protocols import (
    Completion,
    CompletionError,
    LanguageModel,
    OnReply,
    Repeating,
    Reply,
    Request,
)
from gsum_resources.state import (
    CALLS,
    EXPORTS,
    REPLIES,
    batches_of,
    insert_new,
    reply_row,
    state_of,
)
from gsum_resources.table import Table

_COMPLETIONS, _FAILURES = "completions", "failures"  # kinds of replies
_ROWS_AT_ONCE = 20_000
OnProgress = Callable[[int, int, str], None]
"""Called with done, total, and what else is known."""


@dataclass(frozen=True)
class Ledger:
    """Where calls are entered: the table `llm_calls` of one corpus, on behalf of one asset.

    `run_id` is that of the run that asks, "" outside of one.
    """

    store: ParquetStore
    table: Table
    corpus: str
    asset: str
    run_id: str = ""

    def row(self, key: bytes, request: Request, reply: Reply) -> dict:
        """Return what is on record of one call of a model, which has just ended."""
        error = reply.message if isinstance(reply, CompletionError) else None
        return {
            "corpus": self.corpus,
            "asset": self.asset,
            "document_id": request.document_id,
            "model": reply.model,
            "prompt_hash": key.hex(),
            "tokens_in": reply.tokens_in,
            "tokens_out": reply.tokens_out,
            "latency_s": reply.latency_s,
            "calls": reply.calls,
            "retries": reply.retries,
            "structured": request.schema is not None,
            "left_out": getattr(reply, "left_out", 0),
            "cached": False,
            "cost_usd": reply.cost_usd,
            "error": error and error.replace("\0", "\ufffd"),  # no text to PostgreSQL
            "run_id": self.run_id,
            "time": time.time_ns() // 1000,
        }

    def cached_row(self, key: bytes, request: Request, reply: Reply) -> dict:
        """Return what is on record of a request that no model was asked."""
        free = {"latency_s": 0.0, "cached": True, "cost_usd": 0.0}
        return self.row(key, request, reply) | free

    def enter(self, rows: Sequence[dict], replies: Sequence[dict] = ()) -> None:
        """Put rows on record, with the rows of `REPLIES` that calls brought, in one step."""
        with state_of(self.store).writing() as connection:
            insert_new(connection, REPLIES, replies)
            connection.execute(sa.insert(CALLS), rows)


class LedgeredModel:
    """Wraps a language model: answers from the memo where it can, and enters every request.

    A failed or invalid reply is entered, and not memoized unless it is certain that the model
    would fail again: then it is asked again only after its identity or the reading of replies has
    changed.

    Parameters
    ----------
    on_progress : called with how many requests are answered, of how many, and what these took:
        tokens a second, and the cost so far.
    on_failure : hears the `document_id` of each request that got no valid reply.
    window : gives what the model takes at once; a request that exceeds it is not sent.
    """

    def __init__(
        self,
        model: LanguageModel,
        store: ParquetStore,
        ledger: Ledger,
        on_progress: OnProgress | None = None,
        on_failure: Callable[[str], None] | None = None,
        window: Callable[[], Window] | None = None,
    ) -> None:
        self._model = model
        self._find_window = window
        self._store = store
        self._failure_scope = ""
        if isinstance(model, Repeating):
            scope = f"reading={READING_VERSION}/{model.failure_scope}"
            self._failure_scope = f"{model.identity}/{scope}"
        self._ledger = ledger
        self._on_progress = on_progress or (lambda done, total, detail: None)
        self._on_failure = on_failure or (lambda document_id: None)

    @property
    def identity(self) -> str:
        """That of the model within."""
        return self._model.identity

    @cached_property
    def window(self) -> Window | None:
        """What the model takes at once; None where nobody knows."""
        return self._find_window() if self._find_window else None

    def complete(self, requests: Sequence[Request], on_reply: OnReply | None = None) -> list[Reply]:
        """One result or one error for each request, in order; equal requests are asked once.

        Raises
        ------
        ModelUnavailableError
            If asking on is of no use. What was answered is kept.
        """
        if not requests:
            return []
        keys = [bytes.fromhex(prompt_hash(self.identity, request)) for request in requests]
        places: dict[bytes, list[int]] = {}
        for place, key in enumerate(keys):
            places.setdefault(key, []).append(place)
        tell = self._teller(places, len(requests), on_reply)
        record = _Record(self._ledger, self.identity, self._failure_scope, requests, places, tell)
        record.recall(*self.known(list(places)))
        try:
            if missing := self._fitting(record, record.missing(), requests, places):
                first = [requests[places[key][0]] for key in missing]
                asked = self._model.complete(first, lambda i, r: record.hear(missing[i], r))
                for key, reply in zip(missing, asked, strict=True):
                    if key not in record.heard:  # from a model that tells nothing on the way
                        record.hear(key, reply)
        finally:
            record.close()
        for key, request in zip(keys, requests, strict=True):
            if isinstance(record.replies[key], CompletionError):
                self._on_failure(request.document_id)
        return [record.replies[key] for key in keys]

    def known(self, keys: Collection[bytes]) -> tuple[dict[bytes, bytes], dict[bytes, bytes]]:
        """Return the completions and the failures that are known, by key."""
        state = state_of(self._store)
        replies = state.replies(_COMPLETIONS, self.identity, keys)
        if not self._failure_scope:
            return replies, {}
        left = [key for key in keys if key not in replies]
        return replies, state.replies(_FAILURES, self._failure_scope, left)

    def _fitting(
        self,
        record: "_Record",
        missing: Sequence[bytes],
        requests: Sequence[Request],
        places: Mapping[bytes, Sequence[int]],
    ) -> list[bytes]:
        """The keys of requests that the model has room for; the others are errors at once."""
        window = self.window if missing else None
        if window is None or window.context is None:
            return list(missing)
        kept = []
        for key in missing:
            request = requests[places[key][0]]
            if excess := window.excess(request):
                where = f"the {request.task} request for document '{request.document_id}'"
                message = f"{window.model}: {where} is not sent: {excess}"
                record.hear(key, CompletionError(message, window.model, calls=0))
            else:
                kept.append(key)
        return kept

    def _teller(
        self, places: Mapping[bytes, Sequence[int]], total: int, on_reply: OnReply | None
    ) -> Callable[[bytes, Reply], None]:
        """Tells the reply to a key for each place that wants it, and how many are done."""
        context = copy_context()  # where progress is shown is not known to a model's own threads
        done, pace = 0, _Pace()

        def tell(key: bytes, reply: Reply) -> None:
            nonlocal done
            if on_reply:
                for place in places[key]:
                    on_reply(place, reply)
            done += len(places[key])
            context.run(self._on_progress, done, total, pace.after(reply))

        return tell


class _Pace:
    """What a model took for the replies that were not remembered."""

    def __init__(self) -> None:
        self._began = time.monotonic()
        self._tokens_out, self._usd = 0, 0.0

    def after(self, reply: Reply) -> str:
        """Words on all replies up to this one: `85 tokens a second, $0.12 so far`."""
        if not (isinstance(reply, Completion) and reply.cached):
            self._tokens_out += reply.tokens_out
            self._usd += reply.cost_usd
        seconds = max(time.monotonic() - self._began, 1e-3)
        words = [f"{self._tokens_out / seconds:,.0f} tokens a second"] if self._tokens_out else []
        return ", ".join([*words, f"${self._usd:,.2f} so far"] if self._usd else words)


class _Arrived(NamedTuple):
    """A reply of a model with its rows of the ledger and of `REPLIES`."""

    key: bytes
    reply: Reply
    row: dict
    stored: dict | None


class _Record:
    """What is known of the requests of one `complete`, stored as it comes.

    A thread of its own stores replies: those that arrive while it waits for the disk are the next
    transaction.

    Parameters
    ----------
    identity : of the model.
    failure_scope : of a model that would fail again; "": of another one.
    places : where each key stands among the requests.
    tell : hears of every key and reply, one at a time.
    """

    def __init__(
        self,
        ledger: Ledger,
        identity: str,
        failure_scope: str,
        requests: Sequence[Request],
        places: Mapping[bytes, Sequence[int]],
        tell: Callable[[bytes, Reply], None],
    ) -> None:
        self._ledger, self._identity, self._failure_scope = ledger, identity, failure_scope
        self._requests, self._places, self._tell = requests, places, tell
        self.replies: dict[bytes, Reply] = {}
        self.heard: set[bytes] = set()
        self._arrived: queue.SimpleQueue[_Arrived | None] = queue.SimpleQueue()
        self._writer = threading.Thread(target=self._store, name="replies", daemon=True)
        self._error: Exception | None = None
        self._lock = threading.Lock()

    def recall(self, known: Mapping[bytes, bytes], failed: Mapping[bytes, bytes]) -> None:
        """Take stored completions and failures."""
        for key, value in known.items():
            schema = self._requests[self._places[key][0]].schema
            self.replies[key] = decode(value, schema, cached=True)
            self._tell(key, self.replies[key])
        for key, value in failed.items():
            self.replies[key] = decode_failure(value)
            self._tell(key, self.replies[key])

    def missing(self) -> list[bytes]:
        """Return the keys without a reply."""
        return [key for key in self._places if key not in self.replies]

    def hear(self, key: bytes, reply: Reply) -> None:
        """Have a model's reply stored, which is then told. Called from any thread."""
        if self._error:
            raise self._error
        reply, value = storable(reply)
        stored = None
        if value is not None:
            stored = reply_row(_COMPLETIONS, self._identity, key, value)
        elif isinstance(reply, CompletionError) and reply.repeats and self._failure_scope:
            stored = reply_row(_FAILURES, self._failure_scope, key, storable_failure(reply))
        row = self._ledger.row(key, self._requests[self._places[key][0]], reply)
        with self._lock:
            if not self.heard:
                self._writer.start()
            self.heard.add(key)
        self._arrived.put(_Arrived(key, reply, row, stored))

    def _store(self) -> None:
        """Store what has arrived, and tell of it, until the end is there."""
        try:
            ended = False
            while not ended:
                group = [self._arrived.get()]
                while not self._arrived.empty():
                    group.append(self._arrived.get())
                ended = None in group
                if arrived := list(filter(None, group)):
                    stored = [one.stored for one in arrived if one.stored]
                    self._ledger.enter([one.row for one in arrived], stored)
                for one in arrived:
                    self.replies[one.key] = one.reply
                    self._tell(one.key, one.reply)
        except Exception as error:  # for the model's thread, and the end
            self._error = error

    def close(self) -> None:
        """Wait until everything is stored.

        Raises
        ------
        Exception
            What kept a reply from being stored or told.
        """
        if self.heard:
            self._arrived.put(None)
            self._writer.join()
        self._enter_known()
        if self._error:
            raise self._error

    def _enter_known(self) -> None:
        """Enter the requests that no model was asked, and write all to the table of calls."""
        cached = [
            self._ledger.cached_row(key, self._requests[place], reply)
            for key, reply in self.replies.items()
            if isinstance(reply, Completion) or key not in self.heard
            for place in self._places[key][1 if key in self.heard else 0 :]
        ]
        if cached:
            self._ledger.enter(cached)
        if cached or self.heard:
            export_calls(self._ledger.store, self._ledger.table, self._ledger.corpus)


def export_calls(store: ParquetStore, table: Table, corpus: str | None = None) -> None:
    """Write calls that are not in the table's files yet as one more file of each corpus.

    A file is named by its first call, so that what was killed half-way is done again under the
    same name. A corpus of which nothing counts as written (it was taken over from an older gsum,
    or something was forgotten) gets one file in place of all that it has.

    Parameters
    ----------
    table : the ledger's, `llm_calls`.
    corpus : None: every one.
    """
    last_of = sa.select(CALLS.c.corpus, sa.func.max(CALLS.c.id)).group_by(CALLS.c.corpus)
    if corpus is not None:
        last_of = last_of.where(CALLS.c.corpus == corpus)
    with state_of(store).writing(alone=CALLS) as connection:
        done = {row.corpus: row.last_id for row in connection.execute(sa.select(EXPORTS))}
        for one, last in connection.execute(last_of).all():
            if last <= done.get(one, 0):
                continue
            path = path_of(store, table, one, f"{done.get(one, 0) + 1:012}")
            _write_calls(connection, store, table, path, one, done.get(one, 0))
            if one not in done:
                for other in set(store.fs.glob(path_of(store, table, one, "*"))) - {path}:
                    with suppress(FileNotFoundError):
                        store.fs.rm_file(other)
            connection.execute(sa.delete(EXPORTS).where(EXPORTS.c.corpus == one))
            connection.execute(sa.insert(EXPORTS).values(corpus=one, last_id=last))


def _write_calls(
    connection: sa.Connection,
    store: ParquetStore,
    table: Table,
    path: str,
    corpus: str,
    after: int,
) -> None:
    """Write the calls of a corpus after one as a file."""
    columns = [CALLS.c[name] for name in table.schema.names]
    query = sa.select(*columns).where(CALLS.c.corpus == corpus, CALLS.c.id > after)
    rows = connection.execute(query.order_by(CALLS.c.id)).mappings()
    # calls of an older gsum lack the columns that were added since
    schema = pa.schema([field.with_nullable(True) for field in table.schema])
    buffer = io.BytesIO()
    with pq.ParquetWriter(buffer, schema, compression="zstd") as writer:
        while some := rows.fetchmany(_ROWS_AT_ONCE):
            writer.write_table(pa.Table.from_pylist([dict(row) for row in some], schema))
    store.replace_file(path, buffer.getbuffer())


def forget_replies(connection: sa.Connection, prompt_hashes: Iterable[str]) -> int:
    """Remove replies, and return how many there were."""
    keys = (bytes.fromhex(digest) for digest in prompt_hashes)
    return sum(
        connection.execute(sa.delete(REPLIES).where(REPLIES.c.key.in_(some))).rowcount
        for some in batches_of(keys)
    )
