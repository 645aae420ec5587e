"""Benchmarks with one reference summary per document: WCEP, BookSum, GovReport, AcademicEval.

Each document gets one general question, since the sources have none.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from gsum_assets.corpus.importers.benchmark import Benchmark, Contents, slug
from gsum_assets.corpus.importers.source import (
    each_row,
    find_file,
    missing,
    read_json,
    read_rows,
    read_text,
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
    if "articles" in row:
        parts = [[item.get("title") or "", item.get("text") or ""] for item in row["articles"]]
        articles = ["\n".join(p.strip() for p in part if p.strip()) for part in parts]
    else:
        items = row["document"]
        items = items.split("</s>") if isinstance(items, str) else items
        articles = [item.strip() for item in items if item.strip()]
    document_id, summary = f"wcep-{split}-{line:05d}", row["summary"]
    text = "\n\n".join(list(dict.fromkeys(articles))[:_N_ARTICLES])
    contents.add(document_id, row.get("title") or "", text)
    question = row.get("query") or "Summarize the news about this event."
    _ask(contents, document_id, question, [summary] if isinstance(summary, str) else summary, split)


def _read_booksum(source: Path) -> Contents:
    """Read chapters of BookSum (Kryściński et al., 2021); summaries of all sites are references."""
    folder = source if source.is_dir() else source.parent
    contents = Contents()
    summaries: dict[str, tuple[str, list[str]]] = {}  # document id: split, summaries
    folders = ("alignments/chapter-level-summary-alignments",)
    for split, _, row in split_rows(source, _TABLES, folders, ("bid", "book_id")):
        text = row.get("chapter")
        if not text and row.get("chapter_path"):
            file = find_file(folder, row["chapter_path"])
            text = read_text(file) if file else ""
        summary = row.get("summary_text") or row.get("summary")
        if not summary and row.get("summary_path"):
            file = find_file(folder, row["summary_path"])
            value = read_json(file)["summary"] if file else ""
            summary = value if isinstance(value, str) else "\n".join(value)
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


def _read_govreport(source: Path) -> Contents:
    """Read GovReport (Huang et al., 2021): the official JSON files, or the hub's rows of texts."""
    contents = Contents()
    for split, name, title, text, summary in (
        _official_reports(source) if (source / "split_ids").is_dir() else _plain_reports(source)
    ):
        document_id = f"govreport-{slug(name)}"
        contents.add(document_id, title, text)
        _ask(contents, document_id, "Summarize the report.", [summary], split)
    return contents


def _plain_reports(source: Path) -> Iterator[tuple[str, str, str, str, str]]:
    """Yield split, name, title, text and summary of each row."""
    for split, line, row in split_rows(source, _TABLES, ("data",), ("summary",)):
        text = row["report"] if "report" in row else row["document"]
        yield split, str(row.get("id") or f"{split}-{line:05d}"), "", text, row["summary"]


def _official_reports(source: Path) -> Iterator[tuple[str, str, str, str, str]]:
    """Yield split, name, title, text and summary of each id in the split files."""
    for ids in sorted((source / "split_ids").glob("*.ids")):
        agency = ids.name.partition("_")[0]
        # GAO: sections with headings, 'highlight' as summary; CRS: paragraphs.
        keys = ("report", "highlight") if agency == "gao" else ("reports", "summary")
        for report_id in read_text(ids).split():
            file = find_file(source, f"{agency}/{report_id}.json")
            if file is None:
                raise missing(source / agency, f"{report_id}.json, named in {ids.name}")
            report = read_json(file)
            body, summary = (list(_sections(report[key])) for key in keys)
            split, title = split_of(ids.name) or "test", report.get("title") or ""
            yield split, f"{agency}-{report_id}", title, "\n\n".join(body), "\n".join(summary)


def _sections(body: Any) -> Iterator[str]:
    """Yield headings and paragraphs of nested sections, in reading order."""
    if isinstance(body, str):
        yield body
    elif isinstance(body, list):
        for item in body:
            yield from _sections(item)
    else:
        if body.get("section_title"):
            yield body["section_title"]
        yield from _sections(body.get("paragraphs", []))
        yield from _sections(body.get("subsections", []))


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
        if file.name.removesuffix(".gz").endswith(".jsonl"):
            papers = read_rows(file)
        else:
            value = read_json(file)
            papers = enumerate(value if isinstance(value, list) else [value], start=1)
        for line, paper in papers:
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
        "train, val, test as jsonl with summary and articles (or document)",
        each_row(_read_wcep, *_TABLES, required=("summary",)),
    ),
    "booksum": Benchmark(
        "BookSum chapters",
        "story",
        "chapter rows (jsonl or csv) with bid, book_id and chapter, summary_text (or their paths)",
        _read_booksum,
    ),
    "govreport": Benchmark(
        "GovReport reports",
        "report",
        "a folder with crs/, gao/ and split_ids/, or rows of report (document) and summary",
        _read_govreport,
    ),
    "academiceval": Benchmark(
        "AcademicEval papers",
        "paper",
        "a folder abs_9K of JSON files with title, abstract, main_content, gt, or one such file",
        _read_academiceval,
    ),
}
