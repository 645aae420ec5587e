"""Access to the index for answers: reports, entities and their chunks, by scope."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa

from gsum_assets.graphrag.communities import cut
from gsum_assets.graphrag.reports import report_text
from gsum_assets.retrieval.vectors import stacked
from gsum_resources.store.arrow import pc


@dataclass(frozen=True)
class Seen:
    """A report restricted to the scope of a question.

    Attributes
    ----------
    text : the whole report, or its findings from one document.
    """

    community_id: str
    rating: float
    text: str


@dataclass(frozen=True, eq=False)
class Index:
    """Tables of an indexed corpus."""

    entities: pa.Table
    relationships: pa.Table
    communities: pa.Table
    community_reports: pa.Table
    findings: pa.Table
    embeddings: pa.Table

    def reports(self, level: int | None, document_id: str | None) -> list[Seen]:
        """Return the reports that have content in the scope, by community.

        Parameters
        ----------
        level : level whose cut is meant; None: all levels.
        document_id : document of the question; None: the whole corpus.
        """
        shown = self._communities(level)
        reports = self._reports
        if document_id is None:
            return [
                Seen(i, reports[i]["rating"], reports[i]["text"]) for i in shown if i in reports
            ]
        seen = []
        for community_id in shown:
            findings = [
                finding
                for finding in self._findings.get(community_id, ())
                if document_id in finding["document_ids"]
            ]
            if findings:
                report = reports[community_id]
                text = report_text(report["title"], "", findings)
                seen.append(Seen(community_id, report["rating"], text))
        return seen

    def chunks_of_reports(self, level: int | None) -> tuple[list[str], list[tuple[int, str]]]:
        """Return the communities of a level with reports, and pairs of their index and a chunk.

        Parameters
        ----------
        level : level whose cut is meant; None: all levels.
        """
        ids = [i for i in self._communities(level) if i in self._reports]
        cited = [
            (index, chunk_id)
            for index, community_id in enumerate(ids)
            for finding in self._findings.get(community_id, ())
            for chunk_id in finding["chunk_ids"]
        ]
        return ids, cited

    def vectors(self, kind: str, ids: Sequence[str]) -> np.ndarray:
        """Return the embeddings of entities or reports, `(len(ids), dim)`."""
        rows = self.embeddings.filter(pc.equal(self.embeddings["kind"], kind))
        indices = pc.index_in(pa.array(ids, pa.string()), rows["item_id"].combine_chunks())
        if indices.null_count:
            raise ValueError(
                f"graphrag/embeddings: {indices.null_count} of {len(ids)} {kind} vectors are "
                "missing; materialize graphrag/embeddings again"
            )
        return stacked(rows["embedding"])[indices.to_numpy()]

    @cached_property
    def by_id(self) -> Mapping[str, dict]:
        """Rows of entities by entity_id."""
        return {row["entity_id"]: row for row in self.entities.to_pylist()}

    @cached_property
    def relationships_of(self) -> Mapping[str, Sequence[dict]]:
        """Rows of relationships by either end."""
        by_entity: dict[str, list[dict]] = defaultdict(list)
        for row in self.relationships.to_pylist():
            by_entity[row["source_id"]].append(row)
            by_entity[row["target_id"]].append(row)
        return by_entity

    @cached_property
    def parents(self) -> Mapping[str, str | None]:
        """Parent of each community; None: it has none."""
        columns = (self.communities[name].to_pylist() for name in ("community_id", "parent_id"))
        return dict(zip(*columns, strict=True))

    @cached_property
    def members(self) -> Mapping[str, frozenset[str]]:
        """Entities of each community."""
        columns = (self.communities[name].to_pylist() for name in ("community_id", "entity_ids"))
        return {i: frozenset(entity_ids) for i, entity_ids in zip(*columns, strict=True)}

    def _communities(self, level: int | None) -> list[str]:
        """Return the communities of a level's cut, or of all levels, by number."""
        rows = self.communities if level is None else cut(self.communities, level)
        return rows.sort_by("number")["community_id"].to_pylist()

    @cached_property
    def _reports(self) -> Mapping[str, dict]:
        return {row["community_id"]: row for row in self.community_reports.to_pylist()}

    @cached_property
    def _findings(self) -> Mapping[str, Sequence[dict]]:
        by_community: dict[str, list[dict]] = defaultdict(list)
        for row in self.findings.to_pylist():
            by_community[row["community_id"]].append(row)
        return by_community
