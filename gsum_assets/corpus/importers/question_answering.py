"""Questions with short answers or options: QuALITY, MuSiQue, NarrativeQA, MultiHop-RAG."""

import re
from html import unescape
from pathlib import Path
from typing import Any

from gsum_assets.corpus.importers.benchmark import Benchmark, Contents, slug
from gsum_assets.corpus.importers.source import (
    each_row,
    missing,
    needed_file,
    read_rows,
    read_text,
    split_of,
)
from gsum_assets.corpus.queries import Span
from gsum_assets.pipeline.corpus_settings import CorpusError

_NARRATIVEQA_FILES = "a folder with documents.csv, qaps.csv and the stories, tmp/*.content"
_MULTIHOP_FILES = "a folder with corpus.json and MultiHopRAG.json"


def _read_quality(contents: Contents, split: str, _: int, row: dict[str, Any]) -> None:
    """Add an article (it may occur twice) with questions; the correct option is the reference."""
    document_id = f"quality-{slug(str(row['article_id']))}"
    if all(document.document_id != document_id for document in contents.documents):
        contents.add(document_id, row.get("title") or "", row["article"])
    for number, question in enumerate(row["questions"], start=1):
        options = [option.strip() for option in question["options"]]
        gold = question.get("gold_label")  # from 1
        contents.ask(
            question.get("question_unique_id") or f"{document_id}-{row['set_unique_id']}-{number}",
            question["question"],
            [options[int(gold) - 1]] if gold else [],
            split=split,
            kind="specific",
            document_id=document_id,
            options=options,
        )


def _read_musique(contents: Contents, split: str, _: int, row: dict[str, Any]) -> None:
    """Add the paragraphs of a question as its document; the supporting ones are the evidence."""
    if not row.get("answerable", True):
        contents.counts["unanswerable questions left out"] += 1
        return
    document_id = f"musique-{slug(str(row['id']))}"
    passages, evidence, start = [], [], 0
    for paragraph in row["paragraphs"]:
        passages.append(f"{paragraph['title']}\n{paragraph['paragraph_text']}")
        end = start + len(passages[-1])
        if paragraph.get("is_supporting"):
            evidence.append(Span(document_id, start, end))
        start = end + len("\n\n")
    contents.add(document_id, "", "\n\n".join(passages))
    answers = [row["answer"], *row.get("answer_aliases", [])] if "answer" in row else []
    contents.ask(
        f"{document_id}-q",
        row["question"],
        dict.fromkeys(answers),
        split=split,
        kind="specific",
        document_id=document_id,
        form="short",
        relevant_spans=evidence,
    )


def _read_narrativeqa(source: Path) -> Contents:
    """Read NarrativeQA (Kočiský et al., 2018): the stories that its script has downloaded."""
    books, questions = (
        needed_file(source, _NARRATIVEQA_FILES, name) for name in ("documents.csv", "qaps.csv")
    )
    stories = {path.stem: path for path in source.glob("tmp/*.content")}
    if not stories:
        raise missing(source, _NARRATIVEQA_FILES)
    contents = Contents()
    for _, row in read_rows(books, ("document_id", "wiki_title")):
        key = row["document_id"]
        if key in stories and (text := _story(stories[key], row)):
            contents.add(key, row["wiki_title"], text)
    document_ids = {document.document_id for document in contents.documents}
    for number, row in read_rows(questions, ("document_id", "set", "question", "answer1")):
        if row["document_id"] in document_ids:
            contents.ask(
                f"{row['document_id'][:12]}-{number}",
                row["question"],
                dict.fromkeys([row["answer1"], row.get("answer2") or ""]),
                split=split_of(row["set"]) or "test",
                kind="specific",
                document_id=row["document_id"],
                form="short",
            )
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


def _read_multihop_rag(source: Path) -> Contents:
    """Read articles, which evidence names by url or title; without splits, all is test."""
    articles, questions = (
        needed_file(source, _MULTIHOP_FILES, f"dataset/{name}", name)
        for name in ("corpus.json", "MultiHopRAG.json")
    )
    contents = Contents()
    article_ids: dict[str, str] = {}
    for number, article in read_rows(articles, ("title", "body")):
        document_id = f"article-{number:04d}"
        contents.add(document_id, article["title"], article["body"])
        for key in filter(None, (article["title"], article.get("url"))):
            article_ids.setdefault(key, document_id)
    for number, row in read_rows(questions, ("query", "answer", "evidence_list")):
        named = [
            article_ids.get(evidence.get("url", "")) or article_ids.get(evidence["title"])
            for evidence in row["evidence_list"]
        ]
        contents.counts["pieces of evidence name no article of the corpus"] += named.count(None)
        contents.ask(
            f"multihop-{number:04d}",
            row["query"],
            [row["answer"]],
            split="test",
            kind="specific",
            relevant_document_ids=filter(None, named),
            form="short",
        )
    return contents


BENCHMARKS = {
    "quality": Benchmark(  # Pang et al., 2022
        "QuALITY articles",
        "story",
        "QuALITY.v1.0.1.htmlstripped.{train,dev,test} in a folder, or one of them",
        each_row(
            _read_quality,
            "QuALITY.*htmlstripped.*",
            "*.jsonl",
            folders=("v1.0.1", "data/v1.0.1"),
            required=("article_id", "article", "questions"),
        ),
        "\n[jerr.chunking]\n"
        "max_tokens = 600  # line chunks, word pieces: articles are short (JERR, 4.1)\n",
    ),
    "musique": Benchmark(  # Trivedi et al., 2022
        "MuSiQue paragraphs",
        "other",
        "musique_ans_v1.0_{train,dev,test}.jsonl in a folder, or one of them",
        each_row(
            _read_musique,
            "musique_ans_*.jsonl",
            "*.jsonl",
            folders=("data",),
            required=("id", "paragraphs", "question"),
        ),
    ),
    "narrativeqa": Benchmark("NarrativeQA stories", "story", _NARRATIVEQA_FILES, _read_narrativeqa),
    "multihop-rag": Benchmark("MultiHop-RAG news", "news", _MULTIHOP_FILES, _read_multihop_rag),
}
