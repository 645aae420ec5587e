"""Answers and rankings to scores, one row a question and metric."""

from collections import defaultdict
from collections.abc import Iterator, Sequence

import pyarrow as pa

from gsum_assets.evaluation.retrieval_metrics import retrieval_metrics
from gsum_assets.evaluation.rouge import METRICS, rouge
from gsum_assets.tables import TABLES
from gsum_resources.arrow import pc

CUT_OFFS = (1, 3, 6, 8, 10)  # those of the papers: gor 6, gae 3, 8, 10, lightpal 10
Row = tuple[str, str, float]  # query id, metric, value


def score_answers(queries: pa.Table, summaries: pa.Table, rankings: pa.Table) -> pa.Table:
    """Rows of the table `scores`.

    ROUGE where a question has references, averaged over the samples of its answer; retrieval
    metrics at document level where it concerns the whole corpus (a question about one document
    has nothing to find).
    """
    asked = {row["query_id"]: row for row in queries.to_pylist()}
    rows = sorted([*_rouge_rows(asked, summaries), *_retrieval_rows(asked, rankings, CUT_OFFS)])
    seconds = _latencies(summaries, rankings)
    return pa.table(
        [
            [query_id for query_id, _, _ in rows],
            [metric for _, metric, _ in rows],
            [value for _, _, value in rows],
            [seconds.get(query_id, 0.0) for query_id, _, _ in rows],
        ],
        schema=TABLES["scores"].schema,
    )


def _latencies(summaries: pa.Table, rankings: pa.Table) -> dict[str, float]:
    """Seconds from question to answer: ranking, and the calls for all samples of the answer."""
    best = rankings.filter(pc.equal(rankings["rank"], 1))
    seconds = dict(zip(best["query_id"].to_pylist(), best["latency_s"].to_pylist(), strict=True))
    for row in summaries.select(["query_id", "latency_s"]).to_pylist():
        seconds[row["query_id"]] = seconds.get(row["query_id"], 0.0) + row["latency_s"]
    return seconds


def _rouge_rows(asked: dict[str, dict], summaries: pa.Table) -> Iterator[Row]:
    texts: dict[str, list[str]] = defaultdict(list)
    for row in summaries.select(["query_id", "text"]).to_pylist():
        texts[row["query_id"]].append(row["text"])
    for query_id, samples in texts.items():
        references = asked[query_id]["references"] if query_id in asked else []
        if not references:
            continue
        scored = [rouge(text, references) for text in samples]
        for metric in METRICS:
            yield query_id, metric, sum(s[metric] for s in scored) / len(scored)


def _retrieval_rows(
    asked: dict[str, dict], rankings: pa.Table, cut_offs: Sequence[int]
) -> Iterator[Row]:
    ranked: dict[str, list[tuple[int, str]]] = defaultdict(list)
    for row in rankings.select(["query_id", "level", "rank", "item_id"]).to_pylist():
        if row["level"] == "document":
            ranked[row["query_id"]].append((row["rank"], row["item_id"]))
    for query_id, items in ranked.items():
        question = asked.get(query_id)
        if question is None or question["document_id"] is not None:
            continue
        ids = [item for _, item in sorted(items)]
        found = retrieval_metrics(ids, question["relevant_document_ids"], cut_offs)
        for metric, value in (found or {}).items():
            yield query_id, metric, value
