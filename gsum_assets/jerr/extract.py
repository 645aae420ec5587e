"""Atomic facts, core elements and relations of each synopsis (paper, 3.3, A.2 to A.4)."""

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import pyarrow as pa

from gsum_assets.corpus.names import clean_name
from gsum_assets.jerr.elements import element_key
from gsum_assets.jerr.prompts import PROMPTS
from gsum_assets.jerr.schemas import Extraction
from gsum_assets.jerr.settings import IndexSettings
from gsum_assets.jerr.sizes import of_one_size
from gsum_assets.pipeline.prompts import Prompts
from gsum_assets.pipeline.result import Result
from gsum_resources.llm.replies import usable
from gsum_resources.protocols.models import LanguageModel, Request

OUTPUT_TABLES = ("atomic_facts", "elements", "relations")
_MAX_WORDS = 300  # of a reply, brackets aside
_RELATION_WORDS = 3  # A.4


def extract(
    synopses: pa.Table, model: LanguageModel, settings: IndexSettings, prompts: Prompts = PROMPTS
) -> Result:
    """Extract facts, elements and relations of all synopses by `model`, one request each.

    Elements with equal keys count once; relations that do not join two different elements of the
    synopsis are dropped; the names of relations are cut to three words.
    """
    ordered = synopses.sort_by([("document_id", "ascending"), ("position", "ascending")])
    chunks = ordered.to_pylist()
    requests = [
        Request(
            task="facts",
            instructions=prompts.text(
                "extraction", max_facts=settings.max_facts, n_elements=settings.n_elements
            ),
            passages=(row["synopsis"],),
            max_words=_MAX_WORDS,
            schema=Extraction,
            document_id=row["document_id"],
        )
        for row in chunks
    ]
    rows: dict[str, list[dict]] = {name: [] for name in OUTPUT_TABLES}
    failures = []
    for row, reply in zip(chunks, model.complete(requests), strict=True):
        extraction, problem = usable(reply, Extraction)
        if extraction is not None:
            origin = {"chunk_id": row["chunk_id"], "document_id": row["document_id"]}
            _take(rows, {**origin, "model": reply.model}, extraction, settings)
        if problem:
            where = f"document '{row['document_id']}', line chunk {row['position']}"
            lost = ": no facts and elements" if extraction is None else ""
            failures.append(f"{where}{lost}: {problem}")
    facts, *others = (
        pa.Table.from_pylist(rows[name], of_one_size(f"jerr.{name}")) for name in OUTPUT_TABLES
    )
    return Result(facts, failures, dict(zip(OUTPUT_TABLES[1:], others, strict=True)))


def _take(
    rows: Mapping[str, list[dict]],
    origin: Mapping[str, Any],
    extraction: Extraction,
    settings: IndexSettings,
) -> None:
    """Append the rows of one reply."""
    facts = dict.fromkeys(" ".join(fact.split()) for fact in extraction.facts)
    for i, statement in enumerate([fact for fact in facts if fact][: settings.max_facts]):
        rows["atomic_facts"].append({**origin, "position": i, "statement": statement})
    elements: dict[str, str] = {}
    for element in extraction.elements:
        with suppress(ValueError):  # nothing is left without mark-up
            name = clean_name(element)
            elements.setdefault(element_key(name), name)
    numbered = list(elements.items())[: settings.n_elements]
    for i, (key, name) in enumerate(numbered):
        rows["elements"].append({**origin, "position": i, "element": name, "element_key": key})
    keys = {key for key, _ in numbered}
    relations: dict[tuple[str, str], str] = {}
    for item in extraction.relations:
        ends = element_key(item.source), element_key(item.target)
        relation = " ".join(item.relation.split()[:_RELATION_WORDS])
        if keys.issuperset(ends) and ends[0] != ends[1] and relation:
            relations.setdefault(ends, relation)
    for (source, target), relation in relations.items():
        ends = {"source_key": source, "target_key": target, "relation": relation}
        rows["relations"].append({**origin, **ends})
