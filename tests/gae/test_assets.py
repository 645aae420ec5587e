"""Graph, clusters and every method as assets: which of them train, reflect and ask again."""

from collections.abc import Iterator

import pytest

from gsum_resources.store.arrow import pc
from tests.conftest import House, written_by
from tests.families.small import DOCUMENTS, SMALL, home_of
from tests.pipeline.homes import copy_of

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
