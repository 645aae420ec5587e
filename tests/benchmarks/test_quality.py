"""The harness of quality: which questions, which rows, and comparisons with known answers."""

import json
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from benchmarks import quality
from benchmarks.quality import ALL, TOKENS, Row, at_equal_tokens, subset, tables
from benchmarks.results import compared
from gsum_assets.corpus.importers.benchmark import Contents
from gsum_assets.corpus.importers.graphrag_bench import split_of_guide
from gsum_assets.corpus.load import Document
from gsum_assets.pipeline.tables import TABLES
from gsum_resources.store.parquet_store import ParquetStore, Partition, Provenance

ASKED = [f"q{i}" for i in range(8)]
RISING = {query_id: 0.2 + i / 100 for i, query_id in enumerate(ASKED)}
HIGHER = {query_id: value + 0.1 for query_id, value in RISING.items()}


def questions(n, kind, split="dev", **more):
    contents = Contents()
    for i in range(n):
        contents.ask(f"{split}-{kind}-{i}", "Q", ["A"], split=split, kind=kind, **more)
    return contents.queries


def ids(contents):
    return [one.query_id for one in contents.queries]


# --- questions ------------------------------------------------------------------------------------


def test_sample_has_one_split_and_equal_counts_per_kind_in_the_order_of_the_source():
    asked = [*questions(9, "fact"), *questions(9, "fact", "test"), *questions(2, "creative")]
    found = ids(subset(Contents([], asked), "dev", None, 4))
    assert found[-2:] == ["dev-creative-0", "dev-creative-1"]
    assert len(set(found)) == 6
    assert all(one.startswith("dev-fact") for one in found[:4])
    assert found[:4] == sorted(found[:4])
    reversed_order = ids(subset(Contents([], asked[::-1]), "dev", None, 4))
    assert reversed_order == found[::-1]
    assert ids(subset(Contents([], asked), ALL, None, None)) == [one.query_id for one in asked]


def test_questions_about_documents_that_are_left_out_are_left_out():
    documents = [Document(name, name, "Text.") for name in ("a", "b")]
    asked = [
        replace(questions(1, "one", document_id="a")[0], query_id="a"),
        replace(questions(1, "one", document_id="b")[0], query_id="b"),
        replace(questions(1, "all", relevant_document_ids=["a", "b"])[0], query_id="a and b"),
        replace(questions(1, "all", relevant_document_ids=["a"])[0], query_id="of all, a"),
    ]
    found = subset(Contents(documents, asked), ALL, 1, None)
    assert [document.document_id for document in found.documents] == ["a"]
    assert ids(found) == ["a", "of all, a"]


# --- comparisons ----------------------------------------------------------------------------------


def test_methods_are_compared_over_the_questions_that_both_have():
    oracle = {query_id: HIGHER[query_id] for query_id in ASKED[:6]}
    rows = compared({"plain": RISING, "oracle": oracle, "same": RISING}, "plain", decimals=1)
    assert rows[0][1:2] + rows[0][3:] == ["8", "", ""]
    assert rows[1] == ["oracle", "6", rows[1][2], "+10.0 [+10.0, +10.0]", "0.062"]  # 2 x 2 / 2**6
    assert rows[2][3:] == ["+0.0 [+0.0, +0.0]", "1.000"]


def test_every_group_has_the_metrics_of_the_control():
    rows = {
        "dense": Row({"rouge1": RISING, TOKENS: dict.fromkeys(ASKED, 100.0)}, {}),
        "graph": Row({"rouge1": HIGHER, TOKENS: dict.fromkeys(ASKED, 250.0), "new": RISING}, {}),
    }
    groups = {"general": ASKED[:7], "specific": ASKED[7:], "other": ["without scores"]}
    general, specific, other = tables(rows, groups, "dense", ["rouge1", "new", TOKENS], "Notes.")
    assert [row[:3] for row in general.rows] == [
        [metric, method, "7"] for metric in ("rouge1", TOKENS) for method in rows
    ]
    assert general.rows[1][4:] == ["+10.00 [+10.00, +10.00]", "0.016"]
    assert general.rows[3][3:5] == ["250 [250, 250]", "+150 [+150, +150]"]
    assert [row[2] for row in specific.rows] == ["1"] * 4
    assert other.rows == []
    with pytest.raises(ValueError, match=r"'dense' has none of r@10; it has: context_tokens, rou"):
        list(tables(rows, groups, "dense", ["r@10"], ""))


def curve(scores_by_k, tokens_by_k):
    return Row(
        {},
        {
            k: {"rouge1": dict.fromkeys(ASKED, scores_by_k[k]), TOKENS: dict.fromkeys(ASKED, n)}
            for k, n in tokens_by_k.items()
        },
    )


def test_control_reads_at_least_as_many_tokens_where_it_can():
    control = curve({1: 0.1, 2: 0.2, 5: 0.5}, {1: 100.0, 2: 200.0, 5: 500.0})
    read = {"q0": 90.0, "q1": 100.0, "q2": 101.0, "q3": 450.0, "q4": 900.0}
    matched = at_equal_tokens(control, Row({TOKENS: read}, {}))
    assert matched["rouge1"] == {"q0": 0.1, "q1": 0.1, "q2": 0.2, "q3": 0.5, "q4": 0.5}


