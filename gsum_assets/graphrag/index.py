"""The index of GraphRAG: mentions, entities, communities, reports."""

from collections.abc import Mapping
from typing import Any, TypeVar

import pyarrow as pa

from gsum_assets.corpus.embed import vector_column
from gsum_assets.corpus.prompts import Prompts
from gsum_assets.evaluation.budget import CountTokens, counter_for
from gsum_assets.graphrag.aliases import resolve
from gsum_assets.graphrag.citations import Citations
from gsum_assets.graphrag.communities import communities
from gsum_assets.graphrag.elements import elements_of, entity_text
from gsum_assets.graphrag.extract import extract
from gsum_assets.graphrag.given_graph import extracted_from, read_given
from gsum_assets.graphrag.merge import merge_entities, merge_relationships
from gsum_assets.graphrag.plots import communities_picture
from gsum_assets.graphrag.reports import Reporter
from gsum_assets.graphrag.settings import (
    CommunitySettings,
    ExtractionSettings,
    MergingSettings,
    ReportSettings,
)
from gsum_assets.method import Inputs, Step
from gsum_assets.result import Picture, Result
from gsum_assets.tables import TABLES
from gsum_resources.protocols import LanguageModel

_Chosen = TypeVar("_Chosen", MergingSettings, ReportSettings)


def _extractions(inputs: Inputs) -> Result:
    chunks = inputs.table("chunks")
    listed = inputs.table("source_graph")  # the result depends on files that the folder alone has
    if inputs.folder is None and listed.num_rows:
        raise ValueError(
            f"{inputs.step}: there is no corpus folder here that may bring a graph along; "
            "run it as a step of the pipeline"
        )
    given = read_given(inputs.folder) if inputs.folder else None
    if given is not None:
        return extracted_from(given, chunks, is_whole=not inputs.buckets)
    chosen = ExtractionSettings.model_validate(inputs.settings("graphrag.extraction"))
    return extract(chunks, inputs.model("language_model"), chosen, inputs.prompts("graphrag"))


def _merging(inputs: Inputs) -> MergingSettings:
    return MergingSettings.model_validate(inputs.settings("graphrag.merging"))


def _asking(inputs: Inputs, chosen: _Chosen) -> tuple[LanguageModel, _Chosen, CountTokens, Prompts]:
    """What it takes to write from prompts of a bounded length."""
    model = inputs.model("language_model")
    return model, chosen, counter_for(model, chosen.prompt_tokens), inputs.prompts("graphrag")


def _aliases(inputs: Inputs) -> pa.Table:
    return resolve(inputs.table("entity_mentions"), inputs.table("chunks"), _merging(inputs))


def _entities(inputs: Inputs) -> Result:
    return merge_entities(
        inputs.table("entity_mentions"),
        inputs.table("relationship_mentions"),
        inputs.table("aliases"),
        *_asking(inputs, _merging(inputs)),
    )


def _relationships(inputs: Inputs) -> Result:
    return merge_relationships(
        inputs.table("relationship_mentions"),
        inputs.table("aliases"),
        inputs.table("entities"),
        *_asking(inputs, _merging(inputs)),
    )


def _communities(inputs: Inputs) -> Result:
    graph = inputs.table("entities"), inputs.table("relationships")
    chosen = CommunitySettings.model_validate(inputs.settings("graphrag.communities"))
    found = communities(*graph, chosen)

    def shown() -> Mapping[str, Any]:
        levels = {"communities_by_level": _by_level(found)}
        if not found.num_rows:
            return {"communities": levels}
        png = communities_picture(found, *graph, f"{inputs.corpus}: largest communities")
        return {"communities": {"plot": Picture(png, "largest communities"), **levels}}

    return Result(found, shown=shown)


def _by_level(found: pa.Table) -> Mapping[str, Mapping[str, int]]:
    levels = found.group_by("level").aggregate([("size", "count"), ("size", "max")])
    return {
        str(row["level"]): {"communities": row["size_count"], "largest": row["size_max"]}
        for row in levels.sort_by("level").to_pylist()
    }


def _reports(inputs: Inputs) -> Result:
    chosen = ReportSettings.model_validate(inputs.settings("graphrag.reports"))
    model, _, count_tokens, prompts = _asking(inputs, chosen)
    entities = inputs.table("entities")
    elements = elements_of(
        entities,
        inputs.table("relationships"),
        inputs.table("claims"),
        inputs.table("aliases"),
        count_tokens,
    )
    citations = Citations(elements, entities, inputs.table("chunks"))
    reporter = Reporter(elements, citations, model, chosen, count_tokens, prompts)
    return reporter.write(inputs.table("communities"))


def _embeddings(inputs: Inputs) -> pa.Table:
    entities, reports = inputs.table("entities"), inputs.table("community_reports")
    texts = [*map(entity_text, entities.to_pylist()), *reports["text"].to_pylist()]
    vectors = inputs.model("embedding_model").embed(texts)
    kinds = ["entity"] * entities.num_rows + ["report"] * reports.num_rows
    ids = [*entities["entity_id"].to_pylist(), *reports["community_id"].to_pylist()]
    columns = [pa.array(kinds, pa.string()), pa.array(ids, pa.string()), vector_column(vectors)]
    return pa.table(columns, names=TABLES["graphrag.embeddings"].schema.names)


_ASKING = ("corpus_settings", "language_model")

INDEX = (
    Step(
        _extractions,
        {
            "extractions": "What was read from each chunk, and what a malformed reply cost.",
            "entity_mentions": "What a chunk names, before names are merged.",
            "relationship_mentions": "What a chunk says of two entities.",
            "claims": "What a chunk claims of an entity.",
        },
        ("chunks", "source_graph", *_ASKING),
        pool="llm",
        code_version="3",
    ),
    Step(
        _aliases,
        {
            "aliases": "Which names stand for one entity, and what speaks for it; the mentions "
            "keep theirs, so that a merge can be taken back."
        },
        ("entity_mentions", "chunks", "corpus_settings"),
    ),
    Step(
        _entities,
        {"entities": "One of each name, whatever the chunks call it; descriptions are merged."},
        ("entity_mentions", "relationship_mentions", "aliases", *_ASKING),
        pool="llm",
        code_version="3",
    ),
    Step(
        _relationships,
        {"relationships": "All that is said of two entities, merged; as heavy as chunks tell it."},
        ("relationship_mentions", "aliases", "entities", *_ASKING),
        pool="llm",
        code_version="3",
    ),
    Step(
        _communities,
        {"communities": "Hierarchical Leiden on every component; none is too small to be one."},
        ("entities", "relationships", "corpus_settings"),
    ),
    Step(
        _reports,
        {
            "community_reports": "What a community is and why it matters: what answers rest on.",
            "findings": "With the chunks that support it.",
        },
        (
            *("entities", "relationships", "aliases", "communities"),
            *("claims", "chunks", *_ASKING),
        ),
        pool="llm",
        code_version="3",
    ),
    Step(
        _embeddings,
        {
            "embeddings": "What questions are compared with: by entities in local answers, by "
            "reports in rankings."
        },
        ("entities", "community_reports", "embedding_model"),
        code_version="2",
    ),
)
