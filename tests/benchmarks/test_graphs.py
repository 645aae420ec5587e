"""When graphs help: groups by spread, controls, gains, the rule beside the figures."""

import shutil
import subprocess
import sys
from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path

import pytest

from benchmarks import graphs
from benchmarks.graphs import (
    DOCUMENT_ENDS,
    NOTES,
    TOKEN_ENDS,
    Asked,
    binned,
    differences,
    groups_of,
    rule_table,
    table,
)
from benchmarks.multi_hop import HOPS, World
from benchmarks.quality import TOKENS, Row
from benchmarks.results import ROOT
from gsum_assets.corpus.settings_file import keep_methods

ASKED = [f"q{i}" for i in range(16)]
CHUNKS = [
    {"chunk_id": f"a{i}", "document_id": "a", "position": i, "n_tokens": 250} for i in range(10)
] + [{"chunk_id": "b0", "document_id": "b", "position": 0, "n_tokens": 250}]


def query(query_id, document_id=None, chunks=(), documents=(), kind="specific"):
    return {
        "query_id": query_id,
        "document_id": document_id,
        "relevant_chunk_ids": list(chunks),
        "relevant_document_ids": list(documents),
        "kind": kind,
    }


# --- spread ---------------------------------------------------------------------------------------


def test_bins_have_their_ends_and_an_open_last_one():
    assert binned(1, DOCUMENT_ENDS, "documents") == (0, "1 document")
    assert binned(4, DOCUMENT_ENDS, "documents") == (3, "4 documents")
    assert binned(5, DOCUMENT_ENDS, "documents") == binned(7, DOCUMENT_ENDS, "documents")
    assert binned(7, DOCUMENT_ENDS, "documents") == (4, "5 to 7 documents")
    assert binned(11, DOCUMENT_ENDS, "documents") == (6, "over 10 documents")
    assert binned(500, TOKEN_ENDS, "tokens") == (0, "1 to 500 tokens")
    assert binned(501, TOKEN_ENDS, "tokens") == (1, "501 to 1,000 tokens")
    assert binned(2001, TOKEN_ENDS, "tokens") == (3, "over 2,000 tokens")


def test_spread_of_a_question_about_one_document_is_from_its_first_to_its_last_passage():
    groups = groups_of(
        [
            query("far", "a", ["a1", "a9"], ["a"]),  # 9 passages of 250 tokens
            query("near", "a", ["a2", "a1"], ["a"]),
            query("unmarked", "a", (), ["a"]),
        ],
        CHUNKS,
    )
    assert groups == {"1 to 500 tokens": ["near"], "over 2,000 tokens": ["far"]}


def test_spread_of_a_question_about_all_documents_is_their_number():
    groups = groups_of(
        [
            query("two", None, ["a1", "b0", "a7"]),
            query("also two", None, ["a1"], ["b"]),
            query("one", None, ["a1", "a9"]),
            query("five", None, (), "abcde"),
        ],
        CHUNKS,
    )
    expected = {"1 document": ["one"], "2 documents": ["two", "also two"]}
    assert groups == expected | {"5 to 7 documents": ["five"]}
    assert list(groups) == ["1 document", "2 documents", "5 to 7 documents"]


def test_questions_without_marks_are_grouped_by_kind():
    asked = [query("x", "a", kind="general"), query("y", "a", kind="specific")]
    assert groups_of(asked, CHUNKS) == {"general": ["x"], "specific": ["y"]}


# --- gains ----------------------------------------------------------------------------------------


def asked_by(shares: Mapping[str, float], in_document: bool = False) -> Asked:
    """A corpus of which half of the questions have two documents; shares of R@10 by method."""
    rows = {
        method: Row({"r@10": dict.fromkeys(ASKED, share), TOKENS: dict.fromkeys(ASKED, 900.0)}, {})
        for method, share in shares.items()
    }
    spent = {"n": 16, "calls": 16, "tokens_in": 1600, "tokens_out": 160, "latency_s": 8.0}
    costs = {(method, stage): spent for method in rows for stage in ("index", "query")}
    groups = {"1 document": ASKED[:8], "2 documents": ASKED[8:]}
    return Asked("Tales, dev: 16 questions", rows, groups, costs, in_document)


