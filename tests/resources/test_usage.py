"""What models cost, as metadata of a materialization."""

from pathlib import Path

from gsum_assets.pipeline.tables import TABLES
from gsum_assets.refresh.usage import CountingLedger, Usage
from gsum_resources.embedding.memoized import Batch
from gsum_resources.state.database import CALLS, state_of
from gsum_resources.store.parquet_store import ParquetStore


def row(document_id: str, cached: bool = False, error: str | None = None) -> dict:
    """A row of the ledger: a call of 10 tokens in, 2 out, 0.5 dollars."""
    numbers = {"tokens_in": 10, "tokens_out": 2, "latency_s": 0.1, "calls": 1, "retries": 0}
    flags = {"structured": False, "left_out": 0, "cached": cached, "error": error}
    of = {"corpus": "tales", "asset": "a", "document_id": document_id, "model": "m"}
    cost = 0.0 if cached else 0.5
    return {**numbers, **flags, **of, "prompt_hash": "", "cost_usd": cost, "run_id": "r", "time": 1}


def test_rows_of_the_ledger_are_counted(tmp_path: Path) -> None:
    store, usage = ParquetStore(str(tmp_path)), Usage()
    ledger = CountingLedger(store, TABLES["llm_calls"], "tales", "a", "r", usage)
    ledger.enter([row("one"), row("one", cached=True), row("two", error="no reply"), row("")])
    assert usage.metadata() == {
        "llm/requests": 4,
        "llm/calls": 3,
        "llm/tokens_in": 30,
        "llm/tokens_out": 6,
        "llm/cost_usd": 1.5,
        "llm/failures": 1,
        "llm/cached_share": 0.25,
    }
    with state_of(store).reading() as connection:
        assert len(connection.execute(CALLS.select()).all()) == 4


def test_a_step_without_models_has_none() -> None:
    assert Usage().metadata() == {}
    batches = [Batch("m", 3, 40, 0.1, 0.25), Batch("m", 2, 10, 0.1, 0.25)]
    shown = Usage(batches=batches).metadata()
    assert shown == {"embedding/texts": 5, "embedding/tokens_in": 50, "embedding/cost_usd": 0.5}
