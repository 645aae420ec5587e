"""Communities and reports from files: as given where the graph has them, and complete levels."""

import shutil
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from gsum_assets.corpus.chunk import chunk_documents
from gsum_assets.corpus.importers import import_benchmark
from gsum_assets.corpus.load import load
from gsum_assets.corpus.rows import rows_of
from gsum_assets.graphrag.family import FAMILY
from gsum_assets.graphrag.given_files import CommunityRow, read_communities
from gsum_assets.graphrag.given_graph import hierarchy
from gsum_assets.graphrag.index import INDEX
from gsum_assets.pipeline.corpus_settings import ChunkingSettings, CorpusError, load_settings
from gsum_assets.pipeline.step import Inputs, run
from gsum_assets.pipeline.tables import TABLES
from gsum_resources.protocols.models import Request
from tests.gor.toy_documents import Scripted
from tests.graphrag.test_steps import inputs_of
from tests.graphrag.toys import mapped

PACKAGE_INDEX = Path(__file__).parent / "package_index"
"""Written by graphrag 3.3.0 from two short texts; its model was a script."""


@pytest.mark.parametrize(
    ("rows", "names", "expected"),
    [
        ([(0, -1, "ABC"), (1, -1, "DE")], "ABCDE", [(0, "ABC", -1), (0, "DE", -1)]),
        # what no community has is one of its own, also below a divided one
        ([(0, -1, "AB")], "ABC", [(0, "AB", -1), (0, "C", -1)]),
        ([(0, -1, "ABC"), (1, 0, "AB")], "ABC", [(0, "ABC", -1), (1, "AB", 0), (1, "C", 0)]),
        # a community has what its parts have; names of no entity are left out, and empty ones
        ([(0, -1, "A"), (1, 0, "AB")], "AB", [(0, "AB", -1), (1, "AB", 0)]),
        ([(0, -1, "AXY"), (1, 0, "XY")], "A", [(0, "A", -1)]),
        ([(0, -1, "XY")], "", []),
        # of two that name an entity the first has it
        ([(0, -1, "AB"), (1, -1, "BC")], "ABC", [(0, "AB", -1), (0, "C", -1)]),
        # numbers need no order, and an unknown parent is none
        (
            [(7, 9, "AB"), (3, 4, "C"), (4, -1, "CD")],
            "ABCD",
            [(0, "AB", -1), (0, "CD", -1), (1, "C", 1), (1, "D", 1)],
        ),
    ],
)
def test_levels_are_those_of_the_file(
    rows: Sequence[tuple[int, int, str]], names: str, expected: Sequence[tuple[int, str, int]]
) -> None:
    given = [CommunityRow(community=n, parent=p, entities=list(own)) for n, p, own in rows]
    entities = pa.table({"entity_id": [f"e{n}" for n in names], "name_key": list(names.lower())})
    found = [community for community, _ in hierarchy(given, entities)]
    assert [(c.level, "".join(i[1:] for i in c.members), c.parent) for c in found] == expected


def test_invalid_rows_are_left_out_and_reported(tmp_path: Path) -> None:
    assert read_communities(tmp_path) is None
    assert read_communities(None) is None
    (tmp_path / "graph").mkdir()
    reports = ['{"title": "T", "summary": "S"}', "{", None, '{"title": ""}']
    rows = {"community": [0, 1, 2, 3], "parent": [-1] * 4, "entities": [["A"]] * 4}
    pq.write_table(pa.table({**rows, "report": reports}), tmp_path / "graph/communities.parquet")
    found = read_communities(tmp_path)
    assert found
    rows_of_file, (line,) = found
    assert [row.community for row in rows_of_file] == [0, 2]
    assert "graph/communities.parquet: 2 of 4 rows left out (row 2: 'report'" in line


def refuse(request: Request) -> str:
    raise AssertionError(f"a model is called: {request.task}")


