"""Stored tables of a report; nothing is recomputed."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa

from gsum_assets.corpus.document_names import NAMED, shown_names
from gsum_assets.corpus.find import find_corpus
from gsum_assets.evaluation.costs import is_of_index, spent_by_asset
from gsum_assets.pipeline.corpus_settings import CorpusError, corpus_name_problem, load_settings
from gsum_assets.pipeline.tables import TABLES
from gsum_resources.messages.suggest import did_you_mean
from gsum_resources.store.appended import APPENDED, LEDGERS, read_appended
from gsum_resources.store.arrow import pc
from gsum_resources.store.lazy import lazy_rows
from gsum_resources.store.parquet_store import ParquetStore

_RESULTS = ("summaries", "answer_sources", "contexts", "scores")
_OTHERS = ("leaderboard", "comparisons", "costs", "win_rates", "judgements", "queries")
_NOT_OF_INDEX = (
    *("documents", "rejected_documents", "generated_questions", "leaderboard"),
    *("comparisons", "costs", "win_rates", *APPENDED),
)


class IndexTable(NamedTuple):
    """A table that does not depend on questions; `row` completes "One row per …"."""

    name: str
    row: str
    n: int


@dataclass(frozen=True)
class Corpus:
    """Information about a corpus that does not depend on questions; see `spent_by_asset`."""

    n_words: int
    n_chunks: int
    rejected: Sequence[Mapping[str, Any]]
    index: Sequence[IndexTable]
    spent: Mapping[str, tuple]


@dataclass(frozen=True)
class Stored:
    """Tables of a corpus; one that was never written has no rows.

    `time` is that of the newest table, ISO 8601, UTC. `sources` has the rows of `chunks` that
    sentences of answers are from.
    """

    corpus: str
    title: str
    time: str
    methods: Sequence[str]
    titles: dict[str, str]
    known: Corpus
    leaderboard: pa.Table
    comparisons: pa.Table
    costs: pa.Table
    win_rates: pa.Table
    judgements: pa.Table
    queries: pa.Table
    summaries: pa.Table
    answer_sources: pa.Table
    sources: pa.Table
    contexts: pa.Table
    scores: pa.Table


def read_stored(
    store: ParquetStore, corpora: Path, corpus: str, methods: Sequence[str] | None = None
) -> Stored:
    """Read everything that a report on `corpus` shows, of all methods that have results or these.

    Raises `CorpusError` if there is nothing to report on, a method has no results, or a table was
    written by another version.
    """
    if problem := corpus_name_problem(corpus):
        raise CorpusError(f"corpus '{corpus}': {problem}")
    times: list[str] = []
    tables = {name: _read(store, corpus, name, times) for name in _OTHERS}
    if not store.partitions(TABLES["documents"], corpus):
        find_corpus(corpora, corpus)
        raise CorpusError(
            f"corpus '{corpus}' has no table 'documents' yet; run `gsum run {corpus}` first"
        )
    answered = sorted({p.method or "" for p in store.partitions(TABLES["summaries"], corpus)})
    shown = answered if methods is None else list(dict.fromkeys(methods))
    if unknown := [method for method in shown if method not in answered]:
        raise CorpusError(
            f"corpus '{corpus}' has no results of {', '.join(unknown)}; run `gsum run {corpus} "
            f"--methods {','.join(unknown)}` first{did_you_mean(unknown[0], answered)}"
        )
    results = {name: _read(store, corpus, name, times, shown) for name in _RESULTS}
    chunks = lazy_rows(store, TABLES["chunks"], store.partitions(TABLES["chunks"], corpus))
    chunk_ids = pc.unique(results["answer_sources"]["chunk_id"]).drop_null().to_pylist()
    documents = _read(store, corpus, "documents", times, columns=NAMED)
    return Stored(
        corpus=corpus,
        title=load_settings(corpora / corpus).title or corpus,
        time=max(times, default=""),
        methods=shown,
        titles=dict(sorted(shown_names(documents.to_pylist()).items())),
        known=read_corpus(store, corpus),
        sources=chunks.rows_with("chunk_id", chunk_ids),
        **tables,
        **results,
    )


def _read(
    store: ParquetStore,
    corpus: str,
    name: str,
    times: list[str],
    methods: Sequence[str] | None = None,
    columns: Sequence[str] | None = None,
) -> pa.Table:
    """Return the rows of a table, of all or these methods; append its times to `times`."""
    table = TABLES[name]
    partitions = [
        p for p in store.partitions(table, corpus) if methods is None or p.method in methods
    ]
    rows, _ = store.read(table, partitions, columns)
    wanted = columns or [column.name for column in table.columns]
    if missing := [column for column in wanted if column not in rows.column_names]:
        raise CorpusError(
            f"corpus '{corpus}': table '{name}' was written by another version of gsum and has no "
            f"column '{missing[0]}'; run `gsum run {corpus}` first"
        )
    footers = [store.provenance(table, partition) for partition in partitions]
    times += [footer.time for footer in footers if footer]
    return rows


def read_corpus(store: ParquetStore, corpus: str) -> Corpus:
    """Read the information about a corpus, without texts."""

    def rows(name: str, columns: Sequence[str]) -> list[dict[str, Any]]:
        table = TABLES[name]
        return store.read(table, store.partitions(table, corpus), columns)[0].to_pylist()

    index = []
    for name, table in TABLES.items():
        is_index = is_of_index(table) and not name.startswith("source_")
        if is_index and name not in _NOT_OF_INDEX and (n := store.count(table, corpus)):
            index.append(IndexTable(name, table.row, n))
    return Corpus(
        n_words=sum(row["n_words"] for row in rows("documents", ["n_words"])),
        n_chunks=store.count(TABLES["chunks"], corpus),
        rejected=sorted(rows("rejected_documents", ["file", "reason"]), key=lambda r: r["file"]),
        index=index,
        spent=spent_by_asset(*(read_appended(store, TABLES[name], corpus) for name in LEDGERS)),
    )
