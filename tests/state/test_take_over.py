"""An older home opens, wherever taking it over was cut off, and nothing is paid for again."""

import json
import logging
import struct
import zlib
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import sqlalchemy as sa

from gsum_assets.automation.staleness import Requests
from gsum_assets.forgetting.deletions import Deletions
from gsum_assets.pipeline.tables import TABLES
from gsum_resources.llm.ledger import Ledger, export_calls
from gsum_resources.llm.ledgered_model import LedgeredModel
from gsum_resources.llm.render import prompt_hash
from gsum_resources.llm.stored_reply import storable
from gsum_resources.protocols.models import Completion, Request
from gsum_resources.state import take_over as module
from gsum_resources.state.database import TAKEN_OVER, state_of
from gsum_resources.store.appended import read_appended
from gsum_resources.store.content_hash import hash_texts
from gsum_resources.store.memo import Memo
from gsum_resources.store.parquet_store import ParquetStore
from tests.models import FirstWords

TABLE = TABLES["llm_calls"]
MODEL = FirstWords().identity
REQUESTS = [Request("answer", "go", f"q{i}", (f"boat {i}",)) for i in range(6)]
KEYS = [bytes.fromhex(prompt_hash(MODEL, request)) for request in REQUESTS]


class Killed(BaseException):
    """Ends taking over as abruptly as can be within a process."""


def value_of(i: int) -> bytes:
    _, value = storable(Completion(f"boat {i}", MODEL, 1, 1, 0.0))
    assert value is not None
    return value


def row_of(i: int) -> dict:
    """A row of the ledger, of before the columns `retries` and `latency_s`."""
    row = {"asset": "a", "document_id": "d", "model": MODEL, "prompt_hash": KEYS[i].hex()}
    return row | {"tokens_in": 1, "tokens_out": 1, "cached": False, "cost_usd": 0.5, "time": 7 + i}


def write_segment(path: Path, values: dict[bytes, bytes]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    keys = pa.array(list(values), pa.binary(16))
    pq.write_table(pa.table({"key": keys, "value": pa.array(values.values(), pa.binary())}), path)


def write_calls(path: Path, numbers: list[int]) -> None:
    rows = pa.Table.from_pylist([row_of(i) for i in numbers])
    times = pa.array([7 + i for i in numbers], pa.timestamp("us", "UTC"))
    path.parent.mkdir(parents=True, exist_ok=True)
    at = rows.column_names.index("time")
    pq.write_table(rows.set_column(at, "time", times), path)


def record(i: int) -> bytes:
    """An entry of a journal."""
    value, note = value_of(i), json.dumps(row_of(i) | {"corpus": "tales"}).encode()
    body = struct.pack("<16si", KEYS[i], len(value)) + value + note
    return struct.pack("<II", len(body), zlib.crc32(body)) + body


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A warehouse of an older gsum: four replies, two more of a killed run, one of them entered."""
    root, of_model = tmp_path / "warehouse", hash_texts([MODEL], 8)
    write_segment(root / f"_memo/completions/{of_model}/a.parquet", {KEYS[0]: value_of(0)})
    several = {KEYS[i]: value_of(i) for i in (1, 2, 3)}
    write_segment(root / f"_memo/completions/{of_model}/b.parquet", several)
    journal = root / f"_memo/completions/{of_model}/beef.journal"
    journal.write_bytes(record(4) + record(5) + record(5)[:30])
    write_segment(root / f"_memo/embeddings/{of_model}/c.parquet", {KEYS[0]: b"vector"})
    write_calls(root / "llm_calls/corpus=tales/old.parquet", [0, 1])
    write_calls(root / "llm_calls/corpus=tales/beef.parquet", [4])
    write_calls(root / "llm_calls/corpus=others/old.parquet", [2, 3])
    (root / "_asked/others").mkdir(parents=True)
    (root / "_asked/tales.json").write_text('["bm25"]')
    (root / "_asked/others/0.json").write_text("[]")
    (root / "_departed").mkdir()
    seen = {"version": "v", "documents": ["kept"], "gone": ["deleted"]}
    (root / "_departed/tales.json").write_text(json.dumps(seen))
    (root / "_limits").mkdir()
    (root / "_limits/x.attempts").write_bytes(bytes(24))
    return root


def check(root: Path) -> None:
    """Everything that the older home knew is known."""
    store = ParquetStore(str(root))
    model = FirstWords()
    requests = Requests(store)
    assert (requests.of("tales"), requests.of("others")) == ({"bm25"}, frozenset())
    assert Deletions(store).observe("tales").deleted == [
        "deleted",
        "kept",
    ]  # it has no documents now
    export_calls(store, TABLE)
    rows = [row for c in ("tales", "others") for row in read_appended(store, TABLE, c).to_pylist()]
    rows = [row for row in rows if not row["cached"]]
    assert sorted(row["prompt_hash"] for row in rows) == sorted(key.hex() for key in KEYS)
    assert {(row["retries"], row["cost_usd"]) for row in rows} == {(None, 0.5)}
    replies = LedgeredModel(model, store, Ledger(store, TABLE, "tales", "a")).complete(REQUESTS)
    assert [reply.text for reply in replies] == [f"boat {i}" for i in range(6)]
    assert model.n_requests == 0
    assert Memo(store, "embeddings", MODEL).get(KEYS) == {KEYS[0]: b"vector"}
    left = {path.name for path in root.iterdir()}
    assert left == {"_memo", "llm_calls"}
    assert {path.name for path in (root / "_memo").iterdir()} == {"embeddings"}
    assert all(path.stem.isdecimal() for path in (root / "llm_calls").rglob("*.parquet"))


def test_older_home_is_migrated_once(root: Path, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        state_of(ParquetStore(str(root)))
        (line,) = caplog.messages
    assert line.endswith("6 calls, 1 deleted documents, 6 replies, 1 requests")
    check(root)
    caplog.clear()
    check(root)
    assert caplog.messages == []


@pytest.mark.parametrize("number", range(10))
def test_interrupted_migration_is_resumed(
    root: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    steps = []

    def killed(*_: object) -> int:
        raise Killed

    with monkeypatch.context() as patch:
        insert = module.insert_new

        def counted(connection: sa.Connection, table: sa.Table, rows: list) -> int:
            if table is TAKEN_OVER:
                steps.append(rows)
            return (killed if len(steps) == number else insert)(connection, table, rows)

        patch.setattr(module, "insert_new", counted)
        if number == 9:  # everything is taken, and nothing removed
            patch.setattr(module, "shard_segments", killed)
        if number == 0:
            patch.setattr(module, "Counter", killed)
        with pytest.raises(Killed):
            state_of(ParquetStore(str(root)))
    check(root)
