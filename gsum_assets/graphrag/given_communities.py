"""Communities and reports from a Parquet file of the corpus folder instead of a model.

The file names entities. Communities keep those that the graph has: of a name that no document
contains any longer nothing is left, and entities without a community have one of their own, so
that every level covers all of them.
"""

import json
from collections import defaultdict
from collections.abc import Sequence, Set
from pathlib import Path
from typing import Annotated, Any

import pyarrow as pa
from pydantic import AfterValidator, BaseModel, BeforeValidator, Field

from gsum_assets.corpus.folder import COMMUNITIES_FILE
from gsum_assets.corpus.names import name_key
from gsum_assets.graphrag.communities import Community, ranked
from gsum_assets.graphrag.given_rows import FileRow, good_rows


class GivenFinding(BaseModel):
    """A finding, and the entities that it is about."""

    summary: str
    explanation: str = ""
    entities: list[str] = []


class GivenReport(BaseModel):
    """A report on a community."""

    title: str = Field(min_length=1)
    summary: str
    rating: Annotated[float, AfterValidator(lambda r: min(10.0, max(0.0, r)))] = 0.0
    rating_explanation: str = ""
    findings: list[GivenFinding] = []


def _from_json(text: Any) -> Any:
    return json.loads(text) if isinstance(text, str | bytes) else text


class CommunityRow(FileRow):
    """A row of `communities.parquet`; `parent` is the number of a community, or -1."""

    needs = (("community",), ("parent",), ("entities",))
    may_have = ("report",)

    community: int
    parent: int = -1
    entities: list[str]
    report: Annotated[GivenReport | None, BeforeValidator(_from_json)] = None


def read_communities(folder: Path | None) -> tuple[list[CommunityRow], list[str]] | None:
    """Return the communities in `graph/` of a corpus folder, and a line on invalid rows if any.

    None: the folder has no such file.

    Raises
    ------
    CorpusError
        If the file is not Parquet or lacks a column.
    """
    if folder is None or not (folder / COMMUNITIES_FILE).is_file():
        return None
    return good_rows(folder, COMMUNITIES_FILE, CommunityRow)


def hierarchy(
    given: Sequence[CommunityRow], entities: pa.Table
) -> list[tuple[Community, GivenReport | None]]:
    """Return the communities in the order of `split_components`, each with its report.

    An entity that several communities of one parent name is in the first of them.
    """
    ids_of: dict[str, set[str]] = defaultdict(set)
    columns = (entities[name].to_pylist() for name in ("entity_id", "name_key"))
    for entity_id, key in zip(*columns, strict=True):
        ids_of[key.partition(" [")[0]].add(entity_id)
    row_of = {row.community: row for row in sorted(given, key=lambda row: row.community)}
    children: dict[int, list[int]] = defaultdict(list)
    for number, row in row_of.items():
        children[row.parent if row.parent in row_of else -1].append(number)
    found: list[Community] = []
    reports: list[GivenReport | None] = []

    def below(number: int) -> Set[str]:
        own = (ids_of.get(name_key(name), set()) for name in row_of[number].entities)
        return set().union(*own, *map(below, children[number]))

    def add(level: int, members: Set[str], parent: int, report: GivenReport | None) -> int:
        found.append(Community(level, sorted(members), parent))
        reports.append(report)
        return len(found) - 1

    def divide(numbers: Sequence[int], level: int, left: Set[str], parent: int) -> None:
        for number in numbers:
            if members := below(number) & left:
                left = left - members
                index = add(level, members, parent, row_of[number].report)
                if any(below(child) & members for child in children[number]):
                    divide(children[number], level + 1, members, index)
        for entity_id in sorted(left):
            add(level, {entity_id}, parent, None)

    divide(children[-1], 0, set().union(*ids_of.values()), -1)
    return [(community, reports[i]) for community, i in ranked(found)]
