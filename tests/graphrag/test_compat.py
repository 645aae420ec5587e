"""Tables, columns, types and joins of Microsoft GraphRAG are available."""

import json
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pandas as pd
import pytest
from click.testing import CliRunner

from gsum_assets.cli.main import main
from gsum_assets.graphrag.views import VIEWS
from gsum_assets.pipeline.tables import TABLES
from gsum_assets.refresh.step import complete_catalogue
from gsum_resources.store.catalogue import define_views
from gsum_resources.store.parquet_store import ParquetStore
from tests.conftest import House
from tests.graphrag.harbour import ANN, BOAT, CORPUS, LAMP, LIN, write_graph

COLUMNS = {  # of graphrag 3.3.0, data_model/schemas.py, with the types that its workflows write
    "entities": """
        id VARCHAR, human_readable_id BIGINT, title VARCHAR, type VARCHAR, description VARCHAR,
        text_unit_ids VARCHAR[], frequency BIGINT, degree BIGINT
    """,
    "relationships": """
        id VARCHAR, human_readable_id BIGINT, source VARCHAR, target VARCHAR,
        description VARCHAR, weight DOUBLE, combined_degree BIGINT, text_unit_ids VARCHAR[]
    """,
    "communities": """
        id VARCHAR, human_readable_id BIGINT, community BIGINT, level BIGINT, parent BIGINT,
        children BIGINT[], title VARCHAR, entity_ids VARCHAR[], relationship_ids VARCHAR[],
        text_unit_ids VARCHAR[], period VARCHAR, size BIGINT
    """,
    "community_reports": """
        id VARCHAR, human_readable_id BIGINT, community BIGINT, level BIGINT, parent BIGINT,
        children BIGINT[], title VARCHAR, summary VARCHAR, full_content VARCHAR, rank DOUBLE,
        rating_explanation VARCHAR, findings STRUCT(explanation VARCHAR, summary VARCHAR)[],
        full_content_json VARCHAR, period VARCHAR, size BIGINT
    """,
    "covariates": """
        id VARCHAR, human_readable_id BIGINT, covariate_type VARCHAR, type VARCHAR,
        description VARCHAR, subject_id VARCHAR, object_id VARCHAR, status VARCHAR,
        start_date VARCHAR, end_date VARCHAR, source_text VARCHAR, text_unit_id VARCHAR
    """,
    "text_units": """
        id VARCHAR, human_readable_id BIGINT, text VARCHAR, n_tokens BIGINT,
        document_id VARCHAR, entity_ids VARCHAR[], relationship_ids VARCHAR[],
        covariate_ids VARCHAR[]
    """,
    "documents": """
        id VARCHAR, human_readable_id BIGINT, title VARCHAR, text VARCHAR,
        text_unit_ids VARCHAR[], creation_date VARCHAR, raw_data VARCHAR
    """,
}


@pytest.fixture
def store(tmp_path: Path) -> ParquetStore:
    return ParquetStore(str(tmp_path))


@pytest.fixture
def connection(store: ParquetStore) -> Iterator[duckdb.DuckDBPyConnection]:
    """The views over two corpora with the same graph."""
    write_graph(store)
    write_graph(store, "another")
    with duckdb.connect() as connection:
        define_views(connection, store, TABLES.values(), VIEWS)
        yield connection


def frame(connection: duckdb.DuckDBPyConnection, name: str) -> pd.DataFrame:
    """Return the counterpart of the package's `pd.read_parquet(f"{name}.parquet")`."""
    query = f"from graphrag_compat.{name} where corpus = '{CORPUS}' order by human_readable_id"
    return connection.sql(query).df().drop(columns="corpus")


@pytest.mark.parametrize("is_filled", [False, True])
def test_columns_order_and_types_equal_the_package(store: ParquetStore, is_filled: bool) -> None:
    if is_filled:
        write_graph(store)
    with duckdb.connect() as connection:
        define_views(connection, store, TABLES.values(), VIEWS)
        for name, columns in COLUMNS.items():
            relation = connection.sql(f"from graphrag_compat.{name}")
            found = zip(relation.columns, map(str, relation.types), strict=True)
            expected = f"corpus VARCHAR, {' '.join(columns.split())}"
            assert ", ".join(map(" ".join, found)) == expected, name
            assert bool(relation.fetchall()) == is_filled
    assert {view.name for view in VIEWS} == {f"graphrag_compat.{name}" for name in COLUMNS}


def test_corpora_are_separate_and_row_order_does_not_matter(
    connection: duckdb.DuckDBPyConnection, store: ParquetStore
) -> None:
    before = {name: frame(connection, name) for name in COLUMNS}
    write_graph(store, reverse=True)
    for name, rows in before.items():
        if name not in ("communities", "community_reports"):  # these have the community's number
            assert rows["human_readable_id"].tolist() == list(range(len(rows)))
        assert rows["id"].is_unique
        pd.testing.assert_frame_equal(frame(connection, name), rows)


