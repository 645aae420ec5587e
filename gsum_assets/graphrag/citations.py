"""Support of a report's findings: cited passages of the prompt, and their chunks."""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence

import pyarrow as pa

from gsum_assets.corpus.names import holds, name_key
from gsum_assets.graphrag.elements import Element, Elements
from gsum_assets.graphrag.schemas import Finding

_MOST_CITED = 10  # chunks per finding, plus one for each entity that these do not mention


class Citations:
    """The entities and chunks that support findings."""

    def __init__(self, elements: Elements, entities: pa.Table, chunks: pa.Table) -> None:
        columns = (entities[name].to_pylist() for name in ("entity_id", "name_key", "chunk_ids"))
        ids, keys, chunk_ids = columns
        self._elements = elements
        # a finding says "Washington" also of "washington [place]"
        self._keys = {i: key.partition(" [")[0] for i, key in zip(ids, keys, strict=True)}
        self._chunks_of = {i: frozenset(c) for i, c in zip(ids, chunk_ids, strict=True)}
        columns_of = (chunks[name].to_pylist() for name in ("chunk_id", "document_id"))
        self._document_of = dict(zip(*columns_of, strict=True))

    def cited(self, finding: Finding, shown: Sequence[Element]) -> list[Element]:
        """Return the passages that a finding cites, or else the entities in them that it mentions.

        A passage without chunks (a report whose findings have no support) is not cited.
        """
        numbers = dict.fromkeys(n for n in finding.references if 1 <= n <= len(shown))
        if named := [shown[n - 1] for n in numbers if shown[n - 1].chunk_ids]:
            return named
        finding_key = name_key(f"{finding.summary} {finding.explanation}")
        ids = dict.fromkeys(e for element in shown for e in element.entity_ids)
        return [self._elements.entities[e] for e in ids if holds(finding_key, self._keys[e])]

    def numbers(self, names: Collection[str], entity_ids: Sequence[str]) -> list[int]:
        """Return the numbers, from 1, of the entities that have one of these names."""
        keys = set(map(name_key, names))
        return [n for n, i in enumerate(entity_ids, start=1) if self._keys[i] in keys]

    def support(self, cited: Sequence[Element]) -> Mapping[str, list[str]]:
        """Return entities, chunks and documents of a finding, preferring chunks with many entities.

        Every chunk mentions one of the entities, and every entity is mentioned by one of the
        chunks.
        """
        entity_ids = list(dict.fromkeys(e for element in cited for e in element.entity_ids))
        votes: dict[str, int] = defaultdict(int)
        for element in cited:
            for chunk_id in element.chunk_ids:
                votes[chunk_id] += 1 + sum(chunk_id in self._chunks_of[e] for e in entity_ids)
        most_cited = sorted(votes, key=lambda c: (-votes[c], c))[:_MOST_CITED]
        for entity_id in entity_ids:
            if not self._chunks_of[entity_id] & set(most_cited):
                most_cited.append(min(self._chunks_of[entity_id]))
        return {
            "entity_ids": sorted(entity_ids),
            "chunk_ids": sorted(most_cited),
            "document_ids": sorted({self._document_of[c] for c in most_cited}),
        }
