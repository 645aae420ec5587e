"""Questions with short answers or options: QuALITY, MuSiQue, NarrativeQA, MultiHop-RAG."""

import re
from html import unescape
from itertools import accumulate
from pathlib import Path
from typing import Any

from gsum_assets.corpus.importers.benchmark import Benchmark, Contents, slug
from gsum_assets.corpus.importers.source import (
    needed_file,
    read_rows,
    read_text,
    split_of,
    split_rows,
)
from gsum_assets.corpus.load import Document
from gsum_assets.corpus.queries import Span
from gsum_assets.pipeline.corpus_settings import CorpusError

_QUALITY_PATTERNS = ("QuALITY.*htmlstripped.*", "*.jsonl")
_QUALITY_FOLDERS = ("v1.0.1", "data/v1.0.1")
_MUSIQUE_PATTERNS = ("musique_ans_*.jsonl", "*.jsonl")
_QUALITY_SETTINGS = """
[jerr.chunking]
max_tokens = 600  # line chunks, word pieces: articles are short (JERR, 4.1)
"""
_NARRATIVEQA_FILES = "a folder with documents.csv, qaps.csv and third_party/wikipedia/summaries.csv"


def read_quality(source: Path) -> Contents:
    """Read QuALITY (Pang et al., 2022): articles with four-way multiple choice.

    The reference is the text of the correct option; the test split has none.
    """
    documents: dict[str, Document] = {}
    contents = Contents()
    keys = ("article_id", "article", "questions")
    for split, _, row in split_rows(source, _QUALITY_PATTERNS, _QUALITY_FOLDERS, keys):
        # two writers wrote questions about each article, so each article occurs twice
        document_id = f"quality-{slug(str(row['article_id']))}"
        title = row.get("title") or ""
        documents.setdefault(document_id, Document(document_id, title, row["article"]))
        for number, question in enumerate(row["questions"], start=1):
            query_id = question.get("question_unique_id") or (
                f"{document_id}-{row['set_unique_id']}-{number}"
            )
            options = [option.strip() for option in question["options"]]
            gold = question.get("gold_label")  # from 1
            contents.ask(
                query_id,
                question["question"],
                [options[int(gold) - 1]] if gold else [],
                split=split,
                kind="specific",
                document_id=document_id,
                options=options,
            )
    contents.documents = list(documents.values())
    return contents


def read_musique(source: Path) -> Contents:
    """Read MuSiQue (Trivedi et al., 2022): one document per question, its paragraphs.

    Paragraphs keep their order, each after its title; the supporting ones are the evidence. The
    references are the answer and its aliases. Unanswerable questions (musique_full) are left out.
    """
    contents = Contents()
    n_unanswerable = 0
    keys = ("id", "paragraphs", "question")
    for split, _, row in split_rows(source, _MUSIQUE_PATTERNS, ("data",), keys):
        if not row.get("answerable", True):
            n_unanswerable += 1
            continue
        document_id = f"musique-{slug(str(row['id']))}"
        passages = [f"{p['title']}\n{p['paragraph_text']}" for p in row["paragraphs"]]
        contents.documents.append(Document(document_id, "", "\n\n".join(passages)))
        ends = list(accumulate(len(passage) + 2 for passage in passages))
        evidence = [
            Span(document_id, end - 2 - len(passage), end - 2)
            for passage, end, paragraph in zip(passages, ends, row["paragraphs"], strict=True)
            if paragraph.get("is_supporting")
        ]
        answers = [row["answer"], *row.get("answer_aliases", [])] if "answer" in row else []
        contents.ask(
            f"{document_id}-q",
            row["question"],
            dict.fromkeys(answers),
            split=split,
            kind="specific",
            document_id=document_id,
            form="short",
            spans=evidence,
        )
    if n_unanswerable:
        contents.notes.append(f"{n_unanswerable} unanswerable questions left out")
    return contents