@pytest.fixture(scope="module")
def imported(tmp_path_factory: pytest.TempPathFactory) -> Inputs:
    """The index of the package as a corpus, with all tables of its graph, without a model."""
    corpora = tmp_path_factory.mktemp("corpora")
    report = import_benchmark("graphrag", PACKAGE_INDEX, corpora, "towns")
    assert (report.n_documents, report.notes) == (2, [])
    folder = corpora / "towns"
    documents, _ = load(folder, load_settings(folder))
    texts = {document.document_id: document.text for document in documents}
    small = ChunkingSettings(max_tokens=60, overlap_tokens=10)
    chunks = rows_of(TABLES["chunks"], chunk_documents(texts, small))
    rows = rows_of(TABLES["documents"], documents)
    apart = {"graphrag.merging": {"aliases": False}}  # as the imported corpus.toml has it
    inputs = inputs_of(rows, chunks, Scripted(refuse), apart, folder=folder)
    return inputs.with_tables(run(INDEX, inputs))


def by(inputs: Inputs, table: str, column: str) -> Mapping[str, dict]:
    return {row[column]: row for row in inputs.table(table).to_pylist()}


def test_index_of_the_package_is_imported_whole(imported: Inputs) -> None:
    theirs = {
        name: pq.read_table(PACKAGE_INDEX / "output" / f"{name}.parquet").to_pylist()
        for name in ("entities", "relationships", "communities", "community_reports")
    }
    entities = by(imported, "entities", "name")
    assert {name.upper() for name in entities} == {row["title"] for row in theirs["entities"]}
    assert {"Ida Brandt", "mill at Corley", "Weavers' Union"} <= set(entities)
    assert imported.table("relationships").num_rows == len(theirs["relationships"])
    text_of = {i: row["text"] for i, row in by(imported, "chunks", "chunk_id").items()}
    for name, entity in entities.items():
        # a name that no text has is placed where its text unit is worded most alike
        word = {"COAL DISPUTE": "coal", "LAMP OIL COMPANY": ""}.get(name, name)
        assert entity["chunk_ids"]
        assert all(word in text_of[chunk_id] for chunk_id in entity["chunk_ids"])
    reports = imported.table("community_reports").to_pylist()
    titles = [row["title"] for row in theirs["community_reports"]]
    assert sorted(row["title"] for row in reports) == sorted(titles)
    size_of = mapped(imported.table("communities"), "community_id", "size")
    levels = [(r["level"], size_of[r["community_id"]]) for r in reports]
    assert sorted(levels) == sorted((r["level"], r["size"]) for r in theirs["communities"])
    assert {r["rating"] for r in reports} == {6.5}
    assert not any("[Data" in r["text"] for r in reports)
    assert {r["calls"] for r in reports} == {0}
    # the entity outside of the largest component has a community without a report
    lonely = [c for c in imported.table("communities").to_pylist() if c["size"] == 1]
    assert [c["title"].upper() for c in lonely if c["level"] == 0] == ["LAMP OIL COMPANY"]


def test_findings_are_supported_by_what_their_reports_cite(imported: Inputs) -> None:
    name_of = mapped(imported.table("entities"), "entity_id", "name")
    findings = imported.table("findings").to_pylist()
    centre = [f for f in findings if "is at the centre" in f["summary"]]
    assert centre
    for finding in centre:
        (entity_id,) = finding["entity_ids"]
        assert finding["summary"].startswith(name_of[entity_id].title())
    lasted = [f for f in findings if f["summary"] == "It lasted."]  # cites and names nothing
    assert all(1 < len(f["entity_ids"]) <= 5 for f in lasted)


@pytest.mark.parametrize("method", ["graphrag-c0", "graphrag-c2", "graphrag-local"])
def test_questions_read_imported_reports(imported: Inputs, method: str) -> None:
    inputs = replace(imported, method=method)
    for step in FAMILY.question[:2]:
        result = step.result(inputs)
        inputs = inputs.with_tables({step.table: result.rows, **result.beside})
    kinds = Counter(inputs.table("contexts")["node_kind"].to_pylist())
    assert kinds["report"] >= 2


def test_index_that_is_not_whole_is_an_error(tmp_path: Path) -> None:
    output = tmp_path / "index" / "output"
    shutil.copytree(PACKAGE_INDEX / "output", output)
    (output / "communities.parquet").write_bytes(b"PAR1")
    with pytest.raises(CorpusError, match=r"graphrag: .* is not in the official format"):
        import_benchmark("graphrag", output.parent, tmp_path / "corpora")
    (output / "communities.parquet").unlink()
    with pytest.raises(CorpusError, match=r"communities\.parquet"):
        import_benchmark("graphrag", output, tmp_path / "corpora")
    assert not (tmp_path / "corpora" / "graphrag").exists()
