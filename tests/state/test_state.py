"""One database for threads, processes and machines: nothing is lost, nothing deleted stays."""

import errno
import os
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest
import sqlalchemy as sa
from sqlalchemy.exc import OperationalError

from gsum_assets.forgetting.replies import FORGOTTEN, forget_names
from gsum_assets.pipeline.tables import TABLES
from gsum_resources.llm.ledger import Ledger, export_calls, forget_replies
from gsum_resources.llm.ledgered_model import LedgeredModel
from gsum_resources.llm.memo import prompt_hash
from gsum_resources.protocols.models import Request
from gsum_resources.settings.home import Home
from gsum_resources.settings.schema import load_settings
from gsum_resources.state.database import (
    CALLS,
    LOCKS,
    REPLIES,
    State,
    StateAwayError,
    StateError,
    insert_new,
    lost_connection,
    reply_row,
    state_of,
    unwritable,
)
from gsum_resources.store.appended import read_appended
from gsum_resources.store.parquet_store import ParquetStore
from tests.models import FirstWords
from tests.state.databases import KINDS, new_database
from tests.state.writers import N_BATCHES, N_PROCESSES, N_REQUESTS, N_THREADS, requests_of

TABLE = TABLES["llm_calls"]
ROOT = Path(__file__).parents[2]


@pytest.fixture(params=KINDS)
def database(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return new_database(request.param, tmp_path)


@pytest.fixture
def store(database: str, tmp_path: Path) -> ParquetStore:
    return ParquetStore(str(tmp_path / "warehouse"), database)


def test_replies_are_found_by_kind_model_and_key(database: str) -> None:
    state = State(database)
    keys = [i.to_bytes(16, "big") for i in range(6000)]  # more than one statement takes
    with state.writing() as connection:
        rows = [reply_row("kind", "model", key, key * 2) for key in keys]
        assert insert_new(connection, REPLIES, rows) == 6000
        assert insert_new(connection, REPLIES, [reply_row("kind", "model", keys[0], b"2")]) == 0
    other = State(database)
    assert other.replies("kind", "model", [*keys, bytes(15)]) == {key: key * 2 for key in keys}
    assert other.replies("kind", "another", keys) == other.replies("other", "model", keys) == {}


def test_transaction_is_repeated_once_if_the_server_ended(database: str) -> None:
    state, seen = State(database), []

    def write(connection: sa.Connection, is_repeated: bool) -> int:
        seen.append(is_repeated)
        inserted = insert_new(connection, REPLIES, [reply_row("kind", "model", b"k", b"v")])
        if len(seen) == 1:
            raise OperationalError("", None, KeyError(), connection_invalidated=True)
        return inserted

    assert state.repeat(write) == 1  # the first was rolled back
    assert seen == [False, True]
    with pytest.raises(OperationalError):
        state.repeat(_full)


def _full(*_: object) -> None:
    raise OperationalError("", None, KeyError("disk full"))


def test_lost_connection_is_found_behind_other_errors() -> None:
    away = OperationalError("", None, ConnectionError("no server\nIs it running?"))
    behind = RuntimeError()
    behind.__cause__ = away
    assert lost_connection(behind) == "no server"
    assert lost_connection(StateAwayError("gone")) == "gone"
    assert lost_connection(RuntimeError()) is None
    locked = OperationalError("", None, sqlite3.OperationalError("database is locked"))
    assert lost_connection(locked) is None


def of_sqlite(statement: str, *settings: str) -> OperationalError:
    """Return what SQLAlchemy raises where SQLite cannot write."""
    engine = sa.create_engine("sqlite://")
    with engine.connect() as connection:
        connection.exec_driver_sql("CREATE TABLE t(x)")
        for setting in settings:
            connection.exec_driver_sql(f"PRAGMA {setting}")
        with pytest.raises(OperationalError) as raised:
            connection.exec_driver_sql(statement)
    return raised.value


FILL = "INSERT INTO t VALUES (zeroblob(100000))"


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (of_sqlite(FILL, "query_only = 1"), "readonly database"),
        (of_sqlite(FILL, "max_page_count = 4"), "disk is full"),
        (of_sqlite("INSERT INTO absent VALUES (1)"), None),
        (OSError(errno.ENOSPC, "no space", "rows.parquet"), "rows.parquet"),
        (OSError(errno.EROFS, "read-only", "a", None, "link"), "link"),
        (FileNotFoundError(errno.ENOENT, "absent", "rows.parquet"), None),
    ],
)
def test_files_that_cannot_be_written_are_named(error: Exception, reason: str | None) -> None:
    outer = ValueError("a step failed")
    outer.__cause__ = error
    found = unwritable(outer)
    assert found is None if reason is None else reason in found