def read_narrativeqa(source: Path) -> Contents:
    """Read NarrativeQA (Kočiský et al., 2018): books and film scripts, two answers a question.

    The documents are the downloaded stories `tmp/<id>.content`, or, if none was downloaded, the
    Wikipedia summaries.
    """
    books, questions = (
        needed_file(source, _NARRATIVEQA_FILES, name) for name in ("documents.csv", "qaps.csv")
    )
    stories = {path.stem: path for path in source.glob("tmp/*.content")}
    summaries: dict[str, str] = {}
    if not stories:
        names = ("third_party/wikipedia/summaries.csv", "summaries.csv")
        rows = read_rows(needed_file(source, _NARRATIVEQA_FILES, *names), ("summary",))
        summaries = {row["document_id"]: row["summary"] for _, row in rows}
    contents = Contents()
    for _, row in read_rows(books, ("document_id", "wiki_title")):
        key = row["document_id"]
        text = _story(stories[key], row) if key in stories else summaries.get(key, "")
        if text.strip():
            contents.documents.append(Document(key, row["wiki_title"], text))
    document_ids = {document.document_id for document in contents.documents}
    for number, row in read_rows(questions, ("document_id", "set", "question", "answer1")):
        if row["document_id"] in document_ids:
            answers = [row["answer1"], row.get("answer2") or ""]
            contents.ask(
                f"{row['document_id'][:12]}-{number}",
                row["question"],
                dict.fromkeys(answers),
                split=split_of(row["set"]) or "test",
                kind="specific",
                document_id=row["document_id"],
                form="short",
            )
    kind = "full stories" if stories else "Wikipedia summaries (no tmp/*.content was found)"
    contents.notes.append(f"documents are {kind}")
    return contents


def _story(path: Path, row: dict[str, Any]) -> str:
    """Return a downloaded story without markup, cut to its recorded start and end."""
    try:
        text = read_text(path)
    except CorpusError:  # some stories of Project Gutenberg are in Latin-1
        text = path.read_bytes().decode("latin-1")
    if re.search(r"<html|<pre", text[:5000], re.IGNORECASE):
        text = re.sub(r"(?is)<(script|style)\b.*?</\1>|<[^>]+>", " ", text)
        text = unescape(text)
    start = _match(text, row.get("story_start"))
    end = _match(text, row.get("story_end"))
    return text[start.start() if start else 0 : end.end() if end else len(text)].strip()


def _match(text: str, words: str | None) -> re.Match[str] | None:
    """Return the match of recorded words in a text; white space may differ."""
    tokens = (words or "").split()
    if len(tokens) < 3:  # too few words to identify the position
        return None
    return re.search(r"\s*".join(re.escape(token) for token in tokens), text)


QUALITY = Benchmark(
    "QuALITY articles",
    "story",
    "QuALITY.v1.0.1.htmlstripped.{train,dev,test} in a folder, or one of them",
    read_quality,
    _QUALITY_SETTINGS,
)
MUSIQUE = Benchmark(
    "MuSiQue paragraphs",
    "other",
    "musique_ans_v1.0_{train,dev,test}.jsonl in a folder, or one of them",
    read_musique,
)
NARRATIVEQA = Benchmark("NarrativeQA stories", "story", _NARRATIVEQA_FILES, read_narrativeqa)


_MULTIHOP_FILES = "a folder with corpus.json and MultiHopRAG.json"


def read_multihop_rag(source: Path) -> Contents:
    """Read articles, numbered as in `corpus.json`; evidence names them by url or title.

    Questions without an answer in the collection (null_query) have no relevant document.
    The source has no splits; all is test.
    """
    articles, questions = (
        needed_file(source, _MULTIHOP_FILES, f"dataset/{name}", name)
        for name in ("corpus.json", "MultiHopRAG.json")
    )
    contents = Contents()
    article_ids: dict[str, str] = {}
    for number, article in read_rows(articles, ("title", "body")):
        document_id = f"article-{number:04d}"
        for key in (article["title"], article.get("url")):
            if key:
                article_ids.setdefault(key, document_id)
        contents.documents.append(Document(document_id, article["title"], article["body"]))
    n_unknown = 0
    for number, row in read_rows(questions, ("query", "answer", "evidence_list")):
        relevant = []
        for evidence in row["evidence_list"]:
            article_id = article_ids.get(evidence.get("url", "")) or article_ids.get(
                evidence["title"]
            )
            n_unknown += article_id is None
            relevant.extend([article_id] if article_id else [])
        contents.ask(
            f"multihop-{number:04d}",
            row["query"],
            [row["answer"]],
            split="test",
            kind="specific",
            relevant=relevant,
            form="short",
        )
    if n_unknown:
        contents.notes.append(f"{n_unknown} pieces of evidence name no article of the corpus")
    return contents


MULTIHOP_RAG = Benchmark("MultiHop-RAG news", "news", _MULTIHOP_FILES, read_multihop_rag)
