"""What a person can do with what a run made, as commands that can be pasted."""

import re
import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path

from gsum_assets.corpus.queries import QUERIES_FILE
from gsum_assets.evaluation.suggested_question import Text, suggest_question
from gsum_assets.tables import TABLES
from gsum_resources.parquet_store import ParquetStore

_N_READ = 8  # documents that a suggested question is chosen from
_EXAMPLE = '{"text": "…", "references": ["…"]}'


def next_steps(store: ParquetStore, corpus: str, folder: Path) -> list[str]:
    """Return the lines that follow a run; [] where nothing can be asked yet.

    Parameters
    ----------
    folder : of the corpus, where questions are added.
    """
    if not store.count(TABLES["chunks"], corpus):
        return []
    if not store.count(TABLES["queries"], corpus):
        return list(_without_questions(store, corpus, folder))
    return ["next:", *_aligned(_with_questions(store, corpus))]


def _without_questions(store: ParquetStore, corpus: str, folder: Path) -> Iterator[str]:
    question = suggest_question(_first_documents(store, corpus))
    yield "next:"
    yield f"  gsum ask {corpus} {quoted(question)}"
    yield from _aligned([("gsum ui", "documents, passages and lineage in the Dagster UI")])
    yield f"{corpus} has no question to measure answers by; to add some, write a line for each to"
    yield f"  {folder / QUERIES_FILE}: {_EXAMPLE}"
    yield f"  gsum run {corpus} --methods default"


def _with_questions(store: ParquetStore, corpus: str) -> Iterator[tuple[str, str]]:
    yield f'gsum ask {corpus} "…"', "an answer with its passages"
    made = {name: store.count(TABLES[name], corpus) for name in ("leaderboard", "summaries")}
    if made["leaderboard"]:
        yield _select("method, metric, mean", "leaderboard", corpus), ""
    elif made["summaries"]:  # nothing to measure them by
        yield _select("method, query_id, text", "summaries", corpus), ""
    if made["summaries"]:
        yield f"gsum report {corpus}", "every answer, with its passages, as one HTML file"
    shown = "lineage, plots and the leaderboard" if made["leaderboard"] else "lineage and tables"
    yield "gsum ui", f"{shown} in the Dagster UI"


def _select(columns: str, table: str, corpus: str) -> str:
    return f"gsum sql \"select {columns} from {table} where corpus = '{corpus}'\""


def _aligned(steps: Iterator[tuple[str, str]] | Sequence[tuple[str, str]]) -> list[str]:
    """Return commands, each with what it gives beside it."""
    steps = list(steps)
    width = max((len(command) for command, gives in steps if gives), default=0)
    return [f"  {command:<{width}}    {gives}".rstrip() for command, gives in steps]


def quoted(text: str) -> str:
    """Return a text as one word of a shell; in double quotes where they are safe."""
    return f'"{text}"' if not re.search(r'["$`\\!\x00-\x1f]', text) else shlex.quote(text)


def _first_documents(store: ParquetStore, corpus: str) -> list[Text]:
    """Return the first documents by bucket and id, so that a large corpus is not read whole."""
    table = TABLES["documents"]
    found: list[Text] = []
    for partition in store.partitions(table, corpus):
        rows, _ = store.read(table, [partition], ["document_id", "title", "text"])
        ordered = sorted(rows.to_pylist(), key=lambda row: row["document_id"])
        found += [Text(row["title"], row["text"]) for row in ordered]
        if len(found) >= _N_READ:
            break
    return found[:_N_READ]
