"""The real benchmarks: counts that their papers state. Skipped where the files are missing."""

import gzip
import json
import os
import re
from collections import Counter
from pathlib import Path

import pytest

from gsum_assets.corpus.importers import import_benchmark
from gsum_assets.corpus.load import load
from gsum_assets.corpus.queries import load_queries
from gsum_assets.pipeline.corpus_settings import load_settings

_ROOT = Path(__file__).parents[2]
DATASETS = Path(os.environ.get("GSUM_DATASETS", _ROOT / "../shared/datasets"))
BENCHMARKS = {  # folder, documents, questions by split and by kind
    "qmsum": (
        "qmsum",
        162 + 35,
        {"train": 1257, "dev": 272},  # Zhong et al., Table 1
        {"general": 162 + 35, "specific": 1257 + 272 - 162 - 35},
    ),
    "graphrag-bench": (
        "graphrag_bench",
        44 - 3,
        {"dev": 550, "test": 477},
        {"fact-retrieval": 542, "complex-reasoning": 247}
        | {"contextual-summarize": 154, "creative-generation": 84},
    ),
    "squality": (
        "squality",
        75,
        {"train": 250, "dev": 125},
        {"general": 75, "specific": 300},
    ),
    "odsum-story": (
        "odsum/story",
        1190 - 52,  # sections that are empty
        {"train": 250, "dev": 125},
        {"general": 75, "specific": 300},
    ),
    "odsum-meeting": (
        "odsum/meeting",
        231,  # of 232 transcripts, Bro024 is empty
        {"dev": 314},
        {"specific": 314},
    ),
}


@pytest.mark.parametrize("name", BENCHMARKS)
def test_counts_are_those_of_the_paper(tmp_path: Path, name: str) -> None:
    folder, n_documents, by_split, by_kind = BENCHMARKS[name]
    if not (DATASETS / folder).exists():
        pytest.skip(f"{DATASETS / folder} is missing; set GSUM_DATASETS")
    report = import_benchmark(name, DATASETS / folder, tmp_path)
    documents, rejected = load(tmp_path / name, load_settings(tmp_path / name))
    text_of = {document.document_id: document.text for document in documents}
    queries, failures = load_queries(tmp_path / name, list(text_of))
    assert (rejected, failures) == ([], [])
    assert (report.n_documents, report.n_queries) == (len(documents), len(queries))
    assert len(documents) == n_documents
    assert Counter(query.split for query in queries) == by_split
    assert Counter(query.kind for query in queries) == by_kind
    if name == "qmsum":
        text = "\n".join(text_of.values())
        assert not re.search(r"\{\w+\}|[A-Z]_[A-Z]_| [.,]\s|\w 's ", text)
        assert all(re.match(r".{1,150}?: \S", line) for line in text.split("\n"))
        assert all(query.retrieval_text.startswith(query.text) for query in queries)
    elif name == "squality":
        assert {len(query.references) for query in queries} == {4}
    elif name == "odsum-story":
        # An independent link: the official lines of queries carry their story's title.
        sections = {
            story["title"]: [text.rstrip() for text in story["divided_document"] if text.strip()]
            for split in ("train", "dev", "test")
            for story in _lines(f"odsum/story/documents/{split}.jsonl.gz")
        }
        titles = [line[0]["title"] for line in _lines("odsum/story/queries.jsonl.gz")]
        for i, query in enumerate(queries):
            texts = [text_of[key] for key in query.relevant_document_ids]
            assert texts == sections[titles[i // 5]]


def _lines(file: str) -> list:
    with gzip.open(DATASETS / file, "rt", encoding="utf-8") as stream:
        return [json.loads(line) for line in stream]
