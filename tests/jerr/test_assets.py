"""Index and every method as assets: equal to a rebuild, and no dearer than the change."""

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import dagster as dg
import pytest

from gsum_assets.answering.answer_lines import answer_lines
from gsum_assets.answering.ask import ask
from gsum_assets.pipeline.tables import TABLES
from gsum_assets.runner.report import RunReport
from gsum_assets.runner.run import refresh
from gsum_resources.llm.extractive import ExtractiveModel
from tests.checks.indexed import evaluations, failing
from tests.conftest import (
    CORPUS,
    READ_TOGETHER,
    House,
    document_in,
    tables_only,
)
from tests.evaluation.judges.scripted_judges import judging
from tests.models import HashEmbedder
from tests.pipeline.homes import (
    WITHOUT_BERTSCORE,
    contents,
    copy_of,
    emptied_copy_of,
    house_at,
    requests_by_asset,
    write_lines,
)
from tests.servers.replies import wanted_schema
from tests.tales import PEOPLE, PLACES, paragraphs

pytestmark = pytest.mark.slow

DOCUMENTS = [document_in(bucket) for bucket in range(4)]
NEW = document_in(2, 1)
SETTINGS = f"""
{WITHOUT_BERTSCORE}[chunking]
max_tokens = 48
overlap_tokens = 0
[jerr.chunking]
max_tokens = 120
ablations = [600]
[jerr.search]
n_simulations = 100
[jerr.pages]
min_words = 30
max_words = 90
gist_words = 20
[jerr.long]
unit_tokens = 100
n_units = 2
"""
SEARCHED = "jerr-published"
METHODS = [SEARCHED, "readagent"]
OTHERS = ["jerr", "jerr-600", "jerr-pagerank", "jerr-search", "longrag"]
OWN = [name for name in TABLES if name.startswith("jerr.")]
ANSWERED_FROM = [*OWN, "jerr.rankings", "jerr.contexts"]
READ = [*READ_TOGETHER, "jerr.line_chunks", "jerr.synopses"]
READ += ["jerr.atomic_facts", "jerr.elements", "jerr.relations"]
ALL_READ = [*READ, "chunks", "chunk_embeddings", "generated_questions", "assertions"]
ALL_READ += ["queries", "query_embeddings", *ANSWERED_FROM]
COMPARED = ["documents", "chunks", "chunk_embeddings", "queries", "query_embeddings"]
COMPARED += ["rankings", "contexts", *OWN]
QUESTION = "Which jetty did Marit Olsen close at Tarnholt?"


def materialize_only(house: House, methods: list[str], tables: list[str]) -> RunReport:
    """Make some tables of methods: what follows would take most of the time."""
    keys = [dg.AssetKey(name.split(".")) for name in tables]
    with house.instance() as instance:
        return refresh(house.pipeline(), instance, CORPUS, methods, only=keys)


@pytest.fixture(scope="module")
def indexed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    """Four documents, a question about all of them and one about the first."""
    with house_at(tmp_path_factory.mktemp("synopses")) as house:
        house.model = ExtractiveModel(HashEmbedder())  # type: ignore[assignment]
        for number, document_id in enumerate(DOCUMENTS):
            house.write_document(document_id, paragraphs(number))
        (house.folder / "corpus.toml").write_text(SETTINGS)
        write_lines(
            house.folder / "queries.jsonl",
            [
                {"query_id": query_id, "text": QUESTION, "document_id": document_id}
                | {"references": ["The first one."]}
                for query_id, document_id in (("all", None), ("first", DOCUMENTS[0]))
            ]
            + [
                {"query_id": "choice", "text": "Who wept?", "document_id": DOCUMENTS[1]}
                | {"options": ["Marit Olsen", "the bishop"], "references": ["Marit Olsen"]}
            ],
        )
        assert house.run(METHODS).errors == []
        yield house