def test_a_method_is_compared_with_what_it_starts_from_or_else_with_dense():
    asked = asked_by({"dense": 0.2, "hybrid": 0.3, "passage_walk": 0.6, "gae": 0.5})
    cells = {row[0]: row for row in table(asked).rows}
    assert list(cells) == ["passage_walk", "gae", "hybrid", "dense"]
    assert cells["passage_walk"][1:4] == ["hybrid", "60.0 +30.0 ±0.0*", "+30.0 ±0.0*"]
    assert cells["gae"][1:3] == ["dense", "50.0 +30.0 ±0.0*"]  # its control did not run
    assert cells["dense"][1:4] == ["", "20.0", ""]
    assert cells["dense"][-3:] == ["900", "16; 1,760; 8", "1; 110; 0.50"]


def test_differences_are_over_common_questions_and_adjusted_for_all_methods():
    scores = {
        "dense": dict.fromkeys(ASKED[:8], 0.2),
        "up": dict.fromkeys(ASKED[1:], 0.5),
        "same": dict.fromkeys(ASKED, 0.2),
        "alone": {"another": 1.0},
    }
    found = differences(scores, dict.fromkeys(["up", "same", "alone"], "dense"))
    assert set(found) == {"up", "same"}
    assert found["up"].n == 7
    assert found["up"].p_value == pytest.approx(2 * 2 / 2**7)  # exact, times two methods
    assert found["same"].p_value == 1


def test_methods_better_than_the_chosen_one_are_named():
    shares = {"dense": 0.2, "passage_walk": 0.6, "evidence": 0.4, "oracle-documents": 1.0}
    (row,) = rule_table([asked_by(shares)]).rows
    assert row == ["Tales, dev", "passage_walk", "R@10", "60.0", "none"]
    (row,) = rule_table([asked_by(shares, in_document=True)]).rows
    assert row[1:] == ["evidence", "R@10", "40.0", "passage_walk +20.0 ±0.0*"]


# --- chained facts --------------------------------------------------------------------------------


def test_a_chain_of_facts_has_a_passage_for_each_and_each_names_the_next():
    contents = World(seed=3, n_questions=9).contents
    texts = {document.document_id: document.text for document in contents.documents}
    assert [len(query.relevant_document_ids) for query in contents.queries] == [
        n for n in HOPS for _ in range(3)
    ]
    for query in contents.queries:
        passages = query.relevant_document_ids
        assert passages[0].partition(" ")[2] in query.text  # the name that the question gives
        for passage, following in pairwise(passages):
            assert following.partition(" ")[2] in texts[passage]
            assert following.partition(" ")[2] not in query.text
    assert World(seed=3, n_questions=9).contents == contents


# --- the command ----------------------------------------------------------------------------------


def test_corpus_without_a_home_or_without_the_control_is_refused(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["graphs", "tales"])
    with pytest.raises(SystemExit):
        graphs.main()
    assert "'tales' names no home; write HOME:CORPUS" in capsys.readouterr().err


@pytest.mark.slow
def test_one_command_writes_all_tables_of_the_samples(tmp_path: Path, monkeypatch, capsys):
    monkeypatch.setenv("GSUM_HOME", str(tmp_path))
    for name in ("GSUM_WAREHOUSE", "DAGSTER_HOME"):
        monkeypatch.delenv(name, raising=False)
    samples = ("sample-meetings", "sample-stories")
    for name in samples:
        folder = shutil.copytree(ROOT / "data/corpora" / name, tmp_path / "corpora" / name)
        keep_methods(folder, ["dense", "hybrid", "passage_walk"])
        with (folder / "corpus.toml").open("a") as settings:
            settings.write("[scores]\nbertscore = false\n")  # the longest part of the run
    command = [sys.executable, "-m", "gsum_assets.cli.main", "run", *samples]
    done = subprocess.run(command, capture_output=True, text=True)
    assert not done.returncode, done.stdout + done.stderr
    corpora = [f"{tmp_path}:{name}" for name in samples]
    monkeypatch.setattr(sys, "argv", ["graphs", *corpora])
    graphs.main()
    shown = capsys.readouterr().out
    assert shown.count(NOTES) == 2
    assert "| passage_walk | hybrid |" in shown
    assert "5 to 7 documents (" in shown
    assert "## The rule of `gsum ask` and the figures" in shown
    monkeypatch.setattr(graphs, "CONTROL", "bm25")
    with pytest.raises(LookupError, match="gsum run sample-meetings --methods bm25"):
        graphs.main()
