"""The entity graph as GraphML: what others read from the file is what the tables hold."""

import io
from pathlib import Path

import networkx as nx
import pytest
from click.testing import CliRunner, Result
from hypothesis import given
from hypothesis import strategies as st

from gsum_assets.cli.main import main
from gsum_assets.graphrag.export import entity_graph, graphml
from gsum_assets.pipeline.tables import TABLES
from gsum_resources.settings.home import Home
from gsum_resources.store.parquet_store import ParquetStore
from tests.graphrag.harbour import (
    BOAT,
    COMMUNITIES,
    CORPUS,
    ENTITIES,
    LAMP,
    LIN,
    RELATIONSHIPS,
    Rows,
    table_of_rows,
    write_graph,
    write_rows,
)


def graph_of(entities: Rows, relationships: Rows, communities: Rows) -> nx.Graph:
    names = ("graphrag.entities", "graphrag.relationships", "graphrag.communities")
    rows = (entities, relationships, communities)
    return entity_graph(*(table_of_rows(TABLES[n], r) for n, r in zip(names, rows, strict=True)))


def read_back(content: bytes) -> nx.Graph:
    return nx.read_graphml(io.BytesIO(content))


def export(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["export", *arguments])


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ParquetStore:
    monkeypatch.setenv("GSUM_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("GSUM_WAREHOUSE", raising=False)
    monkeypatch.chdir(tmp_path)
    return ParquetStore(Home.from_environment().warehouse)


def test_graph_reader_finds_the_whole_graph() -> None:
    graph = graph_of(ENTITIES, RELATIONSHIPS, COMMUNITIES)
    read = read_back(graphml(graph))
    assert not read.is_directed()
    assert dict(read.nodes(data=True)) == dict(graph.nodes(data=True))
    titles = {f"community_{level}_title": "Boat, Lin" for level in (0, 1)}
    assert read.nodes[BOAT] == titles | {
        **{"name": "Boat", "label": "Boat", "type": "thing", "description": "About Boat."},
        **{"degree": 2, "n_mentions": 2, "documents": "d0; d1", "community_0": 0, "community_1": 2},
    }
    assert set(map(frozenset, read.edges)) == {frozenset({LIN, BOAT}), frozenset({BOAT, LAMP})}
    assert read.edges[LIN, BOAT] == {
        **{"id": "r-0", "relationship_id": "r-0", "weight": 2.0, "strength": 5.0},
        **{"description": "One has the other.", "chunks": "c0"},
    }
    again = graph_of(ENTITIES[::-1], RELATIONSHIPS[::-1], COMMUNITIES[::-1])
    assert graphml(again) == graphml(graph)


@given(name=st.text(), description=st.text(), title=st.text())
def test_hostile_texts_round_trip_except_characters_forbidden_in_xml(
    name: str, description: str, title: str
) -> None:
    entity = ENTITIES[0] | {"name": name, "description": description}
    community = COMMUNITIES[1] | {"entity_ids": [LIN], "title": title}
    node = read_back(graphml(graph_of([entity], [], [community]))).nodes[LIN]
    for key, text in (("name", name), ("description", description), ("community_0_title", title)):
        allowed = [c for c in text if c in "\t\n\r" or (c >= " " and c not in "\ufffe\uffff")]
        expected = "".join(allowed).replace("\r\n", "\n").replace("\r", "\n")  # as XML has lines
        assert node[key] == expected


def test_export_command_prints_its_path(store: ParquetStore, tmp_path: Path) -> None:
    write_graph(store)
    result = export(CORPUS)
    assert result.exit_code == 0, result.output
    assert result.output.startswith("harbour.graphml: 4 entities, 2 relationships, ")
    written = (tmp_path / "harbour.graphml").read_bytes()
    assert written == graphml(graph_of(ENTITIES, RELATIONSHIPS, COMMUNITIES))
    assert export(CORPUS, "--output", str(tmp_path / "other.graphml")).exit_code == 0
    assert (tmp_path / "other.graphml").read_bytes() == written


def test_missing_tables_are_reported_with_remedy(store: ParquetStore, tmp_path: Path) -> None:
    write_rows(store, "graphrag.entities", ENTITIES, "half")
    write_rows(store, "graphrag.entities", [], "empty")
    write_graph(store)
    (tmp_path / "home/corpora/elsewhere").mkdir(parents=True)
    for arguments, fragments in (
        (["elsewher"], ["'elsewher' does not exist"]),
        (["elsewhere"], ["'graphrag.entities'", "gsum run elsewhere --methods graphrag"]),
        (["half"], ["'graphrag.relationships'", "gsum run half --methods graphrag"]),
        (["empty"], ["corpus 'empty'", "no entities"]),
        (["../no-such-corpus"], ["corpus '../no-such-corpus'", "use letters"]),
        ([CORPUS, "--output", "/no/where"], ["/no/where: No such file", "--output"]),
        ([CORPUS, "--output", str(tmp_path)], ["Is a directory", "--output"]),
    ):
        result = export(*arguments)
        assert result.exit_code == 1
        assert isinstance(result.exception, SystemExit)
        said = " ".join(result.output.split())
        assert all(fragment in said for fragment in fragments), said