def test_answer_needs_no_log_and_a_run_does(
    store: ParquetStore, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise of_sqlite(FILL, "query_only = 1")

    monkeypatch.setattr(State, "repeat", fail)
    for run_id in ("", "run"):
        ledger = Ledger(store, TABLES["llm_calls"], "tales", "ask", run_id)
        model = LedgeredModel(FirstWords(), store, ledger)
        if run_id:
            with pytest.raises(OperationalError):
                model.complete(requests_of(1, 1, 1))
        else:
            assert model.complete(requests_of(1, 1, 1)[:1])[0].text
            assert "readonly database" in caplog.text


def test_database_of_an_older_gsum_gets_the_new_tables(database: str) -> None:
    with State(database).writing() as connection:
        LOCKS.drop(connection)
    with State(database).reading() as connection:
        assert connection.execute(sa.select(LOCKS)).all() == []


def test_transaction_is_atomic(database: str) -> None:
    state = State(database)
    rows = [reply_row("kind", "model", b"k", b"v"), reply_row("kind", "model", b"l", b"")]

    def write_and_fail() -> None:
        with state.writing() as connection:
            insert_new(connection, REPLIES, rows)
            raise KeyError

    with pytest.raises(KeyError):
        write_and_fail()
    assert state.replies("kind", "model", [b"k"]) == {}


def test_paid_replies_wait_for_the_disk(tmp_path: Path) -> None:
    state = State(str(tmp_path / "state.db"))
    for durable, level in ((True, 2), (False, 1), (True, 2)):  # FULL, NORMAL
        with state.writing(durable=durable) as connection:
            assert connection.exec_driver_sql("PRAGMA synchronous").scalar() == level
    with state.reading() as connection:
        assert connection.exec_driver_sql("PRAGMA journal_mode").scalar() == "wal"


def test_child_process_has_its_own_connections(database: str) -> None:
    state = State(database)
    with state.writing() as connection:
        insert_new(connection, REPLIES, [reply_row("kind", "model", b"k", b"v")])
    child = os.fork()
    if not child:
        with state.writing() as connection:
            insert_new(connection, REPLIES, [reply_row("kind", "model", b"l", b"w")])
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    assert state.replies("kind", "model", [b"k", b"l"]) == {b"k": b"v", b"l": b"w"}


def test_threads_and_processes_write_concurrently(database: str, store: ParquetStore) -> None:
    command = [sys.executable, "-m", "tests.state.writers", database, store.url]
    at_work = [subprocess.Popen([*command, str(n)], cwd=ROOT) for n in range(N_PROCESSES)]
    assert [process.wait(600) for process in at_work] == [0] * N_PROCESSES
    rows = [row for n in (0, 1) for row in read_appended(store, TABLE, f"corpus-{n}").to_pylist()]
    wanted = [
        request
        for process in range(N_PROCESSES)
        for thread in range(N_THREADS)
        for batch in range(N_BATCHES)
        for request in requests_of(process, thread, batch)
    ]
    assert len(wanted) == N_PROCESSES * N_THREADS * N_BATCHES * N_REQUESTS
    expected = {prompt_hash("first-words", request) for request in wanted}
    assert sorted(row["prompt_hash"] for row in rows) == sorted(expected)
    model = FirstWords()
    replies = LedgeredModel(model, store, Ledger(store, TABLE, "corpus-0", "a")).complete(wanted)
    assert [r.text for r in replies] == [request.passages[0] for request in wanted]
    assert model.n_requests == 0


def test_forgotten_data_is_in_no_file(tmp_path: Path) -> None:
    store = ParquetStore(str(tmp_path))
    secrets = [f"captain brandt sold boat number {i} to the widow" for i in range(200)]
    requests = [
        Request("answer", "go", "q", (text,), document_id=f"brandt-{i % 2}")
        for i, text in enumerate(secrets)
    ]
    model = LedgeredModel(FirstWords(), store, Ledger(store, TABLE, "tales", "a"))
    model.complete([*requests, Request("answer", "go", "q", ("a lamp",), document_id="kept")])
    export_calls(store, TABLE)
    state = state_of(store)
    assert any("captain brandt" in text for text in state.texts())
    with state.writing() as connection:
        hashes = [prompt_hash("first-words", request) for request in requests]
        assert forget_replies(connection, hashes) == 200
        forget_names(connection, "tales", {"kept"})
    state.clear_log()
    export_calls(store, TABLE)
    assert not any("brandt" in text for text in state.texts())
    for path in tmp_path.rglob("*"):
        assert path.is_dir() or b"brandt" not in path.read_bytes(), path
    assert len(list(tmp_path.glob("llm_calls/corpus=tales/*"))) == 1
    rows = read_appended(store, TABLE, "tales").to_pylist()
    assert sorted({row["document_id"] for row in rows}) == [FORGOTTEN, "kept"]
    assert len(rows) == 201


def test_forgotten_name_is_deleted_with_its_descriptions(store: ParquetStore) -> None:
    row = {"corpus": "tales", "prompt_hash": "a", "cost_usd": 0.5, "time": 0}
    entries = [("gone", "no JSON"), ("gone", None), ("kept", "no JSON"), ("", "no JSON")]
    with state_of(store).writing() as connection:
        rows = [row | {"document_id": document, "error": error} for document, error in entries]
        connection.execute(sa.insert(CALLS), rows)
        forget_names(connection, "tales", {"kept"})
        columns = sa.select(CALLS.c.document_id, CALLS.c.error, CALLS.c.cost_usd)
        left = connection.execute(columns.order_by(CALLS.c.id)).all()
    expected = [(FORGOTTEN, FORGOTTEN), (FORGOTTEN, None), ("kept", "no JSON"), ("", "no JSON")]
    assert left == [(*one, 0.5) for one in expected]


def test_calls_of_a_corpus_without_documents_are_removed(store: ParquetStore) -> None:
    for corpus in ("tales", "others"):
        model = LedgeredModel(FirstWords(), store, Ledger(store, TABLE, corpus, "a"))
        model.complete([Request("answer", "go", corpus)])
    with state_of(store).writing() as connection:
        forget_names(connection, "tales", ())
    with state_of(store).reading() as connection:
        assert connection.execute(sa.select(CALLS.c.corpus)).scalars().all() == ["others"]


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("postgresql+psycopg2://me:secret@127.0.0.1:1/none", r"refused.*start the server|pip inst"),
        ("postgresql+nodriver://me:secret@host/none", "install the driver"),
        ("mysql+pymysql://me:secret@host/none", r"neither PostgreSQL nor SQLite|pip install"),
        ("://me:secret", "is not the URL of a database; write postgresql"),
    ],
)
def test_connection_error_hides_the_password(url: str, said: str) -> None:
    with pytest.raises(StateError, match=said) as raised:
        State(url)
    assert "[state] url" in str(raised.value)
    assert "secret" not in str(raised.value)


def test_remote_store_needs_a_state_setting(tmp_path: Path) -> None:
    with pytest.raises(StateError, match=r"Home\.open_store"):
        state_of(ParquetStore(f"memory://{tmp_path}"))


def test_setting_names_the_database(tmp_path: Path) -> None:
    home = Home(tmp_path, str(tmp_path / "warehouse"))
    assert home.open_store().state_url == ParquetStore(home.warehouse).state_url == str(home.state)
    (tmp_path / "gsum.toml").write_text("[state]\nurl = 'postgresql://me:secret@host/gsum'\n")
    assert home.open_store().state_url == "postgresql://me:secret@host/gsum"
    assert "secret" not in repr(load_settings(tmp_path / "gsum.toml", {}))
