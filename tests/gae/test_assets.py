"""Graph, clusters and every method as assets: which of them train, reflect and ask again."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from gsum_resources.store.arrow import pc
from tests.conftest import House, written_by
from tests.evaluation.judges.scripted_judges import judging
from tests.families.small import DOCUMENTS, SMALL, home_of
from tests.pipeline.homes import copy_of
from tests.servers.replies import wanted_schema

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("only_tables")]

METHODS = SMALL["gae"].methods


@pytest.fixture(scope="module")
def indexed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    with home_of("gae", tmp_path_factory.mktemp("clusters")) as house:
        yield house


@pytest.fixture
def changeable(indexed: House, tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    with copy_of(indexed, tmp_path_factory.mktemp("changed")) as house:
        yield house


def of_method(house: House, table: str, method: str) -> list[dict]:
    rows = house.table(table)
    return rows.filter(pc.equal(rows["method"], method)).to_pylist()


def test_only_the_published_form_trains_and_reflects(indexed: House) -> None:
    n_rows = {
        (method, table): len(of_method(indexed, f"gae.{table}", method))
        for method in METHODS
        for table in ("training_log", "embeddings", "clusters", "topics", "reflections")
    }
    n_chunks = indexed.table("chunks").num_rows
    assert n_rows["gae-published", "training_log"] == 5
    assert n_rows["gae-published", "embeddings"] == n_chunks
    assert n_rows["gae", "clusters"] == n_rows["gae-published", "clusters"] == n_chunks
    assert n_rows["gae-published", "topics"]
    assert n_rows["gae-published", "reflections"]
    for table in ("training_log", "embeddings", "topics", "reflections"):
        assert n_rows["gae", table] == n_rows["gae-no-rerank", table] == 0
    assert n_rows["gae-no-rerank", "clusters"] == 0
    for method, clustering in (("gae", "leiden"), ("gae-published", "dbscan")):
        of_scope = of_method(indexed, "gae.clusterings", method)
        assert [row["scope"] for row in of_scope] == ["corpus", "document"]
        assert {row["clustering"] for row in of_scope} == {clustering}
        assert all(row["weight"] == 1 for row in of_scope) or method == "gae"
    whole = of_method(indexed, "gae.refined_contexts", "gae")
    assert {row["fate"] for row in whole} == {"whole"}


def test_answer_cost_is_the_sum_of_its_steps(indexed: House) -> None:
    steps = ("gae.topics", "gae.reflections", "gae.refined_contexts")
    for method in ("gae", "gae-published"):
        before = sum(
            row["calls"]
            for table in steps
            for row in of_method(indexed, table, method)
            if row["query_id"] == "all"
        )
        (answer,) = (
            row for row in of_method(indexed, "summaries", method) if row["query_id"] == "all"
        )
        assert answer["calls"] == before + 1
        assert (before > 0) == (method == "gae-published")


def test_edit_trains_only_for_the_method_that_asks_for_it(changeable: House) -> None:
    house = changeable
    file = house.folder / f"{DOCUMENTS[0]}.txt"
    file.write_text(f"{file.read_text()} A ferry left.")
    assert written_by(house.run())["gae/embeddings"] == "methods gae-published (of 3)"


def test_setting_affects_only_the_steps_that_read_it(changeable: House) -> None:
    file = changeable.folder / "corpus.toml"
    file.write_text(file.read_text() + "[gae.refine]\nprompt_tokens = 500\n")
    written = set(changeable.run().written)
    assert "gae/refined_contexts" in written
    assert not written & {"gae/embeddings", "gae/clusters", "gae/rankings", "gae/reflections"}


def test_only_failed_requests_are_repeated_over_http(changeable: House, tmp_path: Path) -> None:
    house, ill = changeable, [True]

    def says(body: dict) -> str:
        fields = (wanted_schema(body) or {}).get("properties", {})
        if "topic" in fields:
            return "no JSON" if ill else json.dumps({"topic": "Boats", "relevance": 8})
        return json.dumps({"score": 2}) if "score" in fields else "They met."

    def n_requests() -> int:
        return len(server.lines("/chat/completions"))

    with judging(tmp_path, says, max_repairs=0) as (model, server):
        house.model = model
        report = house.run(["gae-published"])
        assert not report.errors
        assert not report.is_complete
        assert not of_method(house, "gae.topics", "gae-published")
        before = n_requests()
        ill.clear()
        assert house.run(["gae-published"]).is_complete
        topics = of_method(house, "gae.topics", "gae-published")
        assert {row["topic"] for row in topics} == {"Boats"}
        # the topics; prompts that their relevance changes; the answers
        refined = of_method(house, "gae.refined_contexts", "gae-published")
        assert n_requests() - before <= len(topics) + len(refined) + 2
        assert {row["score"] for row in refined} == {5.0}
