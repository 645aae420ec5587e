"""What was paid for once is never asked for again, and what failed is never remembered."""

from pathlib import Path

import numpy as np
import pytest
from pydantic import BaseModel

from gsum_assets.tables import TABLES
from gsum_resources.llm.ledger import Ledger, LedgeredModel
from gsum_resources.llm.render import prompt_hash
from gsum_resources.memo import MERGE_AT, Memo, MemoizedEmbedder
from gsum_resources.parquet_store import ParquetStore
from gsum_resources.protocols import Completion, CompletionError, Request
from tests.models import FirstWords, HashEmbedder


@pytest.fixture
def store(tmp_path: Path) -> ParquetStore:
    return ParquetStore(str(tmp_path))


def key(i: int) -> bytes:
    return i.to_bytes(16, "big")


def test_values_are_seen_by_another_process_at_once(store: ParquetStore) -> None:
    mine, theirs = Memo(store, "kind", "model"), Memo(store, "kind", "model")
    mine.put({key(1): b"one", key(2): b""})
    assert theirs.get([key(1), key(2), key(3)]) == {key(1): b"one", key(2): b""}
    assert Memo(store, "kind", "another model").get([key(1)]) == {}


def test_many_segments_are_merged_and_nothing_is_lost(store: ParquetStore) -> None:
    memo, early = Memo(store, "kind", "model"), Memo(store, "kind", "model")
    memo.put({key(0): b"0"})
    assert early.get([key(0)]) == {key(0): b"0"}
    for i in range(1, MERGE_AT + 20):
        memo.put({key(i): str(i).encode()})
    files = list(Path(store.root).rglob("*.parquet"))
    assert len(files) < MERGE_AT
    wanted = {key(i): str(i).encode() for i in range(MERGE_AT + 20)}
    assert Memo(store, "kind", "model").get(wanted) == wanted
    assert early.get(wanted) == wanted


def test_each_distinct_text_is_embedded_once(store: ParquetStore) -> None:
    inner = HashEmbedder()
    embedder = MemoizedEmbedder(inner, store)
    first = embedder.embed(["a", "b", "a"])
    assert inner.n_embedded == 2
    again = MemoizedEmbedder(inner, store).embed(["b", "a"])
    assert inner.n_embedded == 2
    assert (again == first[[1, 0]]).all()
    assert embedder.embed([]).shape == (0, inner.dimension)
    assert np.allclose(np.linalg.norm(first, axis=1), 1)


class Verdict(BaseModel):
    winner: int


def ledgered(store: ParquetStore, model: object) -> LedgeredModel:
    return LedgeredModel(model, store, Ledger(store, TABLES["llm_calls"], "tales", "asset"))  # type: ignore[arg-type]


def calls(store: ParquetStore) -> list[dict]:
    import duckdb

    from gsum_resources.catalogue import define_views

    with duckdb.connect() as connection:
        define_views(connection, store, TABLES.values())
        rows = connection.sql("from llm_calls order by time, cached")
        return [dict(zip(rows.columns, row, strict=True)) for row in rows.fetchall()]


def test_answers_are_asked_once_and_failures_every_time(store: ParquetStore) -> None:
    inner = FirstWords(refuses="dynamite")
    good = Request("answer", "go", "q", ("a boat on a river",))
    bad = Request("answer", "go", "q", ("dynamite",))
    first = ledgered(store, inner).complete([good, bad, good])
    assert [type(reply) for reply in first] == [Completion, CompletionError, Completion]
    assert inner.n_asked == 2  # equal requests in one batch are asked once
    second = ledgered(store, inner).complete([good, bad])
    assert inner.n_asked == 3
    assert isinstance(second[0], Completion)
    assert second[0].cached
    assert second[0].text == "a boat on a river"
    assert isinstance(second[1], CompletionError)
    rows = calls(store)
    assert [row["cached"] for row in rows].count(True) == 1
    assert sum(row["error"] is not None for row in rows) == 2
    assert {row["corpus"] for row in rows} == {"tales"}


def test_parsed_replies_come_back_as_their_schema(store: ParquetStore) -> None:
    class Judge:
        identity = "judge"

        def complete(self, requests: list[Request]) -> list[Completion]:
            return [
                Completion('{"winner": 1}', "judge", 1, 1, 0.0, Verdict(winner=1)) for _ in requests
            ]

    request = Request("score", "go", schema=Verdict)
    ledgered(store, Judge()).complete([request])
    (reply,) = ledgered(store, Judge()).complete([request])
    assert isinstance(reply, Completion)
    assert reply.parsed == Verdict(winner=1)


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
    ],
)
def test_whatever_the_reply_depends_on_tells_requests_apart(other: Request) -> None:
    one = Request("answer", "go", "q", ("a", "bc"))
    assert prompt_hash("model", one) != prompt_hash("model", other)
    assert prompt_hash("model", one) != prompt_hash("model 2", one)
    named = Request("answer", "go", "q", ("a", "bc"), document_id="d")
    assert prompt_hash("model", one) == prompt_hash("model", named)
