"""A small corpus with results of three methods, its texts at the caller's choice."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import pyarrow as pa

from gsum_assets.corpus.load import bucket_of
from gsum_assets.evaluation.comparisons import comparisons, groups
from gsum_assets.evaluation.judges.win_rates import win_rates
from gsum_assets.evaluation.leaderboard import leaderboard
from gsum_assets.pipeline.tables import TABLES
from gsum_assets.report.stored import Stored, read_stored
from gsum_resources.store.parquet_store import ParquetStore, Partition, Provenance
from tests.rows import QUESTION

CORPUS = "tales"
METHODS = ("bm25", "dense", "full_context")
DOCUMENTS = ("harbour", "orchard")
N_PASSAGES = 20  # of a document; `full_context` uses all, the others three
JUDGED = ("comparisons", "costs", "win_rates", "judgements")


def question_of(i: int) -> dict:
    """The first question is general and about the corpus, the others about a document."""
    document = None if i == 0 else DOCUMENTS[i % 2]
    return (
        QUESTION
        | {"query_id": f"q{i}", "text": f"What of question {i}?"}
        | {"kind": "specific" if i else "general", "document_id": document}
        | {"references": [f"Reference to question {i}."], "relevant_chunk_ids": ["harbour-1"]}
        | {"split": ("dev", "test")[i % 2]}
    )


def write_tables(
    root: Path,
    n: int = 4,
    text: str = "",
    left_out: Sequence[str] = (),
    metrics: Sequence[str] = ("rouge1", "mrr", "ndcg@8"),
) -> ParquetStore:
    """Write `n` questions with everything about them under `root`.

    Parameters
    ----------
    text : put into every text that a document, a question, an answer or a judge brings.
    left_out : tables that were never written.
    """
    questions = [question_of(i) | {"text": f"What of question {i}? {text}"} for i in range(n)]
    for question in questions:
        question["references"] = [f"{reference} {text}" for reference in question["references"]]
    judges = _table("judgements", _judgements(questions, text))
    scores = _scores(questions, metrics)
    query_table = _table("queries", questions)
    with_method = [
        _table("scores", rows).append_column("method", pa.array([method] * len(rows), pa.string()))
        for method, rows in scores.items()
    ]
    grouped = groups(query_table, pa.concat_tables(with_method)) if n else []
    compared = comparisons(grouped)
    of_corpus = {
        "queries": query_table,
        "leaderboard": leaderboard(grouped, compared, {}),
        "comparisons": compared,
        "costs": _table("costs", _costs(n)),
        "judgements": judges,
        "win_rates": win_rates(judges),
    }
    store = ParquetStore(str(root))
    for name, rows in of_corpus.items():
        if name not in left_out:
            _write(store, name, Partition(CORPUS), rows)
    for document in DOCUMENTS:
        row = {"document_id": document, "title": f"The {document} {text}", "text": "", "n_words": 0}
        partition = Partition(CORPUS, bucket_of(document))
        _write(store, "documents", partition, _table("documents", [row]))
        _write(store, "chunks", partition, _table("chunks", _chunks(document, text)))
    for method in METHODS:
        partition = Partition(CORPUS, method=method)
        _write(store, "summaries", partition, _table("summaries", _answers(method, n, text)))
        _write(store, "contexts", partition, _table("contexts", _contexts(method, n, text)))
        if n:
            _write(store, "answer_sources", partition, _table("answer_sources", SOURCES))
        _write(store, "scores", partition, _table("scores", scores[method]))
    return store


SOURCES = [  # of the first three sentences of the answers to the first question
    {"query_id": "q0", "sample": 0, "sentence": sentence, "source": 1, "text": "", "kind": kind}
    | {"rank": rank, "cited": cited, "chunk_id": chunk_id, "document_id": document_id}
    | {"start_char": start, "end_char": end, "support": None}
    for sentence, kind, rank, cited, chunk_id, document_id, start, end in (
        (1, "quoted", 3, None, "harbour-2", "harbour", 2000, 2024),
        (2, "none", None, None, None, None, None, None),
        (3, "unsupported", None, 7, None, None, None, None),
    )
]


def _chunks(document: str, text: str) -> list[dict]:
    """The passages of a document as in `_contexts`, 1,000 characters apart."""
    texts = [f"Passage {position} of the {document}. {text}" for position in range(N_PASSAGES)]
    return [
        {"chunk_id": f"{document}-{i}", "document_id": document, "position": i}
        | {"start": 1000 * i, "end": 1000 * i + len(passage), "n_tokens": 5, "text": passage}
        for i, passage in enumerate(texts)
    ]


def stored(root: Path, **how: object) -> Stored:
    """Return the tables of `write_tables` as a report reads them."""
    store = write_tables(root / "warehouse", **how)
    return read_stored(store, root / "corpora", CORPUS)


def _table(name: str, rows: Sequence[Mapping]) -> pa.Table:
    return pa.Table.from_pylist(list(rows), TABLES[name].schema)


def _write(store: ParquetStore, name: str, partition: Partition, rows: pa.Table) -> None:
    written = Provenance("", "1", asset=name, time="2026-11-20T10:00:00+00:00")
    store.write(TABLES[name], partition, rows, written)


def _answers(method: str, n: int, text: str) -> list[dict]:
    used = {"model": "scribe", "calls": 1, "tokens_in": 900, "tokens_out": 80}
    used |= {"is_refusal": False, "latency_s": 0.5, "cost_usd": 0.001}
    return [
        {"query_id": f"q{i}", "sample": 0, "text": f"Answer of {method} to {i}. {text}", **used}
        for i in range(n)
    ]


def _contexts(method: str, n: int, text: str) -> list[dict]:
    positions = range(N_PASSAGES) if method == "full_context" else range(3)
    return [
        {"query_id": f"q{i}", "sample": 0, "rank": position + 1}
        | {"node_id": f"{DOCUMENTS[i % 2]}-{position}", "node_kind": "chunk"}
        | {"document_id": DOCUMENTS[i % 2], "position": position, "score": 1 - position / 100}
        | {"text": f"Passage {position} of the {DOCUMENTS[i % 2]}. {text}"}
        for i in range(n)
        for position in positions
    ]


def _scores(questions: Sequence[Mapping], metrics: Sequence[str]) -> dict[str, list[dict]]:
    """`bm25` is best and `full_context` worst, far apart."""
    return {
        method: [
            {"query_id": question["query_id"], "metric": metric}
            | {"value": 0.9 - 0.3 * worse - 0.01 * (i % 2), "latency_s": 0.1}
            for i, question in enumerate(questions)
            for metric in metrics
        ]
        for worse, method in enumerate(METHODS)
    }


def _costs(n: int) -> list[dict]:
    used = {"calls": n, "tokens_in": 900 * n, "tokens_out": 80 * n, "latency_s": 0.6 * n}
    return [
        {"method": method, "stage": stage, "n": n, "cost_usd": 0.001 * (i + 1) * n, **used}
        for i, method in enumerate(METHODS)
        for stage in ("index", "query")
    ]


def _judgements(questions: Sequence[Mapping], text: str) -> list[dict]:
    rows = []
    for question in questions:
        common = {"query_id": question["query_id"], "repeat": 1, "model": "judge"}
        common |= {"is_own": False, "share_shown": None}
        common["reason"] = f"It says more. {text}"
        for first in ("bm25", "dense"):
            pair = {"method": "bm25", "opponent": "dense", "first": first}
            found = {"judge": "pairwise", "criterion": "overall", "verdict": "win", "value": 1.0}
            rows.append(common | pair | found)
        grade = {"judge": "g_eval", "criterion": "relevance", "verdict": "4", "value": 4.0}
        rows.append(common | {"method": "bm25", "opponent": None, "first": None} | grade)
    return rows
