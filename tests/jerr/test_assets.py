"""Index and every method as assets: what is read again, what it costs, and how it is explained."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from gsum_assets.answering.ask import ask
from gsum_assets.pipeline.tables import TABLES
from tests.checks.indexed import failing
from tests.conftest import CORPUS, House
from tests.evaluation.judges.scripted_judges import judging
from tests.families.small import DOCUMENTS, QUESTION, SMALL, home_of
from tests.pipeline.homes import (
    copy_of,
    house_at,
    requests_by_asset,
)
from tests.servers.replies import wanted_schema
from tests.tales import PEOPLE, PLACES, paragraphs

pytestmark = pytest.mark.slow

SEARCHED = "jerr-published"
METHODS = list(SMALL["jerr"].methods)
OTHERS = ["jerr", "jerr-pagerank", "jerr-search", "longrag"]
OWN = [name for name in TABLES if name.startswith("jerr.")]


@pytest.fixture(scope="module")
def indexed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    with home_of("jerr", tmp_path_factory.mktemp("synopses")) as house:
        yield house


@pytest.fixture
def changeable(indexed: House, tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    with copy_of(indexed, tmp_path_factory.mktemp("changed")) as house:
        yield house


def test_every_table_is_filled_and_a_chunk_is_read_twice(indexed: House) -> None:
    empty = {name for name in OWN if not indexed.table(name).num_rows}
    assert empty <= {"jerr.left_out_edges"}
    counts, n_synopses = requests_by_asset(indexed), indexed.table("jerr.synopses").num_rows
    assert counts["jerr/synopses"] + counts["jerr/atomic_facts"] <= 2 * n_synopses


def test_reread_text_is_that_of_its_line_chunk_or_page(indexed: House) -> None:
    rows = indexed.table("jerr.reread_contexts").to_pylist()
    texts = {r["chunk_id"]: r["text"] for r in indexed.table("jerr.line_chunks").to_pylist()}
    texts |= {r["page_id"]: r["text"] for r in indexed.table("jerr.pages").to_pylist()}
    again = [row for row in rows if row["fate"] == "read again"]
    kinds = {(row["method"], row["node_kind"]) for row in again}
    assert {(SEARCHED, "line chunk"), ("readagent", "page")} <= kinds
    assert all(row["text"] == texts[row["node_id"]] for row in again)


@pytest.mark.usefixtures("only_tables_here")
def test_methods_share_the_index(changeable: House) -> None:
    index = {"jerr/line_chunks", "jerr/synopses", "jerr/elements", "jerr/nodes"}
    assert not index & set(changeable.run(OTHERS).written)
    found = changeable.table("jerr.reread_contexts")["method"].to_pylist()
    assert set(found) == {*METHODS, *OTHERS}
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
        (house.folder / "corpus.toml").write_text(SMALL["jerr"].corpus_toml)
        house.write_queries([{"query_id": "all", "text": QUESTION, "references": ["The first."]}])
        report = house.run([SEARCHED])
        assert not report.errors
        assert any("jerr/atomic_facts" in gap for gap in report.gaps)
        assert "jerr/atomic_facts:requests_answered" in failing(house)
        counts = requests_by_asset(house)
        ill.clear()
        assert house.run([SEARCHED]).is_complete
        counts = requests_by_asset(house) - counts
        assert counts["jerr/synopses"] == 0
        assert counts["jerr/atomic_facts"] == 1
        assert {name for name in failing(house) if name.startswith("jerr/atomic")} == set()
        assert [bool(row["chunk_ids"]) for row in house.table("jerr.look_ups").to_pylist()] == [
            True
        ]
