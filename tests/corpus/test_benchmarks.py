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


def _import(name, source, corpora):
    path = DATASETS / source
    if not path.exists():
        pytest.skip(f"{path} is missing; set GSUM_DATASETS")
    report = import_benchmark(name, path, corpora)
    folder = corpora / name
    documents, rejected = load(folder, load_settings(folder))
    queries, failures = load_queries(folder, [document.document_id for document in documents])
    assert rejected == []
    assert failures == []
    assert (report.n_documents, report.n_queries) == (len(documents), len(queries))
    return report, {document.document_id: document for document in documents}, queries


def test_qmsum(tmp_path):
    _, documents, queries = _import("qmsum", "qmsum", tmp_path)
    assert Counter(key.split("-")[1] for key in documents) == {"train": 162, "val": 35}
    general = [query for query in queries if query.kind == "general"]
    assert Counter(query.split for query in general) == {"train": 162, "dev": 35}
    assert Counter(query.split for query in queries)["train"] == 1257  # Zhong et al., Table 1
    assert Counter(query.split for query in queries)["dev"] == 272
    assert all(query.retrieval_text.startswith(query.text) for query in queries)
    assert all(len(query.retrieval_text) > len(query.text) for query in general)
    text = "\n".join(document.text for document in documents.values())
    assert not re.search(r"\{\w+\}|[A-Z]_[A-Z]_| [.,]\s|\w 's ", text)
    assert all(re.match(r".{1,150}?: \S", line) for line in text.split("\n"))


def test_graphrag_bench(tmp_path):
    report, documents, queries = _import("graphrag-bench", "graphrag_bench", tmp_path)
    assert len(documents) == 44 - 3
    assert len(queries) == 1027
    assert Counter(query.kind for query in queries) == {
        "fact-retrieval": 542,
        "complex-reasoning": 247,
        "contextual-summarize": 154,
        "creative-generation": 84,
    }
    assert Counter(query.split for query in queries) == {"dev": 550, "test": 477}
    assert all(document.title for document in documents.values())
    assert len(report.notes) == 2


def test_squality(tmp_path):
    _, documents, queries = _import("squality", "squality", tmp_path)
    assert len(documents) == 75
    assert Counter(query.split for query in queries) == {"train": 250, "dev": 125}
    assert Counter(query.kind for query in queries) == {"general": 75, "specific": 300}
    assert {len(query.references) for query in queries} == {4}


def test_odsum_story(tmp_path):
    report, documents, queries = _import("odsum-story", "odsum/story", tmp_path)
    assert len(documents) == 1190 - 52
    assert report.notes == ["52 of 1190 sections are empty and left out"]
    assert Counter(query.split for query in queries) == {"train": 250, "dev": 125}
    # An independent link: the official lines of queries carry their story's title.
    sections = {
        story["title"]: [text.rstrip() for text in story["divided_document"] if text.strip()]
        for split in ("train", "dev", "test")
        for story in _lines(DATASETS / f"odsum/story/documents/{split}.jsonl.gz")
    }
    titles = [line[0]["title"] for line in _lines(DATASETS / "odsum/story/queries.jsonl.gz")]
    assert len(titles) == len(queries) / 5
    for i, query in enumerate(queries):
        texts = [documents[key].text for key in query.relevant_document_ids]
        assert texts == sections[titles[i // 5]]


def _lines(path):
    with gzip.open(path, "rt", encoding="utf-8") as stream:
        return [json.loads(line) for line in stream]


def test_odsum_meeting(tmp_path):
    report, documents, queries = _import("odsum-meeting", "odsum/meeting", tmp_path)
    assert len(documents) == 231  # of 232 transcripts, Bro024 is empty
    assert any("(Bro024)" in note for note in report.notes)
    assert len(queries) == 314
    assert all(query.relevant_document_ids for query in queries)
