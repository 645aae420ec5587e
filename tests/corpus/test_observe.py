"""The observed version of a corpus folder changes exactly with the files it covers."""

from collections.abc import Callable
from pathlib import Path

from gsum_assets.corpus import observe
from gsum_assets.runner.execute import observe_sources
from gsum_resources.dagster_io.warehouse_io import WarehouseIO
from tests.conftest import CORPUS, House

ENTITIES, RELATIONSHIPS = observe.GRAPH_FILES


def graph_of(house: House) -> Callable[[], str]:
    warehouse: WarehouseIO = house.pipeline().warehouse
    return lambda: observe.graph(warehouse, CORPUS)


def write(file: Path, content: bytes) -> None:
    file.parent.mkdir(exist_ok=True)
    file.write_bytes(content)


def test_corpus_without_graph_has_an_empty_versioned_listing(house: House) -> None:
    version = graph_of(house)
    none = version()
    assert house.table("source_graph").num_rows == 0
    (house.folder / "graph").mkdir()
    write(house.folder / "graph" / "notes.csv", b"no graph")
    assert version() == none
    write(house.home.corpora / "other" / "queries.jsonl", b"")
    assert observe.graph(house.pipeline().warehouse, "other") == none


def test_graph_version_depends_on_its_files_only(house: House) -> None:
    version = graph_of(house)
    seen = [version()]
    for name, content in ((ENTITIES, b"one"), (RELATIONSHIPS, b"one"), (ENTITIES, b"two")):
        write(house.folder / name, content)
        seen.append(version())
    assert len(set(seen)) == 4
    write(house.folder / ENTITIES, b"two")  # rewritten, and the same
    house.write_queries([])
    (house.folder / "corpus.toml").write_text("title = 'Tales'\n")
    assert version() == seen[-1]
    listed = house.table("source_graph")
    assert listed["file"].to_pylist() == [ENTITIES, RELATIONSHIPS]
    (house.folder / RELATIONSHIPS).unlink()
    assert version() not in seen
    (house.folder / ENTITIES).unlink()
    assert version() == seen[0]


def test_snapshot_records_a_graph_and_nothing_else(house: House) -> None:
    pipeline = house.pipeline()
    with house.instance() as instance:
        observe_sources(pipeline, instance, CORPUS, {})
        before = {name: house.table(name) for name in ("source_documents", "source_queries")}
        write(house.folder / ENTITIES, b"one")
        observe_sources(pipeline, instance, CORPUS, {})
    assert house.table("source_graph")["file"].to_pylist() == [ENTITIES]
    assert {name: house.table(name) for name in before} == before
