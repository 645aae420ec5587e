"""Costs against sums worked out by hand."""

from pathlib import Path

import pyarrow as pa
import pytest

from gsum_assets.evaluation.costs import costs, shared_assets
from gsum_assets.pipeline.tables import TABLES
from gsum_resources.store.parquet_store import ParquetStore, Partition, Provenance
from tests.rows import rows_of


def summaries(**calls: int) -> pa.Table:
    rows = (
        {"query_id": query_id, "calls": n, "tokens_in": 10 * n, "tokens_out": n}
        | {"latency_s": 1.0, "cost_usd": 0.5 * n}
        for query_id, n in calls.items()
    )
    rows_table = rows_of("summaries", rows)
    return rows_table.append_column("method", pa.repeat(pa.scalar("gor"), rows_table.num_rows))


def call(asset: str, prompt: str, cost: float, cached: bool = False) -> dict:
    return (
        {"asset": asset, "document_id": "d", "model": "m", "prompt_hash": prompt}
        | {"tokens_in": 100, "tokens_out": 20, "latency_s": 0.0 if cached else 2.0, "retries": 0}
        | {"cached": cached, "cost_usd": cost, "error": None, "time": None}
    )


def calls(*rows: dict) -> pa.Table:
    return pa.Table.from_pylist([row | {"time": 0} for row in rows], TABLES["llm_calls"].schema)


def batches(*rows: tuple[str, int, float]) -> pa.Table:
    rows_table = [
        {"asset": asset, "model": "e", "n_texts": 3, "tokens_in": tokens, "latency_s": 1.5}
        | {"cost_usd": cost, "time": 0}
        for asset, tokens, cost in rows
    ]
    return pa.Table.from_pylist(rows_table, TABLES["embedding_calls"].schema)


def test_index_and_questions_are_separate() -> None:
    ledger = calls(
        call("gor/responses", "a", 0.0, cached=True),  # cached when it was requested again …
        call("gor/responses", "a", 0.25),  # … and paid for once
        call("gor/responses", "a", 0.0, cached=True),
        call("gor/responses", "b", 0.5),
        call("elsewhere", "c", 9.0),
    )
    embedded = batches(
        ("chunk_embeddings", 1000, 0.125), ("query_embeddings", 40, 0.5), ("elsewhere", 5000, 9.0)
    )
    seconds = {("gor", "q"): 3.0, ("gor", "p"): 4.0}
    shared = {"gor": {"gor/responses", "chunk_embeddings", "chunks", "query_embeddings"}}
    found = costs(summaries(q=1, p=2), seconds, ledger, embedded, shared, 7).to_pylist()
    index, query = sorted(found, key=lambda row: row["stage"])
    assert (index["n"], index["calls"], index["tokens_out"]) == (7, 2, 40)
    assert index["tokens_in"] == 2 * 100 + 1000
    assert index["cost_usd"] == pytest.approx(0.25 + 0.5 + 0.125)
    assert index["latency_s"] == pytest.approx(2 * 2.0 + 1.5)
    assert (query["n"], query["calls"], query["tokens_out"]) == (2, 3, 3)
    assert query["tokens_in"] == 30 + 40  # the answers', and the questions' own
    assert (query["latency_s"], query["cost_usd"]) == (7.0 + 1.5, 1.5 + 0.5)


def test_question_embedding_costs_count_for_readers_of_vectors() -> None:
    embedded = batches(("query_embeddings", 40, 0.5))
    found = costs(summaries(q=1), {}, calls(), embedded, {"gor": {"chunks"}}, 7).to_pylist()
    assert {row["stage"]: row["tokens_in"] for row in found} == {"index": 0, "query": 10}


def test_index_costs_follow_file_dependencies(tmp_path: Path) -> None:
    store = ParquetStore(str(tmp_path))

    def record(table: str, asset: str, *inputs: str, method: str | None = None) -> None:
        declared = TABLES[table]
        bucket = "00" if "bucket" in declared.dimensions else None
        where = Partition("tales", bucket, method)
        keys = {f"table:{name}/corpus=tales": "v" for name in inputs}
        provenance = Provenance("", "1", {**keys, "model:x": "v"}, asset)
        store.write(declared, where, declared.empty(), provenance)

    record("chunks", "chunks", "documents")
    record("documents", "documents")
    record("chunk_embeddings", "chunk_embeddings", "chunks")
    record("generated_questions", "generated_questions")
    record("queries", "queries", "generated_questions")
    record("rankings", "retrieval/rankings", "chunks", "queries", method="bm25")
    record("contexts", "retrieval/contexts", "rankings", "chunks", method="bm25")
    record("query_embeddings", "query_embeddings", "queries")
    record(
        "rankings",
        "retrieval/rankings",
        "chunk_embeddings",
        "queries",
        "query_embeddings",
        method="dense",
    )
    record("contexts", "retrieval/contexts", "rankings", method="dense")
    assert shared_assets(store, "tales", "bm25") == {"chunks", "documents"}
    vectors = {"chunk_embeddings", "query_embeddings"}
    assert shared_assets(store, "tales", "dense") == {"chunks", "documents", *vectors}
    assert shared_assets(store, "tales", "unknown") == set()
