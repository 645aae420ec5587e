"""Kills a client between replies of a scripted server, again and again, and compares."""

import hashlib
import json
import os
import random
import signal
import sys
import traceback
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from gsum_assets.pipeline.tables import TABLES
from gsum_resources.endpoint import Endpoint
from gsum_resources.llm.ledger import Ledger, export_calls
from gsum_resources.llm.ledgered_model import LedgeredModel
from gsum_resources.llm.memo import prompt_hash
from gsum_resources.llm.openai_compatible import OpenAICompatibleModel, opening
from gsum_resources.protocols.models import Request
from gsum_resources.settings.schema import LlmSettings
from gsum_resources.store.appended import read_appended
from gsum_resources.store.parquet_store import ParquetStore
from tests.servers.clients import settings_for
from tests.servers.scripted import scripted_process

_PER_KILL = 5  # replies, about
_AT_ONCE = 3  # requests in flight
_CALLS = TABLES["llm_calls"]


@dataclass(frozen=True)
class Found:
    """Outcome of the kills.

    Attributes
    ----------
    acknowledged : replies that a client that was killed had received from the database.
    lost : replies that the database does not have when the last client has ended.
    again : of those acknowledged, those that the server received again later.
    unrecorded : of these, those without exactly one paid call in the ledger.
    in_flight : requests that were sent again, since their replies were not stored at a kill.
    """

    kills: int
    acknowledged: int
    lost: int
    again: int
    unrecorded: int
    in_flight: int

    @property
    def is_good(self) -> bool:
        """Whether every acknowledged reply is stored, recorded and was not requested again."""
        return not (self.lost or self.again or self.unrecorded)


def kill_often(folder: Path, database: str, times: int, seed: int = 0) -> Found:
    """Kill a client `times` times, each time after some replies, then let it end."""
    chance = random.Random(seed)
    requests = [Request("answer", "Say it.", f"question {i}") for i in range(times * _PER_KILL)]
    digests = [_digest(request) for request in requests]
    acknowledged: set[int] = set()
    again = 0
    with scripted_process(folder / "server.jsonl", latency_s=0.002) as server:
        settings = settings_for(server.base_url, max_concurrent=_AT_ONCE)
        for number in range(times + 1):
            known, n_lines = {digests[i] for i in acknowledged}, len(server.lines())
            most = chance.randint(1, 2 * _PER_KILL - 3) if number < times else 0
            acknowledged |= _client(folder, database, settings, requests, most)
            again += sum(line["messages"] in known for line in server.lines()[n_lines:])
        n_requests = Counter(line["messages"] for line in server.lines())
        with _model(folder, database, settings) as (model, store):
            keys = [bytes.fromhex(prompt_hash(model.identity, request)) for request in requests]
            replies, _ = model.known(keys)
            export_calls(store, _CALLS)
            rows = read_appended(store, _CALLS, "tales").to_pylist()
    paid = Counter(row["prompt_hash"] for row in rows if not row["cached"])
    return Found(
        times,
        len(acknowledged),
        sum(key not in replies for key in keys),
        again,
        sum(paid[keys[i].hex()] != 1 for i in acknowledged),
        sum(n - 1 for n in n_requests.values()),
    )


def _client(
    folder: Path, database: str, settings: LlmSettings, requests: Sequence[Request], most: int
) -> set[int]:
    """Return the numbers of the replies that a child received before it was killed.

    Parameters
    ----------
    most : replies after which it is killed; 0: it ends by itself.
    """
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        os.close(reading)
        _complete(folder, database, settings, requests, writing)
    os.close(writing)
    received: set[int] = set()
    with os.fdopen(reading, "rb", buffering=0) as pipe:
        while len(content := pipe.read(4)) == 4:
            received.add(int.from_bytes(content, "big"))
            if most and len(received) == most:
                os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    assert os.WIFSIGNALED(status) or not os.WEXITSTATUS(status), "the client failed by itself"
    return received


def _complete(
    folder: Path, database: str, settings: LlmSettings, requests: Sequence[Request], pipe: int
) -> None:
    """Send all requests in this process and report each new reply; never returns."""
    try:
        with _model(folder, database, settings) as (model, _):
            keys = [bytes.fromhex(prompt_hash(model.identity, request)) for request in requests]
            stored, _ = model.known(keys)
            left = [i for i, key in enumerate(keys) if key not in stored]
            model.complete(
                [requests[i] for i in left],
                lambda index, _: os.write(pipe, left[index].to_bytes(4, "big")),
            )
    except BaseException:
        traceback.print_exc()
        sys.stderr.flush()
        os._exit(1)
    os._exit(0)


@contextmanager
def _model(
    folder: Path, database: str, settings: LlmSettings
) -> Iterator[tuple[LedgeredModel, ParquetStore]]:
    store = ParquetStore(str(folder / "warehouse"), database)
    endpoint = Endpoint(settings, store, backoff_s=0.02)
    try:
        inner = OpenAICompatibleModel(settings, endpoint)
        yield LedgeredModel(inner, store, Ledger(store, _CALLS, "tales", "a")), store
    finally:
        endpoint.close()


def _digest(request: Request) -> str:
    """Return the key of a request in the server's log."""
    messages = json.dumps(opening(request, "prompt"), ensure_ascii=False)
    return hashlib.blake2b(messages.encode(), digest_size=8).hexdigest()
