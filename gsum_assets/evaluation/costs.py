"""What each method costs: the index once, and every question after it."""

from collections.abc import Collection, Iterable, Mapping
from typing import Any

import pyarrow as pa

from gsum_assets.evaluation.comparisons import as_table
from gsum_assets.tables import TABLES
from gsum_resources.arrow import pc
from gsum_resources.parquet_store import ParquetStore
from gsum_resources.table import Table

_SPENT = ("tokens_in", "tokens_out", "latency_s", "cost_usd")
_NOT_INDEXED = frozenset({"queries", "summaries", "scores"})  # made for questions alone
_QUESTIONS = "query_embeddings"  # made for questions, and shared by all methods that read it


def costs(
    summaries: pa.Table,
    seconds: Mapping[tuple[str, str], float],
    calls: pa.Table,
    embeddings: pa.Table,
    shared: Mapping[str, Collection[str]],
    n_documents: int,
) -> pa.Table:
    """Rows of the table `costs`.

    A question costs what its answer takes when it is asked afresh, whether or not the memo spared
    it. An index costs each distinct request of its assets once, failed ones included, and each
    batch of embeddings, since the ledgers began; what was asked of documents that have changed
    since is among them. The questions of a method that reads their vectors cost each batch of
    `query_embeddings` likewise. Methods that depend on the same assets share their costs.

    Parameters
    ----------
    summaries : rows of `summaries` of several methods.
    seconds : from question to answer, by method and question.
    calls, embeddings : rows of `llm_calls` and `embedding_calls` of the corpus.
    shared : the assets that each method depends on, as `shared_assets` gives them.
    n_documents : documents in the corpus.
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
    """Return calls, tokens in and out, seconds and US dollars of each asset's distinct requests.

    Parameters
    ----------
    calls, embeddings : rows of `llm_calls` and `embedding_calls` of a corpus.
    """
    import pandas as pd

    columns = ["asset", "prompt_hash", *_SPENT, "cached"]
    # A request stands there once for each time it was made; what the memo gave took nothing.
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
    """Whether a table is made before a question is asked; questions simulated of documents are."""
    return "query_id" not in table.schema.names or "bucket" in table.dimensions


def shared_assets(store: ParquetStore, corpus: str, method: str) -> set[str]:
    """Return the assets of the index that a method's contexts depend on, however far up.

    The provenance of their files names them. Of what is made for questions, only their vectors
    are among them.
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
            keys = [key for key in footer.inputs if key.startswith("table:")]
            open_ += [key.removeprefix("table:").split("/")[0] for key in keys]
    return assets
