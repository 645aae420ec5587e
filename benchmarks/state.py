"""The database of replies: how long a commit and a look-up take among a million, and the memory.

Run as `python -m benchmarks.state`. A million replies of 1 KiB are written, a thousand in a
transaction; then a reply with its row of the ledger is committed 300 times, one by one. A process
of its own looks up 10,000 replies in one call, three times with other keys.
"""

import argparse
import hashlib
import json
import random
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks import Measurement
from benchmarks.results import parser_of, publish
from gsum_assets.pipeline.tables import TABLES
from gsum_resources.llm.ledger import Ledger
from gsum_resources.protocols.models import Completion, Request
from gsum_resources.state.database import REPLIES, insert_new, reply_row, state_of
from gsum_resources.store.parquet_store import ParquetStore

REPLIES_KEPT, LOOKED_UP, COMMITS, ROUNDS = 1_000_000, 10_000, 300, 3
N_BYTES = 1024
_KIND, _MODEL = "completions", "benchmark"


def key_of(number: int) -> bytes:
    """Return the key of a reply, as random as a hash of a prompt."""
    return hashlib.blake2b(number.to_bytes(8, "big"), digest_size=16).digest()


def measure(n: int = REPLIES_KEPT, url: str = "") -> Measurement:
    """Fill a database, commit to it and look up in it."""
    with tempfile.TemporaryDirectory() as folder:
        store = ParquetStore(folder, url)
        seconds = _fill(store, n)
        commits = _commit(store)
        command = [sys.executable, "-m", "benchmarks.state", "--look-up", folder]
        command += ["--replies", str(n), "--url", url]
        found = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)
        size = sum(path.stat().st_size for path in Path(folder).glob("state.db*"))
    slowest = sorted(commits)[-len(commits) // 100]
    rows = [
        ["a reply written, a thousand in a transaction", f"{seconds / n * 1e6:.0f} µs"],
        ["a reply with its row of the ledger committed", f"{statistics.median(commits):.2f} ms"],
        ["the slowest of a hundred such commits", f"{slowest:.1f} ms"],
        [f"look-up of {LOOKED_UP:,} in one call", f"{statistics.median(found['seconds']):.2f} s"],
        ["memory of that process, before", f"{found['before']:.0f} MiB"],
        ["memory of that process, peak", f"{found['peak']:.0f} MiB"],
        ["database on disk", f"{size / 2**30:.2f} GiB"],
    ]
    note = f"{n:,} replies of {N_BYTES} bytes, {COMMITS} commits, {ROUNDS} look-ups; medians"
    return Measurement("State", note, ["", "value"], rows)


def _fill(store: ParquetStore, n: int) -> float:
    """Write `n` replies; how many seconds that took."""
    state, chance = state_of(store), random.Random(0)
    started = time.perf_counter()
    for start in range(0, n, 1000):
        rows = [
            reply_row(_KIND, _MODEL, key_of(i), chance.randbytes(N_BYTES))
            for i in range(start, min(start + 1000, n))
        ]
        with state.writing() as connection:
            insert_new(connection, REPLIES, rows)
    return time.perf_counter() - started


def _commit(store: ParquetStore) -> list[float]:
    """Milliseconds that each of some commits took."""
    ledger = Ledger(store, TABLES["llm_calls"], "benchmark", "benchmark")
    reply, took = Completion("said", "m", 100, 10, 0.1), []
    for i in range(COMMITS):
        key = key_of(-1 - i & (2**63 - 1))
        row = ledger.row(key, Request("answer", "Say it."), reply)
        started = time.perf_counter()
        ledger.enter([row], [reply_row(_KIND, _MODEL, key, bytes(N_BYTES))])
        took.append(1000 * (time.perf_counter() - started))
    return took


def lookup(store: ParquetStore, n: int) -> dict:
    """Seconds of each look-up, and the memory of this process before and at most, MiB."""
    state, chance, seconds = state_of(store), random.Random(1), []
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    for _ in range(ROUNDS):
        keys = [key_of(i) for i in chance.sample(range(n), min(n, LOOKED_UP))]
        started = time.perf_counter()
        found = state.replies(_KIND, _MODEL, keys)
        seconds.append(time.perf_counter() - started)
        assert len(found) == len(keys)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {"seconds": seconds, "before": before, "peak": peak}


if __name__ == "__main__":
    parser = parser_of(__doc__)
    parser.add_argument("--replies", type=int, default=REPLIES_KEPT)
    parser.add_argument("--url", default="", help="of a database; by default a new SQLite file")
    parser.add_argument("--look-up", default="", help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.look_up:
        store = ParquetStore(chosen.look_up, chosen.url)
        print(json.dumps(lookup(store, chosen.replies)))
    else:
        publish("state", measure(chosen.replies, chosen.url), chosen.store)
