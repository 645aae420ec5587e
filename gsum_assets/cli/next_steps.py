"""Suggested commands after a run, ready to be pasted into a shell."""

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from gsum_assets.corpus.queries import QUERIES_FILE
from gsum_assets.evaluation.suggested_question import Text, suggest_question
from gsum_assets.pipeline.tables import TABLES
from gsum_resources.store.parquet_store import ParquetStore

_N_READ = 8  # documents that a suggested question is chosen from
_COUNTED = ("chunks", "queries", "leaderboard", "summaries")
_EXAMPLE = '{"text": "…", "references": ["…"]}'


def next_steps(store: ParquetStore, corpus: str, folder: Path) -> list[str]:
    """Return the lines to print after a run; [] if no question can be answered yet.

    Parameters
    ----------
    folder : the corpus folder, where questions are added.
    """
    n_rows = store.counts([TABLES[name] for name in _COUNTED], corpus)
    if not n_rows["chunks"]:
        return []
    if not n_rows["queries"]:
        question = suggest_question(_first_documents(store, corpus))
        return [
            "next:",
            f"  gsum ask {corpus} {quoted(question)}",
            *_aligned([("gsum ui", "documents, passages and lineage in the Dagster UI")]),
            f"{corpus} has no questions to measure answers by; to add some, "
            "write a line for each to",
            f"  {folder / QUERIES_FILE}: {_EXAMPLE}",
            f"  gsum run {corpus} --methods default",
        ]
    return ["next:", *_aligned(_with_questions(n_rows, corpus))]


def _with_questions(n_rows: Mapping[str, int], corpus: str) -> Iterator[tuple[str, str]]:
    yield f'gsum ask {corpus} "…"', "an answer with its passages"
    if n_rows["leaderboard"]:
        yield _select("method, metric, mean", "leaderboard", corpus), ""
    elif n_rows["summaries"]:  # no references to score them by
        yield _select("method, query_id, text", "summaries", corpus), ""
    if n_rows["summaries"]:
        yield f"gsum report {corpus}", "every answer, with its passages, as one HTML file"
    shown = "lineage, plots and the leaderboard" if n_rows["leaderboard"] else "lineage and tables"
    yield "gsum ui", f"{shown} in the Dagster UI"


def _select(columns: str, table: str, corpus: str) -> str:
    return f"gsum sql \"select {columns} from {table} where corpus = '{corpus}'\""


def _aligned(steps: Iterator[tuple[str, str]] | Sequence[tuple[str, str]]) -> list[str]:
    """Return commands, each with its result described beside it."""
    steps = list(steps)
    width = max((len(command) for command, gives in steps if gives), default=0)
    return [f"  {command:<{width}}    {gives}".rstrip() for command, gives in steps]


def quoted(text: str) -> str:
    """Return a text as one shell word, in double quotes if they are safe."""
    return f'"{text}"' if not re.search(r'["$`\\!\x00-\x1f]', text) else shlex.quote(text)


def _first_documents(store: ParquetStore, corpus: str) -> list[Text]:
    """Return the first documents by bucket and id, without reading the whole corpus."""
    table = TABLES["documents"]
    texts: list[Text] = []
    for partition in store.partitions(table, corpus):
        rows, _ = store.read(table, [partition], ["document_id", "title", "text"])
        ordered = sorted(rows.to_pylist(), key=lambda row: row["document_id"])
        texts += [Text(row["title"], row["text"]) for row in ordered]
        if len(texts) >= _N_READ:
            break
    return texts[:_N_READ]
