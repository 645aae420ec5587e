"""The views and macros of an analyst's questions, on tables of a handful of rows."""

import itertools
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest

from gsum_assets.corpus import observe
from gsum_assets.corpus.load import SourceDocument
from gsum_assets.corpus.rows import rows_of as document_rows
from gsum_assets.pipeline.tables import TABLES
from gsum_assets.refresh.changes import forget_changes, note_changes
from gsum_assets.registry.families import views
from gsum_resources.store.appended import path_of
from gsum_resources.store.catalogue import build_catalogue
from gsum_resources.store.parquet_store import ParquetStore, Partition, Provenance
from gsum_resources.store.table import Macro
from tests.rows import blank_row, write_rows

EDGES = [("ida", "mill", 3.0), ("ida", "ferry", 1.0), ("ida", "bram", 1.0), ("bram", "mill", 2.0)]
ARGUMENTS = {
    "documents_changed": "today() - 1",
    "changed_since": "today() - 1",
    "why": "'leaderboard', 'board'",
    "answer": "'q1'",
    "sentences_of": "'q1'",
    "person": "'Ida Brandt'",
    "entities_of": "'board', 'minutes'",
    "neighbours": "'board', 'ida'",
    "passage_graph": "'board'",
}
OLDEST = Path(sys.prefix) / "duckdb-1.1"  # `make` installs it beside the pinned version


