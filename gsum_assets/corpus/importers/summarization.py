"""Benchmarks with one reference summary per document: WCEP, BookSum, GovReport, AcademicEval.

Each document gets one general question, since the sources have none.
"""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from gsum_assets.corpus.importers.benchmark import Benchmark, Contents, slug
from gsum_assets.corpus.importers.source import (
    each_row,
    missing,
    read_json,
    split_of,
    split_rows,
)

_TABLES = ("*.jsonl", "*.csv", "*.parquet", "*.json", "*.txt")
_N_ARTICLES = 10  # what the "10" in WCEP-10 stands for
_ACADEMICEVAL_SETTING = "abs_9K"  # the abstract writing subset, used by gor (A.1)


def _ask(
    contents: Contents, document_id: str, question: str, summaries: Iterable[str], split: str
) -> None:
    """Add the only question of a document."""
    query_id = f"{document_id}-summary"
    contents.ask(query_id, question, summaries, split=split, document_id=document_id)


def _read_wcep(contents: Contents, split: str, line: int, row: dict[str, Any]) -> None:
    """Add a news event; its document joins its first ten different articles (protocol of gor)."""
    parts = [[item.get("title") or "", item.get("text") or ""] for item in row["articles"]]
    articles = ["\n".join(p.strip() for p in part if p.strip()) for part in parts]
    document_id, summary = f"wcep-{split}-{line:05d}", row["summary"]
    text = "\n\n".join(list(dict.fromkeys(articles))[:_N_ARTICLES])
    contents.add(document_id, row.get("title") or "", text)
    question = row.get("query") or "Summarize the news about this event."
    _ask(contents, document_id, question, [summary] if isinstance(summary, str) else summary, split)


def _read_booksum(source: Path) -> Contents:
    """Read chapters of BookSum (Kryściński et al., 2021); summaries of all sites are references."""
    contents = Contents()
    summaries: dict[str, tuple[str, list[str]]] = {}  # document id: split, summaries
    folders = ("alignments/chapter-level-summary-alignments",)
    for split, _, row in split_rows(source, _TABLES, folders, ("bid", "book_id")):
        text, summary = row.get("chapter"), row.get("summary_text") or row.get("summary")
        if not text or not summary:
            contents.counts["summaries without chapter or text left out"] += 1
            continue
        stem = Path(row.get("chapter_path") or row["book_id"]).name.removesuffix(".txt")
        document_id = f"booksum-{row['bid']}-{slug(stem)}"
        if document_id not in summaries:
            contents.add(document_id, row["book_id"], text)
        summaries.setdefault(document_id, (split, []))[1].append(summary)
    for document_id, (split, texts) in summaries.items():
        _ask(contents, document_id, "Summarize the chapter.", dict.fromkeys(texts), split)
    return contents


def _read_govreport(contents: Contents, split: str, line: int, row: dict[str, Any]) -> None:
    """Add a report of GovReport (Huang et al., 2021) from the hub's rows of texts."""
    document_id = f"govreport-{slug(str(row.get('id') or f'{split}-{line:05d}'))}"
    contents.add(document_id, "", row["report"] if "report" in row else row["document"])
    _ask(contents, document_id, "Summarize the report.", [row["summary"]], split)


def _read_academiceval(source: Path) -> Contents:
    """Read AcademicEval, abstract writing: the body is the document, the abstract the answer."""
    nested = source / _ACADEMICEVAL_SETTING
    folder = nested if nested.is_dir() else source
    files = sorted(folder.rglob("*.json*")) if folder.is_dir() else [folder]
    if not files:
        raise missing(source, "JSON files of papers with main_content")
    contents = Contents()
    document_ids: set[str] = set()
    for file in files:
        where = file.relative_to(folder).as_posix() if folder.is_dir() else file.name
        value = read_json(file)
        for line, paper in enumerate(value if isinstance(value, list) else [value], start=1):
            name = paper.get("url") or f"{where.partition('.json')[0]}-{line}"
            document_id = f"academiceval-{slug(str(name).rstrip('/').rpartition('/')[2])}"
            if document_id not in document_ids:
                document_ids.add(document_id)
                contents.add(document_id, paper.get("title") or "", paper["main_content"])
                abstract, split = paper.get("gt") or paper["abstract"], split_of(where) or "test"
                question = "Write an abstract of this paper."
                _ask(contents, document_id, question, [abstract], split)
    return contents


BENCHMARKS = {
    "wcep": Benchmark(  # Gholipour Ghalandari et al., 2020
        "WCEP-10 news events",
        "news",
        "train, val, test as jsonl with summary and articles",
        each_row(_read_wcep, *_TABLES, required=("summary", "articles")),
    ),
    "booksum": Benchmark(
        "BookSum chapters",
        "story",
        "chapter rows (jsonl, csv or parquet) with bid, book_id, chapter and summary_text",
        _read_booksum,
    ),
    "govreport": Benchmark(
        "GovReport reports",
        "report",
        "rows of report (document) and summary, with train, val or test in the name of the file",
        each_row(_read_govreport, *_TABLES, folders=("data",), required=("summary",)),
    ),
    "academiceval": Benchmark(
        "AcademicEval papers",
        "paper",
        "a folder abs_9K of JSON files with title, abstract, main_content, gt, or one such file",
        _read_academiceval,
    ),
}