def test_differences_at_equal_tokens_are_from_the_longer_control():
    control = curve({1: 0.1, 3: 0.3}, {1: 100.0, 3: 300.0})
    rows = {
        "dense": control._replace(scores=control.by_k[1]),
        "graph": Row(
            {"rouge1": dict.fromkeys(ASKED, 0.4), TOKENS: dict.fromkeys(ASKED, 250.0)}, {}
        ),
    }
    for equal_tokens, difference in ((False, "+30.00"), (True, "+10.00")):
        (found,) = tables(rows, {"all": ASKED}, "dense", ["rouge1"], "", equal_tokens)
        assert found.rows[0][3].startswith("10.00 [")
        assert found.rows[1][4].startswith(difference)


# --- the command ----------------------------------------------------------------------------------


@pytest.fixture
def datasets(tmp_path: Path, monkeypatch) -> Path:
    """A folder with GraphRAG-Bench of one guide and eight questions."""
    asked = [
        {"id": query_id, "question": "Q", "answer": "A", "question_type": "Fact Retrieval"}
        for query_id in ASKED
    ]
    guide = next(text for i in range(9) if split_of_guide(text := f"guide {i}") == "dev")
    source = tmp_path / "datasets" / "graphrag_bench"
    source.mkdir(parents=True)
    corpus = {"corpus_name": "Medical", "context": guide}
    (source / "medical.json").write_text(json.dumps(corpus))
    (source / "medical_questions.json").write_text(json.dumps(asked))
    monkeypatch.setattr("benchmarks.DATASETS", tmp_path / "datasets")
    return tmp_path / "datasets"


def run_by(scores, started):
    """Return what stands for `gsum run`: it writes the scores of each method."""

    def run(command, env, **_):
        started.append(command[1:])
        store = ParquetStore(str(Path(env["GSUM_HOME"]) / "warehouse"))
        *corpora, _, methods = command[2:]
        table = TABLES["scores"]
        for corpus in corpora:
            queries = (Path(env["GSUM_HOME"]) / "corpora" / corpus / "queries.jsonl").read_text()
            asked = sorted(json.loads(line)["query_id"] for line in queries.splitlines())
            for method in methods.split(","):
                values = zip(asked, scores[method].values(), strict=True)
                rows = [
                    {"query_id": q, "metric": "rouge1", "value": value, "latency_s": 0.0}
                    for q, value in values
                ]
                rows = table.schema.empty_table().from_pylist(rows, table.schema)
                store.write(table, Partition(corpus, method=method), rows, Provenance("", ""))
        return SimpleNamespace(returncode=0)

    return SimpleNamespace(run=run)


def test_command_imports_answers_and_compares(datasets, tmp_path, monkeypatch, capsys):
    started: list[list[str]] = []
    by = run_by({"dense": RISING, "bm25": HIGHER}, started)
    monkeypatch.setattr("benchmarks.quality.subprocess", by)
    options = ["--home", str(tmp_path / "home"), "--data", "graphrag-bench", "--methods"]
    settings = ["--settings", "", "retrieval.k = 3"]
    monkeypatch.setattr(sys, "argv", ["quality", *options, "bm25,dense", "--control", "dense"])
    quality.main()
    shown = capsys.readouterr().out
    assert "## fact-retrieval questions" in shown
    assert "| rouge1 | bm25   | 8 |" in shown
    assert "| +10.00 [+10.00, +10.00]   | 0.008 |" in shown
    monkeypatch.setattr(sys, "argv", ["quality", *options, "dense", *settings])
    quality.main()
    assert "| rouge1 | dense; retrieval.k = 3 | 8 |" in capsys.readouterr().out
    corpora = {path.name: path / "corpus.toml" for path in (tmp_path / "home/corpora").iterdir()}
    assert [command[0] for command in started] == ["run", "run"]
    (first, _, named), second = started[0][1:], started[1][1:]
    assert named == "bm25,dense"
    assert set(second[:2]) == set(corpora)
    assert first in second  # the same options are the same corpus
    changed = corpora[next(name for name in corpora if name != first)].read_text()
    assert "retrieval.k = 3\nscores.bertscore = false" in changed


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--methods", "dense", "--control", "bm25"], "no control 'bm25'; name one of: dense"),
        (["--methods", "graphrag"], "no method 'graphrag'"),
        (["--split", "train"], "graphrag-bench has no question of split 'train'"),
    ],
)
def test_wrong_options_are_refused_before_anything_runs(
    datasets, tmp_path, monkeypatch, capsys, options, message
):
    given = ["quality", "--home", str(tmp_path / "home"), "--data", "graphrag-bench", *options]
    monkeypatch.setattr(sys, "argv", given)
    with pytest.raises(SystemExit):
        quality.main()
    assert message in capsys.readouterr().err
    assert not (tmp_path / "home").exists()