def test_entities_of_the_most_connected_communities(connection: duckdb.DuckDBPyConnection) -> None:
    """As the package's query code does, `read_indexer_entities`."""
    entities, communities = frame(connection, "entities"), frame(connection, "communities")
    assert entities["title"].tolist()[0] == "Boat"  # number 0 is the most connected
    assert entities.set_index("id").loc[LIN, "type"] == "PERSON"
    join = communities.explode("entity_ids").loc[:, ["community", "level", "entity_ids"]]
    nodes = entities.merge(join, left_on="id", right_on="entity_ids", how="left")
    found = nodes[nodes["level"] <= 1].groupby("id").agg({"community": set})["community"]
    assert found.to_dict() == {BOAT: {0, 2}, LIN: {0, 2}, LAMP: {0, 3}, ANN: {1}}
    relationships = frame(connection, "relationships")
    ends = relationships[["source", "target"]].values.tolist()
    assert ends == [["Lin", "Boat"], ["Boat", "Lamp"]]
    degree = entities.set_index("title")["degree"]
    sums = [degree[source] + degree[target] for source, target in ends]
    assert relationships["combined_degree"].tolist() == sums


def test_text_units_refer_to_their_elements(connection: duckdb.DuckDBPyConnection) -> None:
    units = frame(connection, "text_units").set_index("id")
    assert units["document_id"].to_dict() == {"c0": "d0", "c1": "d0", "c2": "d1"}
    for name, column in (("entities", "entity_ids"), ("relationships", "relationship_ids")):
        there = frame(connection, name).explode("text_unit_ids")
        back = units.explode(column)[column].dropna()
        assert {(unit, one) for unit, one in back.items()} == set(
            zip(there["text_unit_ids"], there["id"], strict=True)
        )
    claims = units["covariate_ids"].map(list).to_dict()
    assert claims == {"c0": [], "c1": ["c1-0", "c1-1"], "c2": []}
    documents = frame(connection, "documents").set_index("id")
    assert documents["text_unit_ids"].map(list).to_dict() == {"d0": ["c0", "c1"], "d1": ["c2"]}


def test_claims_are_found_by_the_title_of_their_subject(
    connection: duckdb.DuckDBPyConnection,
) -> None:
    claims = frame(connection, "covariates").set_index("id")
    known = claims.loc["c1-0", ["subject_id", "object_id", "type", "status"]].tolist()
    assert known == ["Lin", "Boat", "OWNERSHIP", "TRUE"]  # said of "Dr Lin"
    assert claims.loc["c1-0", ["start_date", "end_date"]].tolist() == ["1999", "NONE"]
    assert claims.loc["c1-1", ["subject_id", "object_id"]].tolist() == ["a stranger", "NONE"]
    entities = frame(connection, "entities")
    assert claims.merge(entities, left_on="subject_id", right_on="title").shape[0] == 1


@pytest.mark.slow
def test_catalogue_and_gsum_sql_have_the_views(house: House) -> None:
    write_graph(house.store)
    complete_catalogue(house.workspace)
    with duckdb.connect(str(house.home.catalogue), read_only=True) as connection:
        assert len(frame(connection, "entities")) == 4
    with duckdb.connect() as connection:  # under a name of the user's own
        connection.execute(f"attach '{house.home.catalogue}' as mine (read_only)")
        query = "select count(*) from mine.graphrag_compat.text_units"
        assert connection.sql(query).fetchall() == [(3,)]
    query = "select title from graphrag_compat.entities where degree = 2"
    result = CliRunner().invoke(main, ["sql", query, "--csv"])
    assert result.output.split() == ["title", "Boat"]
    listed = CliRunner().invoke(main, ["sql", "show all tables", "--csv"]).output
    assert all(f"graphrag_compat,{name}," in listed for name in COLUMNS)


def test_reports_of_a_level_by_rank(connection: duckdb.DuckDBPyConnection) -> None:
    reports = frame(connection, "community_reports")
    best = reports[reports["level"] == 0].sort_values("rank", ascending=False)
    assert best["title"].tolist() == ["Report 0", "Report 1"]
    first = best.iloc[0]
    expected = [{"explanation": "x0", "summary": "s0"}, {"explanation": "x1", "summary": "s1"}]
    assert list(first["findings"]) == expected
    whole = {"title": "Report 0", "summary": "In short.", "findings": expected, "rating": 8.0}
    whole["rating_explanation"] = "It matters so much."
    assert json.loads(first["full_content_json"]) == whole
    assert list(best.iloc[1]["findings"]) == []
    communities = frame(connection, "communities").set_index("community")
    assert communities["parent"].to_dict() == {0: -1, 1: -1, 2: 0, 3: 0}
    assert communities["children"].map(list).to_dict() == {0: [2, 3], 1: [], 2: [], 3: []}
    assert communities["title"].tolist() == [f"Community {n}" for n in range(4)]
    assert communities["size"].tolist() == communities["entity_ids"].map(len).tolist()
    for row in reports.itertuples():
        community = communities.loc[row.community]
        assert (row.parent, row.size) == (community["parent"], community["size"])
