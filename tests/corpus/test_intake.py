"""The files of a corpus folder: what is observed and what is said of them."""

import os
from functools import partial
from pathlib import Path

import pyarrow as pa
import pytest

from gsum_assets.corpus import observe
from gsum_assets.corpus.intake import intake, none_rejected, one_version_each
from gsum_assets.pipeline.tables import TABLES
from tests.conftest import CORPUS, House

# Messages of a run and of an import about the files that were read and rejected.

SCHEMA = TABLES["rejected_documents"].schema


def rows(*rejected: tuple[str, int, str, bool]) -> pa.Table:
    names = ("file", "line", "reason", "is_other_type")
    return pa.Table.from_pylist(
        [{"document_id": "d", **dict(zip(names, row, strict=True))} for row in rejected], SCHEMA
    )


def test_all_rejections_are_counted_and_first_three_named() -> None:
    bad = [(f"{name}.pdf", 0, f"encrypted; save {name}", False) for name in "dcba"]
    other = [("x.JPG", 0, "no", True), ("in/y.jpg", 0, "no", True), ("Makefile", 0, "no", True)]
    copy = ("b (1).txt", 0, "skipped: copy of b.txt", True)
    line = intake(1_047, rows(*bad, *other, copy, ("documents.jsonl", 7, "not JSON", False)))
    assert line.startswith("1,047 documents; 5 rejected: a.pdf: encrypted; save a; b.pdf: ")
    assert "c.pdf: encrypted; save c; …; 1 skipped: b (1).txt: copy of b.txt; not read: " in line
    assert "; not read: 2 .jpg, 1 without extension (gsum reads " in line
    assert "d.pdf" not in line


@pytest.mark.parametrize(
    ("n", "rejected", "line"),
    [
        (1, rows(), "1 document"),
        (
            0,
            rows(("f.jsonl", 7, "not JSON", False)),
            "0 documents; 1 rejected: f.jsonl, line 7: not JSON",
        ),
        (2, rows(("a.txt", 0, "r" * 200, False)), f"2 documents; 1 rejected: a.txt: {'r' * 159}…"),
    ],
)
def test_empty_counts_are_omitted(n: int, rejected: pa.Table, line: str) -> None:
    assert intake(n, rejected) == line


def test_check_ignores_files_of_other_types() -> None:
    finding = none_rejected(rows(("x.jpg", 0, "no", True)), "tales")
    assert (finding.problem, finding.n_wrong) == ("", 0)
    assert "not read: 1 .jpg" in finding.checked
    finding = none_rejected(rows(("x.jpg", 0, "no", True), ("a.pdf", 0, "torn", False)), "tales")
    assert finding.n_wrong == 1
    assert finding.problem.startswith("1 rejected document; not read: 1 .jpg (first: a.pdf: torn)")


def test_families_of_versions_are_named() -> None:
    titles = ["Plan, v1", "Plan, v2", "Plan, draft", "Minutes of May", "Minutes of June", "Report"]
    documents = pa.table({"document_id": titles, "title": titles})
    finding = one_version_each(documents)
    assert (finding.checked, finding.n_wrong) == ("6 documents", 2)
    assert finding.offenders == [{"newest": "Plan, v2", "older": "Plan, v1; Plan, draft"}]
    assert "first: Plan, v2" in finding.problem
    assert one_version_each(documents.slice(3)).problem == ""


# The observed version of a corpus folder changes exactly with the files it covers.

ENTITIES, RELATIONSHIPS = observe.GRAPH_FILES


def graph_version(house: House) -> str:
    return observe.sources(house.store, house.home.corpora, CORPUS)["source_graph"][0]


def write(file: Path, content: bytes) -> None:
    file.parent.mkdir(exist_ok=True)
    file.write_bytes(content)


def test_graph_version_depends_on_its_files_only(house: House) -> None:
    version = partial(graph_version, house)
    seen = [version()]
    assert house.table("source_graph").num_rows == 0
    write(house.folder / "graph" / "notes.csv", b"no graph")
    assert version() == seen[0]
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


def test_times_of_a_listing_are_those_of_its_contents(house: House) -> None:
    boat = house.folder / "boat.txt"

    def times() -> dict:
        observe.sources(house.store, house.home.corpora, CORPUS)
        rows = {row["document_id"]: row for row in house.table("source_documents").to_pylist()}
        return {name: rows["boat"][name] for name in ("added", "changed", "modified")}

    write(boat, b"A boat.")
    first = times()
    assert first["added"] == first["changed"]
    os.utime(boat, (1, 1))  # touched
    assert times() == first
    write(boat, b"A larger boat.")
    second = times()
    assert second["added"] == first["added"]
    assert second["changed"] > first["changed"]
    assert second["modified"] != first["modified"]
