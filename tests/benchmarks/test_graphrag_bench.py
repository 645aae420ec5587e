"""The benchmark's own arithmetic: samples, coverage, equal budgets, tables."""

import json
from dataclasses import asdict
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pytest

from benchmarks.graphrag_bench.home import CORPUS, answer_all, sampled
from benchmarks.graphrag_bench.reading import Answered, Scorer, ranked_chunks, within
from benchmarks.graphrag_bench.tables import METRICS, Results, best_plain, tables
from gsum_assets.corpus.chunk import n_word_pieces
from gsum_assets.corpus.importers.benchmark import query
from gsum_assets.corpus.importers.graphrag_bench import split_of_guide
from gsum_assets.retrieval.collection import Collection
from gsum_assets.retrieval.ranking import DEPTH
from gsum_assets.tables import TABLES


def _questions(n, kind, split):
    return [query(f"{split}-{kind}-{i}", "Q", ["A"], split=split, kind=kind) for i in range(n)]


def test_sample_has_one_split_and_equal_counts_per_type():
    questions = [
        *_questions(9, "fact-retrieval", "dev"),
        *_questions(9, "fact-retrieval", "test"),
        *_questions(2, "creative-generation", "dev"),
    ]
    chosen = [one.query_id for one in sampled(questions, "dev", 4)]
    assert chosen[:2] == ["dev-creative-generation-1", "dev-creative-generation-0"]
    assert len(set(chosen[2:])) == 4
    assert all(one.startswith("dev-fact") for one in chosen[2:])
    assert chosen == [one.query_id for one in sampled(questions[::-1], "dev", 4)]


def test_corpus_is_written_once_and_home_has_every_method(tmp_path, monkeypatch):
    row = {"id": "m1", "question": "Q", "answer": "A", "question_type": "Fact Retrieval"}
    texts = [text for i in range(6) if split_of_guide(text := f"guide {i}") == "dev"]
    source = tmp_path / "datasets/graphrag_bench"
    source.mkdir(parents=True)
    corpus = json.dumps({"corpus_name": "Medical", "context": "\n".join(texts)})
    (source / "medical.json").write_text(corpus)
    (source / "medical_questions.json").write_text(json.dumps([row, {**row, "id": "m2"}]))
    monkeypatch.setattr("benchmarks.DATASETS", tmp_path / "datasets")
    started = []

    def run(command, env, **_):
        started.append((command[1:], env["GSUM_HOME"]))
        return SimpleNamespace(returncode=0)

    monkeypatch.setattr("benchmarks.graphrag_bench.home.subprocess", SimpleNamespace(run=run))
    for _ in range(2):
        answer_all(tmp_path / "home", "dev", 1, ["gae", "jerr"])
        (source / "medical.json").unlink(missing_ok=True)
    methods = "bm25,dense,hybrid,gae,jerr"
    assert started == [(["run", CORPUS, "--methods", methods], str(tmp_path / "home"))] * 2
    written = (tmp_path / "home/corpora" / CORPUS / "queries.jsonl").read_text()
    assert len(written.splitlines()) == 1


def test_coverage_counts_stems_of_content_words_once():
    scorer = Scorer([{"query_id": "q", "references": ["The surgeons removed the tumors, tumors."]}])
    assert scorer.coverage("q", ["A surgeon acts.", "Tumor"]) == pytest.approx(2 / 3)
    assert scorer.coverage("q", ["The and of"]) == 0


def test_unanswered_question_scores_0_but_counts_reading():
    scorer = Scorer([{"query_id": "q", "references": ["tumors"]}])
    found = scorer.score(TABLES["summaries"].empty(), {"q": ["A tumor."]})
    assert found == {"q": Answered(0.0, 1.0, 3, 0, 0)}


def test_plain_retrieval_fills_the_token_budget():
    texts = ["one two three", "", "four five six", "seven"]
    assert within(texts, 5) == ["one two three", "four five"]
    assert within(texts, 0) == []
    assert within(texts, 100) == ["one two three", "four five six", "seven"]
    assert sum(n_word_pieces(within(texts, 4))) == 4


def test_plain_retrieval_ranks_all_chunks_beyond_the_rankings_depth():
    n = 2 * DEPTH
    texts = [f"filler{i} " + "tumor " * (i == 7) for i in range(n)]
    ids = [f"c{i:03d}" for i in range(n)]
    collection = Collection(["d"], [" ".join(texts)], ids, texts, np.array([0, n]))
    questions = query("q", "Which tumor?", ["A"], split="dev")
    queries = pa.Table.from_pylist([asdict(questions)])
    ranked = ranked_chunks("bm25", collection, queries, np.zeros((1, 2), np.float32))
    assert ranked["q"][0] == "c007"
    assert sorted(ranked["q"]) == ids


ASKED = [f"q{i}" for i in range(8)]


def _column(rouge_l, coverage):
    return {one: Answered(rouge_l + i / 100, coverage, 10, 1, 20) for i, one in enumerate(ASKED)}


def test_best_plain_retriever_is_chosen_by_type_and_metric():
    plain = {"bm25": _column(0.1, 0.7), "dense": _column(0.2, 0.5)}
    other = Answered(0.9, 0.1, 10)
    plain["bm25"]["q0"] = other
    assert best_plain({"one": ASKED[:1], "rest": ASKED[1:]}, plain) == {
        ("one", "rouge_l"): "bm25",
        ("one", "coverage"): "dense",
        ("rest", "rouge_l"): "dense",
        ("rest", "coverage"): "bm25",
    }


def test_method_row_is_next_to_its_control():
    methods = {"bm25": _column(0.1, 0.5), "gae": _column(0.5, 0.5)}
    questions = {"fact-retrieval": ASKED, "complex-reasoning": ASKED}
    best = {(kind, metric): f"{metric} plain" for kind in questions for metric in METRICS}
    controls = {("gae", "rouge_l"): _column(0.3, 0), ("gae", "coverage"): _column(0, 0.7)}
    rouge_l, coverage, facts, _ = tables(Results(questions, methods, best, controls), "notes")
    assert [*rouge_l.rows, *coverage.rows] == [
        ["gae", "+20.0*", "+20.0*"],
        ["gae", "-20.0*", "-20.0*"],
    ]
    assert facts.title == "fact-retrieval, n = 8"
    plain, graph = facts.rows
    assert plain[6:] == ["", "", "", ""]
    assert graph[3:6] == ["10", "1", "20"]
    assert graph[6].startswith("rouge_l plain: +20.00 [")
    assert graph[8].startswith("coverage plain: -20.00 [")
    assert float(graph[7]) == pytest.approx(2 * 2**-7, abs=0.001)  # one of two types
