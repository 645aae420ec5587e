"""Paid replies are never requested again, failures only if they may succeed, and
every call is on record: also when the run is killed, the model gives up, or text is malformed."""

import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import duckdb
import pytest
from pydantic import BaseModel

from gsum_assets.pipeline.tables import TABLES
from gsum_resources.llm import ledger as ledgers
from gsum_resources.llm import ledgered_model
from gsum_resources.llm.ledger import Ledger, export_calls
from gsum_resources.llm.ledgered_model import LedgeredModel
from gsum_resources.llm.memo import prompt_hash
from gsum_resources.protocols.models import (
    Completion,
    CompletionError,
    LanguageModel,
    ModelUnavailableError,
    OnReply,
    Reply,
    Request,
)
from gsum_resources.state.database import state_of
from gsum_resources.store.catalogue import define_views
from gsum_resources.store.parquet_store import ParquetStore
from tests.models import FirstWords

TABLE = TABLES["llm_calls"]
GOOD = Request("answer", "go", "q", ("a boat on a river",), document_id="good")
BAD = Request("answer", "go", "q", ("dynamite",), document_id="bad")


class Killed(BaseException):
    """Ends a call as abruptly as can be within a process."""


class Verdict(BaseModel):
    winner: int


class Words(BaseModel):
    words: list[str]


class Fixed:
    """Gives every request the same reply."""

    identity = "fixed"

    def __init__(self, reply: Reply) -> None:
        self.reply = reply

    def complete(self, requests: Sequence[Request], on_reply: OnReply | None = None) -> list[Reply]:
        for position in range(len(requests)):
            if on_reply:
                on_reply(position, self.reply)
        return [self.reply] * len(requests)


class GivesUp(FirstWords):
    """Answers `n` requests, the last first, then cannot go on."""

    def __init__(self, n: int, error: BaseException) -> None:
        super().__init__()
        self.n, self.error = n, error

    def complete(self, requests: Sequence[Request], on_reply: OnReply | None = None) -> list[Reply]:
        assert on_reply is not None
        for position in reversed(range(len(requests) - self.n, len(requests))):
            self.n_requests += 1
            on_reply(position, self._one(requests[position]))
        raise self.error


