"""Costs of each method, separately for the index and for questions."""

from collections.abc import Collection, Iterable, Mapping
from typing import Any

import pyarrow as pa

from gsum_assets.evaluation.comparisons import as_table
from gsum_assets.pipeline.tables import TABLES
from gsum_resources.store.arrow import pc
from gsum_resources.store.input_key import InputKey
from gsum_resources.store.parquet_store import ParquetStore
from gsum_resources.store.table import Table

_SPENT = ("tokens_in", "tokens_out", "latency_s", "cost_usd")
_NOT_INDEXED = frozenset({"queries", "summaries", "scores"})  # computed for questions only
_QUESTIONS = "query_embeddings"  # computed for questions, shared by all methods that read it


def costs(
    summaries: pa.Table,
    seconds: Mapping[tuple[str, str], float],
    calls: pa.Table,
    embeddings: pa.Table,
    shared: Mapping[str, Collection[str]],
    n_documents: int,
) -> pa.Table:
    """Return rows of the table `costs`.

    The cost of a question is that of its answer without the memo; for a method that reads vectors
    of questions, with the batches of `query_embeddings`. The cost of an index is that of all
    distinct requests and batches of embeddings of its assets, failed and outdated ones included.
    Methods that depend on the same assets share their costs.

    Parameters `seconds`: from question to answer, by method and question; `shared`: the assets that
    each method depends on, see `shared_assets`.
    """
    of_asset, rows = spent_by_asset(calls, embeddings), []
    for method in sorted(set(summaries["method"].to_pylist())):
        answers = summaries.filter(pc.equal(summaries["method"], method))
        questions = set(answers["query_id"].to_pylist())
        spent = [pc.sum(answers[name]).as_py() for name in ("calls", "tokens_in", "tokens_out")]
        duration = sum(seconds.get((method, query_id), 0.0) for query_id in questions)
        price = pc.sum(answers["cost_usd"]).as_py()
        assets = set(shared.get(method, ()))
        vectors = of_asset.get(_QUESTIONS, _NOTHING) if _QUESTIONS in assets else _NOTHING
        query = _added([(*spent, duration, price), vectors])
        rows.append((method, "query", len(questions), *query))
        index = (of_asset[asset] for asset in assets - {_QUESTIONS} if asset in of_asset)
        rows.append((method, "index", n_documents, *_added(index)))
    return as_table("costs", sorted(rows, key=lambda row: row[:2]))


_NOTHING = (0, 0, 0, 0.0, 0.0)  # calls, tokens in and out, seconds, price


def _added(amounts: Iterable[tuple]) -> tuple:
    return tuple(sum(column) for column in zip(_NOTHING, *amounts, strict=True))


def spent_by_asset(calls: pa.Table, embeddings: pa.Table) -> dict[str, tuple]:
    """Return calls, tokens in and out, seconds and US dollars of each asset's distinct requests."""
    import pandas as pd

    columns = ["asset", "prompt_hash", *_SPENT, "cached"]
    # a repeated request has several rows; rows from the memo have no cost
    requests: Any = calls.select(columns).to_pandas()
    requests = requests.sort_values(["latency_s", "cost_usd"]).sort_values(
        "cached", ascending=False, kind="stable"
    )
    requests = requests.drop_duplicates(["asset", "prompt_hash"], keep="last").assign(calls=1)
    embedded: Any = embeddings.select(["asset", "tokens_in", "latency_s", "cost_usd"]).to_pandas()
    embedded = embedded.assign(calls=0, tokens_out=0)  # no calls of a language model
    spent: Any = pd.concat([requests, embedded])
    total = spent.groupby("asset")[["calls", *_SPENT]].sum()
    return {asset: tuple(amounts) for asset, *amounts in total.itertuples(name=None)}


def is_of_index(table: Table) -> bool:
    """Return whether a table is part of the index; questions simulated from documents are."""
    return "query_id" not in table.schema.names or "bucket" in table.dimensions


def shared_assets(store: ParquetStore, corpus: str, method: str) -> set[str]:
    """Return all assets of the index on which a method's contexts depend.

    They are found through the provenance of the files. Of the tables computed for questions, only
    the vectors are included.
    """
    assets: set[str] = set()
    visited: set[str] = set()
    open_ = ["contexts"]
    while open_:
        table = TABLES.get(open_.pop())
        if table is None or table.name in visited or table.name in _NOT_INDEXED:
            continue
        visited.add(table.name)
        for partition in store.partitions(table, corpus):
            footer = store.provenance(table, partition)
            if footer is None or partition.method not in (None, method):
                continue
            if is_of_index(table) or table.name == _QUESTIONS:
                assets.add(footer.asset)
            open_ += [key.name for key in map(InputKey.parse, footer.inputs) if key.kind == "table"]
    return assets
