"""MultiHop-RAG (Tang and Yang, 2024): news articles and questions over several of them."""

from pathlib import Path

from gsum_assets.corpus.importers.benchmark import Benchmark, Contents
from gsum_assets.corpus.importers.source import needed_file, read_rows
from gsum_assets.corpus.load import Document

_FILES = "a folder with corpus.json and MultiHopRAG.json"


def read_multihop_rag(source: Path) -> Contents:
    """Read articles, numbered as in `corpus.json`; evidence names them by url or title.

    Questions without an answer in the collection (null_query) have no relevant document.
    The source has no splits; all is test.
    """
    articles, questions = (
        needed_file(source, _FILES, f"dataset/{name}", name)
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


MULTIHOP_RAG = Benchmark("MultiHop-RAG news", "news", _FILES, read_multihop_rag)