@pytest.fixture
def changeable(indexed: House, tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    with copy_of(indexed, tmp_path_factory.mktemp("changed")) as house:
        yield house


def test_every_table_is_filled_and_every_check_passes(indexed: House) -> None:
    assert [name for name in OWN if not indexed.table(name).num_rows] in (
        [],
        ["jerr.left_out_edges"],
    )
    answered = Counter(row["method"] for row in indexed.table("summaries").to_pylist())
    assert answered == dict.fromkeys(METHODS, 3)
    assert {name for name in failing(indexed) if name.startswith("jerr")} == set()
    sizes = {row["max_tokens"] for row in indexed.table("jerr.nodes").to_pylist()}
    assert sizes == {120, 600}
    counts, n_synopses = requests_by_asset(indexed), indexed.table("jerr.synopses").num_rows
    assert counts["jerr/synopses"] + counts["jerr/atomic_facts"] <= 2 * n_synopses


def test_single_document_question_reads_no_other_document(indexed: House) -> None:
    for table in ("contexts", "jerr.reread_contexts"):
        rows = [r for r in indexed.table(table).to_pylist() if r["query_id"] == "first"]
        assert {row["method"] for row in rows} == set(METHODS)
        assert {row["document_id"] for row in rows} <= {DOCUMENTS[0], None}
        assert not any(f"day {n}" in row["text"] for row in rows for n in (10, 20, 30))


def test_reread_text_is_that_of_its_line_chunk_or_page(indexed: House) -> None:
    rows = indexed.table("jerr.reread_contexts").to_pylist()
    texts = {r["chunk_id"]: r["text"] for r in indexed.table("jerr.line_chunks").to_pylist()}
    texts |= {r["page_id"]: r["text"] for r in indexed.table("jerr.pages").to_pylist()}
    again = [row for row in rows if row["fate"] == "read again"]
    kinds = {(row["method"], row["node_kind"]) for row in again}
    assert {(SEARCHED, "line chunk"), ("readagent", "page")} <= kinds
    assert all(row["text"] == texts[row["node_id"]] for row in again)


def test_question_cost_is_the_sum_of_its_steps(indexed: House) -> None:
    calls = {
        (r["method"], r["query_id"]): r["calls"] for r in indexed.table("summaries").to_pylist()
    }
    for query_id in ("all", "first", "choice"):
        assert calls["readagent", query_id] == 2  # look-up, answer
        assert calls[SEARCHED, query_id] == 3  # keywords too


def test_update_equals_rebuild_and_requests_only_changes(
    changeable: House, tmp_path_factory: pytest.TempPathFactory
) -> None:
    house = changeable
    known = {row["chunk_id"] for row in house.table("jerr.line_chunks").to_pylist()}
    house.write_document(NEW, paragraphs(7))
    house.write_document(DOCUMENTS[2], paragraphs(2) + "\n\nWren Tarry wept at Hethering.")
    (house.folder / f"{DOCUMENTS[3]}.txt").unlink()
    counts = requests_by_asset(house)
    assert materialize_only(house, METHODS, ALL_READ).is_complete
    counts = requests_by_asset(house) - counts
    with house.instance() as instance:
        last = {(e.asset_key, e.check_name): e for e in evaluations(instance)}
    assert [e.description for e in last.values() if not e.passed] == []
    chunks = house.table("jerr.line_chunks").to_pylist()
    new = {row["chunk_id"] for row in chunks} - known
    assert 0 < counts["jerr/synopses"] <= len(new) < len(chunks) / 2
    assert 0 < counts["jerr/atomic_facts"] <= len(new)
    with emptied_copy_of(house, tmp_path_factory.mktemp("anew")) as fresh:
        with tables_only():
            assert materialize_only(fresh, METHODS, ALL_READ).is_complete
        rebuilt, updated = contents(fresh), contents(house)
    assert {name: rebuilt[name] for name in COMPARED} == {name: updated[name] for name in COMPARED}


@pytest.mark.usefixtures("only_tables_here")
def test_setting_affects_only_the_steps_that_read_it(changeable: House) -> None:
    file = changeable.folder / "corpus.toml"
    file.write_text(file.read_text().replace("n_simulations = 100", "n_simulations = 50"))
    assert materialize_only(changeable, METHODS, OWN).written == [
        f"jerr/searches[{SEARCHED}]"
    ]


@pytest.mark.usefixtures("only_tables_here")
def test_methods_share_the_index_and_a_missing_size_names_the_setting(changeable: House) -> None:
    report = materialize_only(changeable, [*OTHERS, "jerr-4000"], ANSWERED_FROM)
    materialized = {name.split("[")[0] for name in report.written}
    assert not materialized & {"jerr/line_chunks", "jerr/synopses", "jerr/elements", "jerr/nodes"}
    found = changeable.table("jerr.reread_contexts")["method"].to_pylist()
    assert set(found) == {*METHODS, *OTHERS}
    assert any("add 4000 to `ablations` in corpus.toml" in error for error in report.errors)
    for method in OTHERS:
        answer = ask(changeable.workspace, CORPUS, QUESTION, method, explain=True)
        assert answer.text
        assert answer.passages
        assert ("best path: " in answer.explanation) == (method == "jerr-search")
        assert ("read again (" in answer.explanation) == (method != "longrag")


def test_bad_reply_over_http_costs_its_chunk_and_is_requested_again(tmp_path: Path) -> None:
    ill = [True]

    def says(body: dict) -> str:
        fields = (wanted_schema(body) or {}).get("properties", {})
        text = body["messages"][1]["content"]
        if "facts" in fields:
            if ill and "day 00" in text:
                return "I would rather not."
            names = [name for name in (*PEOPLE, *PLACES) if name in text][:3]
            both = [{"source": names[0], "target": names[1], "relation": "met"}]
            return json.dumps({"facts": [text[:80]], "elements": names, "relations": both})
        if "keywords" in fields:
            return json.dumps({"keywords": ["Marit Olsen", "Tarnholt"]})
        if "references" in fields:
            return json.dumps({"references": [2, 99]})
        return text[:200] if "day" in text else "The jetty at Tarnholt."

    with house_at(tmp_path / "home") as house, judging(tmp_path, says, max_repairs=0) as (model, _):
        house.model = model  # type: ignore[assignment]
        house.write_document(DOCUMENTS[0], paragraphs(0))
        (house.folder / "corpus.toml").write_text(SETTINGS.replace("ablations = [600]", ""))
        house.write_queries([{"query_id": "all", "text": QUESTION, "references": ["The first."]}])
        report = materialize_only(house, [SEARCHED], READ)
        assert not report.errors
        assert any("jerr/atomic_facts" in gap for gap in report.gaps)
        assert "jerr/elements:every_synopsis_has_some" in failing(house)
        counts = requests_by_asset(house)
        ill.clear()
        assert materialize_only(house, [SEARCHED], ALL_READ).is_complete
        counts = requests_by_asset(house) - counts
        assert counts["jerr/synopses"] == 0
        assert counts["jerr/atomic_facts"] == 1
        assert {name for name in failing(house) if name.startswith("jerr/e")} == set()
        assert [bool(row["chunk_ids"]) for row in house.table("jerr.look_ups").to_pylist()] == [
            True
        ]


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("document_id", [None, DOCUMENTS[1]])
def test_question_is_answered_and_explained_from_the_stored_index(
    indexed: House, method: str, document_id: str | None
) -> None:
    answer = ask(indexed.workspace, CORPUS, QUESTION, method, document_id, explain=True)
    assert answer.text
    assert answer.passages
    explanation = answer.explanation
    assert ("keywords: " in explanation) == ("best path: " in explanation) == (method == SEARCHED)
    assert "read again (" in explanation
    shown = "\n".join(answer_lines(answer, Path("gsum.toml")))
    assert 0 < shown.index(explanation) < shown.index("\nsources:\n")