@pytest.fixture
def store(tmp_path: Path) -> ParquetStore:
    return ParquetStore(str(tmp_path / "warehouse"))


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A catalogue with a document, its chunk, an entity graph and an answer; only read."""
    folder = tmp_path_factory.mktemp("home")
    store = ParquetStore(str(folder / "warehouse"))
    bucket, corpus = Partition("board", "00"), Partition("board")
    write_rows(
        store, "documents", bucket, [{"document_id": "minutes", "text": "Ida Brandt spoke."}]
    )
    chunk = {"chunk_id": "c1", "document_id": "minutes", "text": "Ida Brandt took the ferry."}
    write_rows(store, "chunks", bucket, [chunk])
    names = sorted({name for source, target, _ in EDGES for name in (source, target)})
    entities = [
        {"entity_id": f"e-{name}", "name": name, "chunk_ids": ["c1"], "document_ids": ["minutes"]}
        | {"degree": sum(name in edge for edge in EDGES)}
        for name in names
    ]
    write_rows(store, "graphrag.entities", corpus, entities)
    relationships = [
        {"relationship_id": f"{s}-{t}", "source_id": f"e-{s}", "target_id": f"e-{t}", "weight": w}
        for s, t, w in EDGES
    ]
    write_rows(store, "graphrag.relationships", corpus, relationships)
    write_rows(store, "queries", corpus, [{"query_id": "q1", "text": "Who took the ferry?"}])
    write_rows(
        store, "summaries", Partition("board", method="gor"), [{"query_id": "q1", "text": "Ida"}]
    )
    context = {"query_id": "q1", "rank": 1, "node_id": "c1", "node_kind": "chunk", "text": "Ida"}
    write_rows(store, "contexts", Partition("board", method="gor"), [context])
    inputs = {"table:scores/corpus=board": "v1", "settings:retrieval/corpus=board": "v2"}
    write_rows(store, "leaderboard", corpus, [], inputs=inputs)
    of_scores = {"table:queries/corpus=board": "v"}
    write_rows(store, "scores", Partition("board", method="gor"), [], inputs=of_scores)
    catalogue = folder / "gsum.duckdb"
    build_catalogue(store, TABLES.values(), catalogue, views())
    return catalogue


def _rows(home: Path, query: str) -> list[tuple[object, ...]]:
    with duckdb.connect(str(home), read_only=True) as connection:
        return connection.sql(query).fetchall()


def test_every_macro_runs_before_any_table_has_a_file(store: ParquetStore, tmp_path: Path) -> None:
    build_catalogue(store, TABLES.values(), tmp_path / "empty.duckdb", views())
    macros = {view.name for view in views() if isinstance(view, Macro)}
    assert macros == set(ARGUMENTS)
    for name, arguments in ARGUMENTS.items():
        assert _rows(tmp_path / "empty.duckdb", f"from {name}({arguments})") == []


def test_every_table_has_a_name_without_a_dot_and_every_column_a_comment(home: Path) -> None:
    shown = {name for (name,) in _rows(home, "show tables")}
    assert {name.replace(".", "_") for name in TABLES} <= shown
    bare = _rows(
        home,
        "select table_name, column_name from duckdb_columns() where not internal "
        "and comment is null",
    )
    assert bare == []
    assert (
        _rows(home, "select view_name from duckdb_views() where not internal and comment is null")
        == []
    )


def test_a_macro_names_one_passage_graph(store: ParquetStore, tmp_path: Path) -> None:
    home = tmp_path / "graphs.duckdb"
    none: dict[str, object] = {"candidates": [], "similarities": []}
    candidates = [
        none | {"level": "node", "passage_id": name, "passage_number": i}
        for i, name in enumerate("ab")
    ]
    write_rows(store, "lightpal.candidates", Partition("board"), candidates)
    edge: dict[str, object] = {"level": "node", "source_id": "a", "targets": [1]}
    graphs = [
        edge | {"graph": graph, "scope": scope, "weights": [weight]}
        for graph, scope, weight in (("walk", "corpus", 0.5), ("context", "document", 0.25))
    ]
    write_rows(store, "lightpal.passage_edges", Partition("board"), graphs)
    build_catalogue(store, TABLES.values(), home, views())
    assert _rows(home, "from passage_graph('board')") == [("a", "b", 1, 0.5)]
    other = "passage_graph('board', of_graph := 'context', of_scope := 'document')"
    assert _rows(home, f"from {other}") == [("a", "b", 1, 0.25)]


def test_a_person_is_found_in_every_column_of_text(home: Path) -> None:
    columns = _rows(home, "select table_name, column_name from person('ida brandt')")
    assert sorted(columns) == [("chunks", "text"), ("documents", "text")]


def test_entities_of_a_document_and_neighbours(home: Path) -> None:
    entities = _rows(home, "select name, passages, degree from entities_of('board', 'minutes')")
    assert entities[0] == ("ida", 1, 3)
    assert len(entities) == 4
    neighbours = _rows(home, "select name, weight from neighbours('board', 'bram')")
    assert neighbours == [("mill", 2.0), ("ida", 1.0)]


def test_costs_are_summed_by_family_and_day(store: ParquetStore, tmp_path: Path) -> None:
    time = datetime(2026, 3, 1, 12, tzinfo=UTC)
    call = {"model": "m", "document_id": "", "prompt_hash": "", "time": time, "cached": False}
    call |= {"latency_s": 0.0, "retries": 0, "run_id": None, "error": None}
    calls = [
        call | {"asset": "gor/summaries", "tokens_in": 10, "tokens_out": 1, "cost_usd": 0.5},
        call
        | {"asset": "gor/simulated_queries", "tokens_in": 20, "tokens_out": 2, "cost_usd": 1.0},
        call | {"asset": "ask", "tokens_in": 3, "tokens_out": 1, "cost_usd": 0.25},
    ]
    batch = {"asset": "gor/node_rankings", "model": "e", "n_texts": 4, "tokens_in": 7}
    batch |= {"latency_s": 0.0, "cost_usd": 0.125, "time": time}
    for name, rows in (("llm_calls", calls), ("embedding_calls", [batch])):
        path = path_of(store, TABLES[name], "board", "1")
        store.write_file(path, pa.Table.from_pylist(rows, TABLES[name].schema))
    build_catalogue(store, TABLES.values(), tmp_path / "gsum.duckdb", views())
    columns = "family, requests, tokens_in, tokens_out, cost_usd"
    assert _rows(
        tmp_path / "gsum.duckdb", f"select {columns} from cost_by_family order by family"
    ) == [("", 1, 3, 1, 0.25), ("gor", 3, 37, 3, 1.625)]


def test_changes_of_a_graph_are_dated_and_named_until_they_are_forgotten(
    store: ParquetStore, tmp_path: Path
) -> None:
    table, corpus = TABLES["graphrag.entities"], Partition("board")
    home = tmp_path / "gsum.duckdb"

    def entities(names: str, run: str) -> None:
        rows = [{"entity_id": f"e-{name}", "name": name} for name in names]
        full = [{**blank_row("graphrag.entities"), **row} for row in rows]
        changed = pa.Table.from_pylist(full, table.schema)
        note_changes(store, table, corpus, changed, run)
        write_rows(store, "graphrag.entities", corpus, rows)

    def changes() -> list[tuple[object, ...]]:
        build_catalogue(store, TABLES.values(), home, views())
        columns = "change, name, run_id, row_id"
        return _rows(home, f"select {columns} from changed_since('2000-01-01') order by row_id")

    entities("ab", "first")
    assert changes() == []  # there from the first
    entities("bc", "second")
    removed, added = ("removed", None, "second", "e-a"), ("added", "c", "second", "e-c")
    assert changes() == [removed, added]
    entities("abc", "third")
    assert changes() == [("added", "a", "third", "e-a"), added]
    assert _rows(home, "from changed_since(today() + 1)") == []
    entities("a", "fourth")
    forget_changes(store, "board")
    assert changes() == [("added", "a", "third", "e-a")]
    forget_changes(store, "board")
    assert changes() == [("added", "a", "third", "e-a")]


def test_why_goes_back_level_by_level(home: Path) -> None:
    wanted = "select depth, table_name, kind, input from why('leaderboard', 'board'{})"
    near = [(1, "leaderboard", "settings", "retrieval"), (1, "leaderboard", "table", "scores")]
    assert _rows(home, wanted.format("")) == near
    assert _rows(home, wanted.format(", levels := 9")) == [*near, (2, "scores", "table", "queries")]


def test_answer_is_shown_with_what_was_read(home: Path) -> None:
    assert _rows(home, "select rank, kind, text from answer('q1')") == [
        (0, "answer", "Ida"),
        (1, "chunk", "Ida"),
    ]
    assert _rows(home, "select question, answer from answers") == [("Who took the ferry?", "Ida")]


def test_documents_are_listed_by_when_they_changed(store: ParquetStore, tmp_path: Path) -> None:
    listing, partition = TABLES["source_documents"], Partition("board", "00")
    start = datetime.now(UTC)
    versions = [
        [("a", "1"), ("b", "1")],
        [("a", "1"), ("b", "2"), ("c", "1")],  # b changed, c is new
    ]
    for documents in versions:
        rows = [SourceDocument(name, f"{name}.txt", 0, content) for name, content in documents]
        observe._keep(store, listing, partition, document_rows(listing, rows))
    rows = store.read(listing, [partition])[0].to_pylist()
    a, b, c = ((row["added"] - start, row["changed"] - start) for row in rows)
    assert a[0] == a[1] == b[0] < b[1] == c[0] == c[1]
    build_catalogue(store, TABLES.values(), tmp_path / "gsum.duckdb", views())
    since = (start + a[0] + timedelta(microseconds=1)).isoformat()
    changes = _rows(
        tmp_path / "gsum.duckdb",
        f"select document_id, change from documents_changed('{since}') order by 1",
    )
    assert changes == [("b", "changed"), ("c", "added")]


def test_listing_of_an_earlier_version_gets_its_times_and_keeps_its_hash(
    store: ParquetStore,
) -> None:
    listing, partition = TABLES["source_documents"], Partition("board", "00")
    rows = document_rows(listing, [SourceDocument("a", "a.txt", 0, "1")])
    version = observe._keep(store, listing, partition, rows)
    store.write(listing, partition, rows, Provenance("", ""))  # by code without the times
    assert observe._keep(store, listing, partition, rows) == version
    assert store.read(listing, [partition])[0]["changed"].null_count == 0


def by_the_oldest(file: Path, queries: Sequence[str]) -> list[str]:
    """Return the version of DuckDB that the docs name, and the number of rows of each query."""
    program = (
        "import duckdb, json, sys\n"
        "c = duckdb.connect(sys.argv[1], read_only=True)\n"
        "c.execute('set enable_progress_bar = false')  # of a query longer than two seconds\n"
        "print(duckdb.__version__)\n"
        "for q in json.load(sys.stdin): print(len(c.sql(q).fetchall()))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, str(file)],
        env={**os.environ, "PYTHONPATH": str(OLDEST)},
        input=json.dumps(queries),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


@pytest.mark.slow
@pytest.mark.skipif(not OLDEST.exists(), reason="`make` installs the oldest client")
def test_the_oldest_client_that_the_docs_name_answers_every_question(home: Path) -> None:
    """DuckDB 1.1 opens the file of the pinned version, and runs each view and macro."""
    named = [name for view in views() if not isinstance(view, Macro) for name in [view.name]]
    queries = [f"from {name}" for name in itertools.chain(TABLES, ["provenance"], named)]
    queries += [f"from {name}({arguments})" for name, arguments in ARGUMENTS.items()]
    neighbours = "from neighbours('board', 'ida')"
    version, *_, n_neighbours = by_the_oldest(home, [*queries, neighbours])
    assert (version, n_neighbours) == ("1.1.3", "3")


@pytest.mark.slow
@pytest.mark.skipif(not OLDEST.exists(), reason="`make` installs the oldest client")
def test_the_oldest_client_filters_the_provenance_of_many_files(
    store: ParquetStore, tmp_path: Path
) -> None:
    """After some files DuckDB 1.1 evaluates the conditions of a query in another order."""
    for i in range(150):
        write_rows(store, "leaderboard", Partition(f"board-{i}"), [])
    build_catalogue(store, TABLES.values(), tmp_path / "many.duckdb", views())
    queries = [
        "from provenance where written >= '2000-01-01'",
        "from provenance where failed > 0",
    ]
    assert by_the_oldest(tmp_path / "many.duckdb", queries) == ["1.1.3", "150", "0"]


def test_networks_are_listed_with_whether_their_corpus_has_changed(
    store: ParquetStore, tmp_path: Path
) -> None:
    def trained() -> list[tuple[object, ...]]:
        build_catalogue(store, TABLES.values(), tmp_path / "trained.duckdb", views())
        columns = "model, method, documents_learnt, documents, corpus_changed"
        return _rows(tmp_path / "trained.duckdb", f"SELECT {columns} FROM trained")

    documents = [{"document_id": name, "text": name} for name in ("minutes", "letter")]
    write_rows(store, "documents", Partition("board", "00"), documents)
    assert trained() == []
    network = {"learnt_from": ["h1", "h2"], "weights": b""}
    for method in ("gor", "gor-gcn"):
        write_rows(store, "gor.model", Partition("board", method=method), [network])
    rows = [("gor.model", "gor", 2, 2), ("gor.model", "gor-gcn", 2, 2)]
    assert trained() == [(*row, False) for row in rows]
    write_rows(store, "documents", Partition("board", "00"), documents[:1])
    assert trained() == [(*row[:3], 1, True) for row in rows]
