"""What each method costs: the index once, and every question after it."""

from collections.abc import Mapping

import pyarrow as pa

from gsum_assets.evaluation.comparisons import as_table
from gsum_assets.tables import RESULT, table_of
from gsum_resources.arrow import pc

_SPENT = ("calls", "tokens_in", "tokens_out", "latency_s", "cost_usd")


def costs(
    summaries: pa.Table,
    seconds: Mapping[tuple[str, str], float],
    calls: pa.Table,
    families: Mapping[str, str],
    n_documents: int,
) -> pa.Table:
    """Rows of the table `costs`.

    A question costs what its answer takes when it is asked afresh, whether or not the memo spared
    it. An index costs each distinct request of its assets once, failed ones included, since the
    ledger began; what was asked of documents that have changed since is among them. All methods of
    a family share its index. Embeddings made on this machine take no calls and no tokens.

    Parameters
    ----------
    summaries : rows of `summaries` of several methods.
    seconds : from question to answer, by method and question.
    calls : rows of `llm_calls` of the corpus.
    families : the family of each method.
    n_documents : documents in the corpus.
    """
    index = _by_family(calls)
    rows = []
    for method in sorted(set(summaries["method"].to_pylist())):
        answers = summaries.filter(pc.equal(summaries["method"], method))
        asked = set(answers["query_id"].to_pylist())
        spent = [pc.sum(answers[name]).as_py() for name in ("calls", "tokens_in", "tokens_out")]
        taken = sum(seconds.get((method, query_id), 0.0) for query_id in asked)
        price = pc.sum(answers["cost_usd"]).as_py()
        rows.append((method, "query", len(asked), *spent, taken, price))
        family = families.get(method, "")
        rows.append((method, "index", n_documents, *index.get(family, (0, 0, 0, 0.0, 0.0))))
    return as_table("costs", sorted(rows, key=lambda row: row[:2]))


def _by_family(calls: pa.Table) -> dict[str, tuple]:
    """Calls, tokens in and out, seconds and price of each family's index."""
    once: dict[tuple[str, str], tuple] = {}
    for row in calls.select(
        ["asset", "prompt_hash", "tokens_in", "tokens_out", "latency_s", "cost_usd", "cached"]
    ).to_pylist():
        family = _indexed_family(row["asset"])
        key = family, row["prompt_hash"]
        if not family or (row["cached"] and key in once):
            continue
        spent = (1, *(row[name] for name in _SPENT[1:]))
        before = once.get(key)
        once[key] = spent if before is None or before[-1] <= spent[-1] else before
    total: dict[str, tuple] = {}
    for (family, _), spent in once.items():
        before = total.get(family, (0, 0, 0, 0.0, 0.0))
        total[family] = tuple(a + b for a, b in zip(before, spent, strict=True))
    return total


def _indexed_family(asset: str) -> str:
    """The family whose index an asset belongs to; "" for answers and what no family owns."""
    family, _, name = asset.partition("/")
    if not name:
        return ""
    try:
        return "" if table_of([family, name]).dimensions == RESULT else family
    except KeyError:  # an asset of an older gsum
        return ""