class Threaded(FirstWords):
    """Answers each request in a thread of its own."""

    def complete(self, requests: Sequence[Request], on_reply: OnReply | None = None) -> list[Reply]:
        replies = [self._one(request) for request in requests]
        threads = [
            threading.Thread(target=on_reply, args=reported) for reported in enumerate(replies)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return replies


@pytest.fixture(params=["file", "object"])
def store(request, tmp_path: Path) -> ParquetStore:
    root = tmp_path if request.param == "file" else f"memory://{tmp_path}"
    return ParquetStore(str(root), str(tmp_path / "state.db"))


def ledgered(store: ParquetStore, model: LanguageModel, **callbacks) -> LedgeredModel:
    return LedgeredModel(model, store, Ledger(store, TABLE, "tales", "asset"), **callbacks)


def calls(store: ParquetStore) -> list[dict]:
    with duckdb.connect() as connection:
        define_views(connection, store, TABLES.values())
        rows = connection.sql("from llm_calls order by time, cached")
        return [dict(zip(rows.columns, row, strict=True)) for row in rows.fetchall()]


def make_requests(n: int) -> list[Request]:
    return [Request("answer", "go", f"q{i}", (f"passage {i}",)) for i in range(n)]


def test_answers_are_requested_once_and_failures_every_time(store):
    inner = FirstWords(refuses="dynamite")
    assert ledgered(store, inner).complete([]) == []
    first = ledgered(store, inner).complete([GOOD, BAD, GOOD])
    assert [type(reply) for reply in first] == [Completion, CompletionError, Completion]
    assert inner.n_requests == 2  # equal requests in one batch are sent once
    second = ledgered(store, inner).complete([GOOD, BAD])
    assert inner.n_requests == 3
    assert isinstance(second[0], Completion)
    assert second[0].cached
    assert second[0].text == "a boat on a river"
    assert isinstance(second[1], CompletionError)
    rows = calls(store)
    assert [row["cached"] for row in rows].count(True) == 2
    assert sum(row["error"] is not None for row in rows) == 2
    assert len(rows) == 5
    assert {row["corpus"] for row in rows} == {"tales"}


def test_replies_of_rules_are_stored_behind_in_a_resident_process(store):
    rules = FirstWords()
    rules.only_quotes = True  # type: ignore[attr-defined]
    stored = threading.Event()
    with ThreadPoolExecutor(1) as store.writes_behind:
        store.writes_behind.submit(stored.wait)
        (reply,) = ledgered(store, rules).complete([GOOD])  # waits for no write
        stored.set()
    store.writes_behind = None
    assert isinstance(reply, Completion)
    (known,) = ledgered(store, rules).complete([GOOD])
    assert (known.text, known.cached, rules.n_requests) == (reply.text, True, 1)
    assert [row["cached"] for row in calls(store)] == [False, True]


def test_what_calls_cost_is_the_sum_of_a_corpus(store):
    nothing = ledgers.Spent(0, 0.0)
    assert ledgers.spent(store, "tales") == nothing
    ledgered(store, FirstWords()).complete(make_requests(3))
    ledgered(store, FirstWords()).complete(make_requests(4))  # three are stored
    rows = calls(store)
    assert ledgers.spent(store, "tales").calls == sum(row["calls"] for row in rows)
    assert ledgers.spent(store, "tales").cost_usd == sum(row["cost_usd"] for row in rows)
    assert ledgers.spent(store, "other") == nothing


def test_equal_requests_cost_once(store):
    paid = Completion("text", "fixed", 10, 2, 0.5, cost_usd=0.25)
    twice = [GOOD, Request(**vars(GOOD) | {"document_id": "another"})]
    ledgered(store, Fixed(paid)).complete([*twice, GOOD])
    rows = calls(store)
    assert sorted(row["document_id"] for row in rows) == ["another", "good", "good"]
    assert [row["cost_usd"] for row in rows] == [0.25, 0, 0]
    assert [row["latency_s"] for row in rows] == [0.5, 0, 0]


def test_every_request_reports_progress_failure_and_reply(store):
    inner = FirstWords(refuses="dynamite")
    ledgered(store, inner).complete([GOOD])
    progress, failed, received = [], [], {}
    model = ledgered(
        store,
        inner,
        on_progress=lambda *received: progress.append(received),
        on_failure=failed.append,
    )
    requests = [BAD, GOOD, *make_requests(2), BAD]
    replies = model.complete(requests, received.__setitem__)
    assert [done for done, *_ in progress] == [1, 3, 4, 5]  # the known one, `BAD` twice at once
    assert {total for _, total, _ in progress} == {len(requests)}
    assert progress[0][2] == ""  # what was known took nothing
    assert "tokens a second" in progress[-1][2]
    assert failed == ["bad", "bad"]
    assert [received[position] for position in range(len(requests))] == replies


def test_replies_before_a_model_gives_up_are_kept(store):
    inner = GivesUp(2, ModelUnavailableError("refused"))
    with pytest.raises(ModelUnavailableError, match="refused"):
        ledgered(store, inner).complete(make_requests(5))
    assert [row["cached"] for row in calls(store)] == [False, False]
    again = FirstWords()
    assert len(ledgered(store, again).complete(make_requests(5))) == 5
    assert again.n_requests == 3


def test_calls_are_recorded_once_wherever_writing_is_interrupted(store, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(ledgered_model, "export_calls", lambda *_: None)
        with pytest.raises(Killed):
            ledgered(store, GivesUp(3, Killed())).complete(make_requests(3))
    assert calls(store) == []
    write = ledgers._write_calls

    def written_and_killed(*args: Any) -> None:
        write(*args)
        raise Killed

    for n in (3, 1):  # the whole table, and one file more
        with monkeypatch.context() as patch:
            patch.setattr(ledgers, "_write_calls", written_and_killed)
            with pytest.raises(Killed):
                export_calls(store, TABLE)
        before = len(calls(store))
        ledgered(store, FirstWords()).complete(make_requests(4))
        assert len(calls(store)) == before + 4  # those that were known, and in the end a new one
        export_calls(store, TABLE)
        assert len(calls(store)) == before + 4
        with monkeypatch.context() as patch:
            patch.setattr(ledgered_model, "export_calls", lambda *_: None)
            ledgered(store, FirstWords()).complete(make_requests(n))
    rows = calls(store)
    assert sum(not row["cached"] for row in rows) == 4
    assert {(row["asset"], row["error"]) for row in rows} == {("asset", None)}


def test_unstorable_reply_is_requested_again(tmp_path, monkeypatch):
    store = ParquetStore(str(tmp_path))
    reported = []
    with monkeypatch.context() as patch:
        patch.setattr(Ledger, "enter", _full)
        with pytest.raises(OSError, match="full"):
            ledgered(store, FirstWords()).complete(
                make_requests(2), lambda *reply: reported.append(reply)
            )
    assert reported == calls(store) == []
    ledgered(store, FirstWords()).complete(make_requests(2))
    assert [row["cached"] for row in calls(store)] == [False, False]


def _full(*_: object) -> None:
    raise OSError("disk full")


def test_reply_is_reported_only_after_it_is_stored(tmp_path: Path) -> None:
    store = ParquetStore(str(tmp_path))
    model = ledgered(store, Threaded())
    keys = [bytes.fromhex(prompt_hash(model.identity, request)) for request in make_requests(20)]
    stored: list[bool] = []
    model.complete(
        make_requests(20), lambda position, _: stored.append(bool(model.known([keys[position]])[0]))
    )
    assert stored == [True] * 20


class Slow(FirstWords):
    """Takes its time for each request."""

    def _one(self, request: Request) -> Reply:
        time.sleep(0.05)
        return super()._one(request)


def test_no_more_is_requested_while_replies_cannot_be_stored(tmp_path: Path) -> None:
    store = ParquetStore(str(tmp_path), str(tmp_path / "state.db"))
    model, state = Slow(), state_of(store)
    work = threading.Thread(target=ledgered(store, model).complete, args=(make_requests(40),))
    with state.writing():  # as a database that does not answer
        work.start()
        time.sleep(1.2)
        assert 0 < model.n_requests < 20
    work.join()
    assert model.n_requests == len(calls(store)) == 40


@pytest.mark.parametrize(
    "text", ["half \ud83d of a pair", "\udfff", "\ud83d\ude00 both", "\x00\x1b"]
)
def test_malformed_text_breaks_neither_memo_nor_ledger(tmp_path, text):
    store = ParquetStore(str(tmp_path))
    parsed = Words(words=[text, "well"])
    request = Request("facts", "go", schema=Words)
    model = Fixed(Completion(text, "fixed", 1, 1, 0.0, parsed))
    (fresh,) = ledgered(store, model).complete([request])
    (known,) = ledgered(store, model).complete([request])
    assert fresh.text == known.text
    assert fresh.text.encode()
    assert fresh.parsed == known.parsed == Words(words=[fresh.text, "well"])
    if "\ude00" in text:
        assert fresh.text == "😀 both"
    ledgered(store, Fixed(CompletionError(text, "fixed"))).complete([GOOD])
    assert [row["error"] for row in calls(store)] == [
        None,
        None,
        fresh.text.replace("\0", "\ufffd"),
    ]
    unusable = CompletionError("no JSON", "fixed", text=text)
    (reply,) = ledgered(store, Fixed(unusable)).complete([BAD])
    assert isinstance(reply, CompletionError)
    assert reply.text == fresh.text


@pytest.mark.parametrize(
    "other",
    [
        Request("answer", "go", "q", ("ab", "c")),
        Request("answer", "go", "q", ("a", "bc", "")),
        Request("answer", "go ", "q", ("a", "bc")),
        Request("answer", "go", "q", ("a", "bc"), max_words=7),
        Request("answer", "go", "q", ("a", "bc"), temperature=0.5),
        Request("answer", "go", "q", ("a", "bc"), seed=1),
        Request("answer", "go", "q", ("a", "bc"), schema=Verdict),
        Request("answer", "go", "q", ("a", "bc"), weights=(0.5, 0.5)),
    ],
)
def test_memo_key_covers_everything_a_reply_depends_on(other):
    one = Request("answer", "go", "q", ("a", "bc"))
    assert prompt_hash("model", one) != prompt_hash("model", other)
    assert prompt_hash("model", one) != prompt_hash("model 2", one)
    named = Request("answer", "go", "q", ("a", "bc"), document_id="d")
    assert prompt_hash("model", one) == prompt_hash("model", named)


class FailsAlike(Fixed):
    """A model that says the same again, so that a failure repeats."""

    def __init__(self, repeats: bool = True, scope: str = "repairs=2") -> None:
        said = CompletionError("no", "m", calls=3, tokens_in=7, text="half", repeats=repeats)
        super().__init__(said)
        self.failure_scope = scope
        self.n_requests = 0

    def complete(self, requests: Sequence[Request], on_reply: OnReply | None = None) -> list[Reply]:
        self.n_requests += len(requests)
        return super().complete(requests, on_reply)


def test_repeatable_failure_is_not_requested_again(tmp_path: Path) -> None:
    store = ParquetStore(str(tmp_path))
    ledger = Ledger(store, TABLE, "tales", "a")
    failed: list[str] = []
    first = FailsAlike()
    replies = LedgeredModel(first, store, ledger).complete([BAD, GOOD])
    again = FailsAlike()
    model = LedgeredModel(again, store, ledger, on_failure=failed.append)
    received: list[Reply] = []
    assert (
        model.complete([BAD, GOOD], lambda _, reply: received.append(reply)) == replies == received
    )
    assert (first.n_requests, again.n_requests) == (2, 0)
    assert failed == ["bad", "good"]
    rows = [(row["cached"], row["error"]) for row in calls(store)]
    assert sorted(rows) == [(False, "no")] * 2 + [(True, "no")] * 2
    asked = FailsAlike()
    LedgeredModel(asked, store, ledger, retries_failures=True).complete([BAD])
    assert asked.n_requests == 1
    # other re-asks, or a forgotten prompt, are a new chance
    more = FailsAlike(scope="repairs=3")
    LedgeredModel(more, store, ledger).complete([BAD])
    assert more.n_requests == 1
    with state_of(store).writing() as connection:
        assert ledgers.forget_replies(connection, [prompt_hash("fixed", BAD)]) == 2
    LedgeredModel(again, store, ledger).complete([BAD])
    assert again.n_requests == 1


@pytest.mark.parametrize("model", [FailsAlike(repeats=False), Fixed(CompletionError("no", "m"))])
def test_other_failures_are_requested_again(tmp_path: Path, model: LanguageModel) -> None:
    store = ParquetStore(str(tmp_path))
    for _ in range(2):
        ledgered = LedgeredModel(model, store, Ledger(store, TABLE, "tales", "a"))
        ledgered.complete([BAD])
    assert [row["cached"] for row in calls(store)] == [False, False]


def test_repaired_mistakes_are_remembered(tmp_path: Path) -> None:
    store = ParquetStore(str(tmp_path))
    said = Completion("w", "m", 1, 1, 0.0, Words(words=["w"]), slips=("words: no text",))
    request = Request("facts", "go", schema=Words)
    for cached in (False, True):
        model = LedgeredModel(Fixed(said), store, Ledger(store, TABLE, "tales", "a"))
        (reply,) = model.complete([request])
        assert isinstance(reply, Completion)
        assert (reply.cached, reply.slips) == (cached, ("words: no text",))
