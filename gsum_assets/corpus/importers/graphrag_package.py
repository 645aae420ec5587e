"""An index of Microsoft's `graphrag` package (3.x) as a corpus with its graph and reports.

Names of entities are written as the documents have them, since the package stores capitals.
Findings are located by the records that their reports cite, as "[Data: Entities (5, 7);
Relationships (23)]". `graphrag update` keeps the ids and numbers of its own tables in communities
and reports, though the merged tables have others: they are looked up in the folder of the update.
"""

import json
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Set
from pathlib import Path
from typing import Any, NamedTuple

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


class _Readable(NamedTuple):
    """What a report may cite: records by table and number, and entities that it was shown."""

    records: Mapping[tuple[str, int], Row]
    members: Set[str]
    related: Set[str]


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
    report_of = {row["community"]: row for row in rows["community_reports"]}
    for row in rows["communities"]:
        members = {name_of[i] for i in row["entity_ids"] if i in name_of}
        row["entities"] = sorted(members)
        contents.counts[_UNKNOWN_MEMBERS] += len(row["entity_ids"]) - len(members)
        if report := report_of.get(row["community"]):
            related = members.union(*(neighbours[name] for name in members))
            readable = _Readable(records_of.get(row["id"], {}), members, related)
            findings = []
            for finding in report["findings"] or ():
                names, units, n_unknown = _cited(finding, readable, name_of, spelling)
                contents.counts[_UNKNOWN_CITATIONS] += n_unknown
                passages = [passage for unit in units for passage in passages_of.get(unit, ())]
                findings.append(_plain(finding) | {"entities": names, "passages": passages})
            row["report"] = _report(report, findings)
    if 0 < (most := max((row["weight"] for row in rows["relationships"]), default=1)) < 1:
        for row in rows["relationships"]:  # of `--method fast`: parts of 1, no sums of strengths
            row["weight"] *= _STRONGEST / most
    names = ("entities", "relationships", "communities")
    contents.tables = graph_files({name: rows[name] for name in names})
    return contents


def _rows(folder: Path, name: str) -> list[dict[str, Any]]:
    return pq.read_table(folder / f"{name}.parquet").to_pylist()


def _records(folders: Iterable[Path]) -> dict[str, Mapping[tuple[str, int], Row]]:
    """Return rows by table and number, as in the folder where a community was first written.

    Tables that an update has merged are recognized by their order, which is that of names.
    """
    records_of: dict[str, Mapping[tuple[str, int], Row]] = {}
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


def _cited(
    finding: Row, readable: _Readable, name_of: Mapping[str, str], spelling: Mapping[str, str]
) -> tuple[list[str], list[str], int]:
    """Return entities and ids of text units that a finding cites, and the number of other records.

    A report is written from the members of its community and their relationships, also with others.
    """
    names: dict[str, None] = {}
    units: dict[str, None] = {}
    n_unknown = 0
    for cited in _CITED.findall(f"{finding['summary']} {finding['explanation']}"):
        for kind, numbers in _DATASET.findall(cited):
            if not (table := _TABLE_OF.get(kind.lower()[:5])):
                continue  # claims, reports and dates
            for number in map(int, re.findall(r"\d+", numbers)):
                row = readable.records.get((table, number), {})
                if table == "text_units":
                    about = [name_of.get(i) for i in row.get("entity_ids") or ()]
                    found = {name for name in about if name and name in readable.members}
                    units |= {row["id"]: None} if found else {}
                else:
                    ends = [spelling.get(row.get(k, "")) for k in ("title", "source", "target")]
                    found = {name for name in ends if name and name in readable.related}
                names |= dict.fromkeys(sorted(found))
                n_unknown += not found
    return list(names), list(units), n_unknown


def _plain(finding: Row) -> dict[str, Any]:
    return {key: _CITED.sub("", finding[key]) for key in ("summary", "explanation")}


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
