"""Benchmarks with one reference summary per document: WCEP, BookSum, GovReport, AcademicEval.

Each document gets one general question, since the sources have none.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from gsum_assets.corpus.importers.benchmark import Benchmark, Contents, slug
from gsum_assets.corpus.importers.source import (
    find_file,
    missing,
    read_json,
    read_rows,
    read_text,
    split_of,
    split_rows,
)
from gsum_assets.corpus.load import Document

_TABLES = ("*.jsonl", "*.csv", "*.parquet", "*.json", "*.txt")
_N_ARTICLES = 10  # what the "10" in WCEP-10 stands for
_ACADEMICEVAL_SETTING = "abs_9K"  # the abstract writing subset, used by gor (A.1)


def _add(
    contents: Contents, document: Document, text: str, references: Sequence[str], split: str
) -> None:
    """Add a document and its only question."""
    contents.documents.append(document)
    document_id = document.document_id
    contents.ask(f"{document_id}-summary", text, references, split=split, document_id=document_id)


def read_wcep(source: Path) -> Contents:
    """Read WCEP-10 (Gholipour Ghalandari et al., 2020): one document per news event.

    An event's document joins its first ten different articles, as in gor's protocol.
    """
    contents = Contents()
    for split, line, row in split_rows(source, _TABLES, required=("summary",)):
        document_id = f"wcep-{split}-{line:05d}"
        articles = list(dict.fromkeys(_articles(row)))[:_N_ARTICLES]
        title = row.get("title") or ""
        document = Document(document_id, title, "\n\n".join(articles))
        question = row.get("query") or "Summarize the news about this event."
        summary = row["summary"]
        references = [summary] if isinstance(summary, str) else list(summary)
        _add(contents, document, question, references, split)
    return contents


def _articles(row: dict[str, Any]) -> Iterator[str]:
    """Yield articles of the original file (`articles`) or of the hub's copy (`document`)."""
    if "articles" in row:
        for article in row["articles"]:
            items = (article.get("title") or "", article.get("text") or "")
            yield "\n".join(item.strip() for item in items if item.strip())
        return
    document = row["document"]
    items = document.split("</s>") if isinstance(document, str) else document
    yield from (item.strip() for item in items if item.strip())


def read_booksum(source: Path) -> Contents:
    """Read BookSum (Kryściński et al., 2021), chapters; summaries by several sites are references.

    Rows have their texts (`chapter`, `summary_text`), or name files that the official scripts
    collect (`chapter_path`, `summary_path`, relative to the folder).
    """
    folder = source if source.is_dir() else source.parent
    chapters: dict[str, tuple[Document, list[str], str]] = {}
    n_missing = 0
    folders = ("alignments/chapter-level-summary-alignments",)
    for split, _, row in split_rows(source, _TABLES, folders, ("bid", "book_id")):
        text = row.get("chapter")
        if not text and row.get("chapter_path"):
            chapter = find_file(folder, row["chapter_path"])
            text = read_text(chapter) if chapter else ""
        summary = row.get("summary_text") or row.get("summary")
        if not summary and row.get("summary_path"):
            of_chapter = find_file(folder, row["summary_path"])
            value = read_json(of_chapter)["summary"] if of_chapter else ""
            summary = value if isinstance(value, str) else "\n".join(value)
        if not text or not summary:
            n_missing += 1
            continue
        stem = Path(row.get("chapter_path") or row["book_id"]).name.removesuffix(".txt")
        document_id = f"booksum-{row['bid']}-{slug(stem)}"
        document = Document(document_id, row["book_id"], text)
        chapters.setdefault(document_id, (document, [], split))[1].append(summary)
    contents = Contents()
    for document, summaries, split in chapters.values():
        references = list(dict.fromkeys(summaries))
        _add(contents, document, "Summarize the chapter.", references, split)
    if n_missing:
        contents.notes.append(f"{n_missing} summaries without chapter or text left out")
    return contents


def read_govreport(source: Path) -> Contents:
    """Read GovReport (Huang et al., 2021): the official JSON files, or the hub's plain text.

    Official: `crs/*.json` and `gao/*.json`, with `split_ids/{crs,gao}_{train,valid,test}.ids`.
    Plain text: rows of `report` (or `document`) and `summary`.
    """
    contents = Contents()
    question = "Summarize the report."
    if (source / "split_ids").is_dir():
        for split, document, summary in _official_reports(source):
            _add(contents, document, question, [summary], split)
        return contents
    for split, line, row in split_rows(source, _TABLES, ("data",), ("summary",)):
        document_id = f"govreport-{slug(str(row.get('id') or f'{split}-{line:05d}'))}"
        text = row["report"] if "report" in row else row["document"]
        _add(contents, Document(document_id, "", text), question, [row["summary"]], split)
    return contents


def _official_reports(source: Path) -> Iterator[tuple[str, Document, str]]:
    """Yield split, report and summary of each id in the split files."""
    for ids in sorted((source / "split_ids").glob("*.ids")):
        agency = ids.name.partition("_")[0]
        for report_id in read_text(ids).split():
            file = find_file(source, f"{agency}/{report_id}.json")
            if file is None:
                raise missing(source / agency, f"{report_id}.json, named in {ids.name}")
            report = read_json(file)
            # GAO: sections with headings, 'highlight' as summary; CRS: paragraphs.
            body = report["report"] if agency == "gao" else report["reports"]
            summary = report["highlight"] if agency == "gao" else report["summary"]
            text = "\n\n".join(_sections(body))
            document_id = f"govreport-{agency}-{slug(report_id)}"
            document = Document(document_id, report.get("title") or "", text)
            yield split_of(ids.name) or "test", document, "\n".join(_sections(summary))


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


def read_academiceval(source: Path) -> Contents:
    """Read AcademicEval, abstract writing: the body is the document, the abstract the answer.

    The official folder has one JSON file per paper, in `abs_9K/` and its split folders; a single
    file with many papers (list or lines) is read, too. Without split names all is test.
    """
    contents = Contents()
    nested = source / _ACADEMICEVAL_SETTING
    folder = nested if nested.is_dir() else source
    files = sorted(folder.rglob("*.json*")) if folder.is_dir() else [folder]
    if not files:
        raise missing(source, "JSON files of papers with main_content")
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
                document = Document(document_id, paper.get("title") or "", paper["main_content"])
                abstract = paper.get("gt") or paper["abstract"]
                question = "Write an abstract of this paper."
                _add(contents, document, question, [abstract], split_of(where) or "test")
    return contents


WCEP = Benchmark(
    "WCEP-10 news events",
    "news",
    "train, val, test as jsonl with summary and articles (or document)",
    read_wcep,
)
BOOKSUM = Benchmark(
    "BookSum chapters",
    "story",
    "chapter rows (jsonl or csv) with bid, book_id and chapter, summary_text (or their paths)",
    read_booksum,
)
GOVREPORT = Benchmark(
    "GovReport reports",
    "report",
    "a folder with crs/, gao/ and split_ids/, or rows of report (document) and summary",
    read_govreport,
)
ACADEMICEVAL = Benchmark(
    "AcademicEval papers",
    "paper",
    "a folder abs_9K of JSON files with title, abstract, main_content, gt, or one such file",
    read_academiceval,
)
