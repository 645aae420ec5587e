"""A language model with a memo and a ledger: no call is paid for twice, every call is on record."""

import io
import json
import uuid
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime

import pyarrow as pa
import pyarrow.parquet as pq

from gsum_resources.llm.render import prompt_hash
from gsum_resources.memo import Memo
from gsum_resources.parquet_store import ParquetStore, conform
from gsum_resources.protocols import Completion, CompletionError, LanguageModel, Request
from gsum_resources.table import Table

Reply = Completion | CompletionError
BATCH = 256  # requests between two savings


@dataclass(frozen=True)
class Ledger:
    """Where calls are entered: the table `llm_calls` of one corpus, on behalf of one asset."""

    store: ParquetStore
    table: Table
    corpus: str
    asset: str

    def enter(self, rows: Sequence[dict]) -> None:
        """Append rows as one more file of the partition, in one step."""
        if not rows:
            return
        declared = conform(self.table, pa.Table.from_pylist(list(rows)), self.asset)
        buffer = io.BytesIO()
        pq.write_table(declared, buffer)
        folder = f"{self.store.root}/{self.table.name}/corpus={self.corpus}"
        self.store.replace_file(f"{folder}/{uuid.uuid4().hex}.parquet", buffer.getbuffer())


class LedgeredModel:
    """Wraps a language model: answers from the memo where it can, and enters every request.

    A failed or invalid reply is entered, never memoized.
    """

    def __init__(
        self,
        model: LanguageModel,
        store: ParquetStore,
        ledger: Ledger,
        on_progress: Callable[[int, int], None] | None = None,
    ) -> None:
        self._model = model
        self._memo = Memo(store, "completions", model.identity)
        self._ledger = ledger
        self._on_progress = on_progress

    @property
    def identity(self) -> str:
        """That of the model within."""
        return self._model.identity

    def complete(self, requests: Sequence[Request]) -> list[Reply]:
        """One result or one error for each request, in order; equal requests are asked once."""
        replies: list[Reply] = []
        for start in range(0, len(requests), BATCH):
            replies += self._complete_batch(requests[start : start + BATCH])
            if self._on_progress:
                self._on_progress(len(replies), len(requests))
        return replies

    def _complete_batch(self, requests: Sequence[Request]) -> list[Reply]:
        keys = [bytes.fromhex(prompt_hash(self.identity, request)) for request in requests]
        wanted = dict(zip(keys, requests, strict=True))
        replies: dict[bytes, Reply] = {
            key: _decode(value, wanted[key]) for key, value in self._memo.get(wanted).items()
        }
        missing = [key for key in wanted if key not in replies]
        asked = self._model.complete([wanted[key] for key in missing]) if missing else []
        fresh = dict(zip(missing, asked, strict=True))
        self._memo.put({k: _encode(r) for k, r in fresh.items() if isinstance(r, Completion)})
        replies |= fresh
        self._ledger.enter(
            [
                self._row(key, request, replies[key])
                for key, request in zip(keys, requests, strict=True)
            ]
        )
        return [replies[key] for key in keys]

    def _row(self, key: bytes, request: Request, reply: Reply) -> dict:
        completed = reply if isinstance(reply, Completion) else None
        paid = completed if completed and not completed.cached else None
        return {
            "asset": self._ledger.asset,
            "document_id": request.document_id,
            "model": reply.model,
            "prompt_hash": key.hex(),
            "tokens_in": completed.tokens_in if completed else 0,
            "tokens_out": completed.tokens_out if completed else 0,
            "latency_s": paid.latency_s if paid else 0.0,
            "retries": reply.retries,
            "cached": bool(completed and completed.cached),
            "cost_usd": paid.cost_usd if paid else 0.0,
            "error": reply.message if isinstance(reply, CompletionError) else None,
            "time": datetime.now(UTC),
        }


def _encode(reply: Completion) -> bytes:
    fields = asdict(replace(reply, parsed=None))
    fields["parsed"] = reply.parsed.model_dump(mode="json") if reply.parsed else None
    return json.dumps(fields).encode()


def _decode(value: bytes, request: Request) -> Completion:
    fields = json.loads(value)
    parsed = fields.pop("parsed")
    if parsed is not None and request.schema is not None:
        parsed = request.schema.model_validate(parsed)
    return Completion(**fields | {"parsed": parsed, "cached": True})
