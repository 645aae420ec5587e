"""What a corpus no longer keeps: dropped methods, and rows that were removed."""

import duckdb
import pytest

from gsum_assets.answering.ask import ask
from gsum_assets.graphrag.index import INDEX as OF_GRAPHRAG
from gsum_assets.pipeline.corpus_settings import CorpusError
from gsum_assets.pipeline.tables import RESULT_TABLES, TABLES
from gsum_assets.refresh.forget import forget_deleted
from gsum_assets.refresh.step import complete_catalogue
from gsum_assets.registry.families import METHODS
from gsum_assets.runner.methods import drop_methods
from gsum_resources.state.locks import locked
from tests.conftest import CORPUS, House, document_in
from tests.pipeline.homes import due

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("only_tables")]


def methods_in(house: House, name: str) -> set[str]:
    return set(house.table(name)["method"].to_pylist())


def test_dropped_methods_leave_with_their_tables(changeable: House) -> None:
    workspace = changeable.workspace
    assert changeable.run(["tfidf", "random"]).is_complete
    with pytest.raises(CorpusError, match=r"gor cannot be dropped; it keeps bm25, tfidf, random"):
        drop_methods(workspace, CORPUS, ["gor"])
    line = drop_methods(workspace, CORPUS, ["tfidf", "random"])
    assert line.startswith("dropped random, tfidf and removed ")
    assert 'methods = ["bm25"] in ' in line
    assert METHODS.wanted(changeable.home.corpora, CORPUS) == ["bm25"]
    assert all(methods_in(changeable, name) == {"bm25"} for name in RESULT_TABLES)
    assert changeable.run().is_complete
    assert methods_in(changeable, "leaderboard") == {"bm25"}

    drop_methods(workspace, CORPUS, ["bm25"])
    assert METHODS.wanted(changeable.home.corpora, CORPUS) == []
    assert changeable.table("chunks").num_rows
    assert not changeable.store.partitions(TABLES["leaderboard"])
    assert due(changeable) == []


def test_methods_are_not_dropped_while_a_run_could_write_them_again(changeable: House) -> None:
    with (
        locked(changeable.store, CORPUS, "a run"),
        pytest.raises(CorpusError, match="a run on it must end first"),
    ):
        drop_methods(changeable.workspace, CORPUS, ["bm25"])
    assert methods_in(changeable, "scores") == {"bm25"}


def test_a_method_makes_those_tables_of_its_index_alone_that_it_reads(changeable: House) -> None:
    """`jerr` pays for no graph, its search does; the graph goes with it."""
    workspace, graph = changeable.workspace, ("jerr.elements", "jerr.nodes", "jerr.edges")
    assert changeable.run(["jerr", "graphrag-ss"]).is_complete
    written = {name for name, table in TABLES.items() if changeable.store.partitions(table)}
    assert not written & {f"graphrag.{name}" for step in OF_GRAPHRAG for name in step.writes}
    assert {"jerr.line_chunks", "jerr.synopses"} <= written
    assert not written.intersection(graph)
    assert due(changeable) == []
    assert ask(workspace, CORPUS, "Who met the boat?", "jerr").passages
    with pytest.raises(CorpusError, match=r"run tales --methods jerr-search` first"):
        ask(workspace, CORPUS, "Who met the boat?", "jerr-search")

    assert changeable.run(["jerr-search"]).is_complete
    assert all(changeable.store.partitions(TABLES[name]) for name in graph)
    drop_methods(workspace, CORPUS, ["jerr-search"])
    assert not any(changeable.store.partitions(TABLES[name]) for name in graph)
    assert changeable.run().is_complete
    assert ask(workspace, CORPUS, "Who met the boat?", "jerr").passages


def rows(house: House, query: str) -> list[tuple]:
    complete_catalogue(house.workspace)
    with duckdb.connect(str(house.home.catalogue), read_only=True) as connection:
        return connection.sql(query).fetchall()


def test_a_deleted_and_a_new_document(house: House) -> None:
    (house.folder / "queries.jsonl").unlink()
    assert house.run([]).errors == []
    assert rows(house, "from changes") == []
    (house.folder / f"{document_in(1)}.txt").unlink()
    house.write_document(document_in(2, 1))
    assert house.run([]).errors == []
    changed = "select change, row_id from changes where table_name = 'documents' order by change"
    assert rows(house, changed) == [("added", document_in(2, 1)), ("removed", document_in(1))]
    assert rows(house, "select corpus, document_id from deleted_documents") == [
        (CORPUS, document_in(1))
    ]
    assert forget_deleted(house.workspace, at_once=True)
    assert rows(house, changed) == [("added", document_in(2, 1))]
    assert rows(house, "from deleted_documents") == []
