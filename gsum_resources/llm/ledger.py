"""A language model with a memo and a ledger: no call is paid for twice, every call is on record.

Each reply is durable as soon as it is there, memo entry and ledger row as one record of a journal
(`journal.py`), which the end of the call folds into a segment of the memo and a file of the
ledger. Of a killed run, only the calls in flight are lost.
"""

import json
import threading
import time
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextvars import copy_context
from dataclasses import dataclass
from functools import cached_property

import pyarrow as pa
import pyarrow.parquet as pq

from gsum_resources.appended import append_rows, path_of, write_rows
from gsum_resources.arrow import pc
from gsum_resources.journal import Entry, Journal, orphans
from gsum_resources.llm.render import prompt_hash
from gsum_resources.llm.stored_reply import (
    decode,
    decode_failure,
    storable,
    storable_failure,
)
from gsum_resources.llm.structure import READING_VERSION
from gsum_resources.llm.tokens import Window
from gsum_resources.memo import Memo, fold_values, forget_values
from gsum_resources.parquet_store import ParquetStore, conform
from gsum_resources.protocols import (
    Completion,
    CompletionError,
    LanguageModel,
    OnReply,
    Repeating,
    Reply,
    Request,
)
from gsum_resources.table import Table

_MEMO, _FAILURES = "completions", "failures"
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
        """What is on record of one call of a model, which has just ended."""
        return {
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
            "error": reply.message if isinstance(reply, CompletionError) else None,
            "run_id": self.run_id,
            "time": time.time_ns() // 1000,
        }

    def cached(self, answered: Sequence[tuple[bytes, Request, Reply]]) -> pa.Table:
        """What is on record of requests that no model was asked, column by column."""
        n = len(answered)
        columns = {
            "asset": [self.asset] * n,
            "document_id": [request.document_id for _, request, _ in answered],
            "model": [reply.model for *_, reply in answered],
            "prompt_hash": [key.hex() for key, *_ in answered],
            "tokens_in": [reply.tokens_in for *_, reply in answered],
            "tokens_out": [reply.tokens_out for *_, reply in answered],
            "latency_s": [0.0] * n,
            "calls": [reply.calls for *_, reply in answered],
            "retries": [reply.retries for *_, reply in answered],
            "structured": [request.schema is not None for _, request, _ in answered],
            "left_out": [getattr(reply, "left_out", 0) for *_, reply in answered],
            "cached": [True] * n,
            "cost_usd": [0.0] * n,
            "error": [getattr(reply, "message", None) for *_, reply in answered],
            "run_id": [self.run_id] * n,
            "time": [time.time_ns() // 1000] * n,
        }
        return pa.Table.from_pydict(columns, self.table.schema)

    def enter(self, name: str, rows: Sequence[dict], cached: pa.Table) -> None:
        """Put rows into the partition as one more file, in one step."""
        called = pa.Table.from_pylist(list(rows), self.table.schema)
        every = conform(self.table, pa.concat_tables([called, cached]), self.asset)
        append_rows(self.store, self.table, self.corpus, name, every)


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
        self._memo = Memo(store, _MEMO, model.identity)
        self._failures: Memo | None = None
        if isinstance(model, Repeating):
            scope = f"{model.identity}/reading={READING_VERSION}/{model.failure_scope}"
            self._failures = Memo(store, _FAILURES, scope)
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
        fold_orphans(self._ledger.store, self._ledger.table)
        keys = [bytes.fromhex(prompt_hash(self.identity, request)) for request in requests]
        places: dict[bytes, list[int]] = {}
        for place, key in enumerate(keys):
            places.setdefault(key, []).append(place)
        tell = self._teller(places, len(requests), on_reply)
        record = _Record(self._memo, self._failures, self._ledger, requests, places, tell)
        try:
            if missing := self._fitting(record, record.recall(), requests, places):
                first = [requests[places[key][0]] for key in missing]
                asked = self._model.complete(first, lambda i, r: record.hear(missing[i], r))
                for key, reply in zip(missing, asked, strict=True):
                    if key not in record.replies:  # from a model that tells nothing on the way
                        record.hear(key, reply)
        finally:
            record.fold()
        for key, request in zip(keys, requests, strict=True):
            if isinstance(record.replies[key], CompletionError):
                self._on_failure(request.document_id)
        return [record.replies[key] for key in keys]

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


class _Record:
    """What is known of the requests of one `complete`, kept as it comes.

    Parameters
    ----------
    failures : those of a model that would fail again; None: of another model.
    places : where each key stands among the requests.
    tell : hears of every key and reply, one at a time.
    """

    def __init__(
        self,
        memo: Memo,
        failures: Memo | None,
        ledger: Ledger,
        requests: Sequence[Request],
        places: Mapping[bytes, Sequence[int]],
        tell: Callable[[bytes, Reply], None],
    ) -> None:
        self._memo, self._failures, self._ledger = memo, failures, ledger
        self._requests, self._places, self._tell = requests, places, tell
        self.replies: dict[bytes, Reply] = {}
        self._values: dict[bytes, bytes] = {}
        self._failed: dict[bytes, bytes] = {}
        self._rows: list[dict] = []
        self._journal: Journal | None = None
        self._lock = threading.Lock()

    def recall(self) -> list[bytes]:
        """Take from the memo what it has, and return the keys of the rest."""
        known = self._memo.get(self._places)
        for key, value in known.items():
            schema = self._requests[self._places[key][0]].schema
            self.replies[key] = decode(value, schema, cached=True)
            self._tell(key, self.replies[key])
        failed = self._failures.get(self._places.keys() - known.keys()) if self._failures else {}
        for key, value in failed.items():
            self.replies[key] = decode_failure(value)
            self._tell(key, self.replies[key])
        return [key for key in self._places if key not in self.replies]

    def hear(self, key: bytes, reply: Reply) -> None:
        """Make a model's reply durable. Called from any thread."""
        reply, value = storable(reply)
        row = self._ledger.row(key, self._requests[self._places[key][0]], reply)
        note = json.dumps({"corpus": self._ledger.corpus} | row).encode()
        with self._lock:
            self.replies[key] = reply
            self._rows.append(row)
            if value is not None:
                self._values[key] = value
            elif isinstance(reply, CompletionError) and reply.repeats:
                self._failed[key] = storable_failure(reply)
            if self._journal is None:
                self._journal = self._memo.open_journal()
            self._journal.append(Entry(key, value, note))
            self._tell(key, reply)

    def fold(self) -> None:
        """Put everything into memo and ledger; the journal has then done its service."""
        called = {row["prompt_hash"] for row in self._rows}
        cached = [
            (key, self._requests[place], reply)
            for key, reply in self.replies.items()
            if isinstance(reply, Completion) or key.hex() not in called
            for place in self._places[key][1 if key.hex() in called else 0 :]
        ]
        name = self._journal.name if self._journal else uuid.uuid4().hex
        try:
            self._memo.put(self._values)
            if self._failures:
                self._failures.put(self._failed)
            if self._rows or cached:
                self._ledger.enter(name, self._rows, self._ledger.cached(cached))
            if self._journal:
                self._journal.remove()
        finally:
            if self._journal:
                self._journal.close()


def fold_orphans(store: ParquetStore, table: Table) -> int:
    """Enter what killed runs had answered into memos and ledger, and return how many calls.

    Parameters
    ----------
    table : the ledger's, `llm_calls`.
    """
    n_calls = 0
    for folder, name, entries in orphans(store, f"{store.root}/_memo/{_MEMO}/*"):
        fold_values(store, folder, {e.key: e.value for e in entries if e.value is not None})
        rows_of: dict[str, list[dict]] = {}
        for entry in entries:
            row = json.loads(entry.note)
            rows_of.setdefault(row.pop("corpus"), []).append(row)
        for corpus, rows in rows_of.items():
            _enter_once(store, table, path_of(store, table, corpus, name), rows)
        n_calls += len(entries)
    return n_calls


def forget_replies(store: ParquetStore, prompt_hashes: Iterable[str]) -> int:
    """Remove replies from the memo, and return how many there were; no run may be under way."""
    keys = [bytes.fromhex(digest) for digest in prompt_hashes]
    return sum(forget_values(store, kind, keys) for kind in (_MEMO, _FAILURES))


def _enter_once(store: ParquetStore, table: Table, path: str, rows: Sequence[dict]) -> None:
    """Enter rows of which an earlier attempt to fold the same journal may have entered some."""
    # an older gsum may have left the journal, without the columns that were added since
    schema = pa.schema([field for field in table.schema if field.name in rows[0]])
    every = pa.Table.from_pylist(list(rows), schema)
    if store.fs.exists(path):
        with store.fs.open(path, "rb") as source:
            entered = pq.read_table(source)
        known = set(zip(*_calls(entered), strict=True))
        is_new = [call not in known for call in zip(*_calls(every), strict=True)]
        every = pa.concat_tables(
            [entered, every.filter(pa.array(is_new))], promote_options="default"
        )
    write_rows(store, path, every)


def _calls(rows: pa.Table) -> tuple[list[str], list[int]]:
    """Prompt and time, which tell calls apart."""
    return rows["prompt_hash"].to_pylist(), pc.cast(rows["time"], pa.int64()).to_pylist()
