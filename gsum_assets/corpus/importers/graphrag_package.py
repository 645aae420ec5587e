"""An index of Microsoft's `graphrag` package (3.x) as a corpus with its graph and reports.

Names of entities are written as the documents have them, since the package stores capitals.
Findings are located by the records that their reports cite, as "[Data: Entities (5, 7);
Relationships (23)]". `graphrag update` keeps the ids and numbers of its own tables in communities
and reports, though the merged tables have others: they are looked up in the folder of the update.
"""

import json
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from gsum_assets.corpus.importers.benchmark import Benchmark, Contents
from gsum_assets.corpus.importers.index_graph import Row, graph_files, located
from gsum_assets.corpus.importers.source import missing

_CITED_TABLES = ("entities", "relationships", "text_units")
_TABLES = ("documents", *_CITED_TABLES, "communities", "community_reports")
_CITED = re.compile(r"\s*\[Data:([^\]]*)\]")
_DATASET = re.compile(r"(\w+)\s*\(([^)]*)\)")
_TABLE_OF = {"entit": "entities", "relat": "relationships", "sourc": "text_units"}
_STRONGEST = 10.0  # relationship
_UNKNOWN_MEMBERS = "members of communities are in no table of the index and are left out"
_UNKNOWN_CITATIONS = (
    "citations in reports name nothing that their community has, and are left out; "
    "of an updated index keep the folder update_output beside output"
)


Records = Mapping[tuple[str, int], Row]


def _read_graphrag(source: Path) -> Contents:
    """Read the Parquet files of an index, from its folder `output` or the one with that folder."""
    folder = source / "output" if (source / "output").is_dir() else source
    if lacking := [name for name in _TABLES if not (folder / f"{name}.parquet").is_file()]:
        raise missing(folder, f"{lacking[0]}.parquet")
    rows = {name: _rows(folder, name) for name in _TABLES}
    contents, passages_of, spelling = located(
        rows["documents"], rows["text_units"], rows["entities"], rows["relationships"]
    )
    updates = folder.parent / "update_output"
    folders = [*sorted(updates.glob("*/delta")), *sorted(updates.glob("*/previous")), folder]
    folders = [f for f in folders if (f / "communities.parquet").is_file()]
    records_of = _records(folders)
    entities = (row for f in folders for row in _rows(f, "entities"))
    name_of = {row["id"]: spelling[row["title"]] for row in entities if row["title"] in spelling}
    neighbours: dict[str, set[str]] = defaultdict(set)
    for row in rows["relationships"]:
        neighbours[row["source"]].add(row["target"])
        neighbours[row["target"]].add(row["source"])

    def cited(members: Set[str], table: str, record: Row) -> tuple[Set[str], Sequence[Row]]:
        """Return entities and passages of a record that a report on `members` may cite.

        It is written from their relationships, also with others.
        """
        if table == "text_units":
            names = {name_of.get(i, "") for i in record.get("entity_ids") or ()} & members
            return names, passages_of.get(record["id"], ()) if names else ()
        ends = {spelling.get(record.get(key, ""), "") for key in ("title", "source", "target")}
        return ends & {end for name in members for end in (name, *neighbours[name])}, ()

    report_of = {row["community"]: row for row in rows["community_reports"]}
    for row in rows["communities"]:
        members = {name_of[i] for i in row["entity_ids"] if i in name_of}
        row["entities"] = sorted(members)
        contents.counts[_UNKNOWN_MEMBERS] += len(row["entity_ids"]) - len(members)
        if report := report_of.get(row["community"]):
            records = records_of.get(row["id"], {})
            findings, n_unknown = _findings(report, records, partial(cited, members))
            contents.counts[_UNKNOWN_CITATIONS] += n_unknown
            row["report"] = _report(report, findings)
    if 0 < (most := max((row["weight"] for row in rows["relationships"]), default=1)) < 1:
        for row in rows["relationships"]:  # of `--method fast`: parts of 1, no sums of strengths
            row["weight"] *= _STRONGEST / most
    names = ("entities", "relationships", "communities")
    contents.tables = graph_files({name: rows[name] for name in names})
    return contents


def _rows(folder: Path, name: str) -> list[dict[str, Any]]:
    return pq.read_table(folder / f"{name}.parquet").to_pylist()


def _records(folders: Iterable[Path]) -> dict[str, Records]:
    """Return rows by table and number, as in the folder where a community was first written.

    Tables that an update has merged are recognized by their order, which is that of names.
    """
    records_of: dict[str, Records] = {}
    for folder in folders:
        tables = {name: _rows(folder, name) for name in _CITED_TABLES}
        numbers = [row["human_readable_id"] for row in tables["entities"]]
        if numbers == list(range(len(numbers))):
            records = {
                (name, row["human_readable_id"]): row for name in tables for row in tables[name]
            }
            for community in _rows(folder, "communities"):
                records_of.setdefault(community["id"], records)
    return records_of


def _findings(
    report: Row, records: Records, cited: Callable[[str, Row], tuple[Set[str], Sequence[Row]]]
) -> tuple[list[Row], int]:
    """Return findings with the entities and passages that they cite, and the number of the rest."""
    findings, n_unknown = [], 0
    for finding in report["findings"] or ():
        texts = {key: _CITED.sub("", finding[key]) for key in ("summary", "explanation")}
        about: dict[str, None] = {}
        passages: list[Row] = []
        for table, number in _citations(f"{finding['summary']} {finding['explanation']}"):
            names, places = cited(table, records.get((table, number), {}))
            about |= dict.fromkeys(sorted(names))
            passages += places
            n_unknown += not names
        findings.append(texts | {"entities": list(about), "passages": passages})
    return findings, n_unknown


def _citations(text: str) -> Iterator[tuple[str, int]]:
    """Yield table and number of each record that a text cites, but no claims, reports and dates."""
    for cited in _CITED.findall(text):
        for kind, numbers in _DATASET.findall(cited):
            if table := _TABLE_OF.get(kind.lower()[:5]):
                yield from ((table, int(number)) for number in re.findall(r"\d+", numbers))


def _report(row: Row, findings: list[Row]) -> str:
    report = {
        "title": row["title"],
        "summary": _CITED.sub("", row["summary"]),
        "rating": row["rank"] or 0.0,
        "rating_explanation": row["rating_explanation"],
        "findings": findings,
    }
    return json.dumps(report, ensure_ascii=False)


BENCHMARKS = {
    "graphrag": Benchmark(
        "Index of the graphrag package",
        "other",
        "the folder of an index of the package graphrag 3.x, with output/*.parquet",
        _read_graphrag,
        "\n[graphrag.merging]\naliases = false  # entities stay those of the index\n",
    )
}
