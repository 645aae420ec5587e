"""Index assets of GraphRAG: mentions, entities, communities, reports."""

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

import pyarrow as pa

from gsum_assets.corpus.names import names_skipped
from gsum_assets.evaluation.budget import CountTokens, counter_for
from gsum_assets.graphrag.aliases import resolve
from gsum_assets.graphrag.checks import (
    EVERY_COMMUNITY_REPORTED,
    NAMES_IN_TEXT,
    NO_MALFORMED_REPLIES,
)
from gsum_assets.graphrag.citations import Citations
from gsum_assets.graphrag.communities import Community, communities
from gsum_assets.graphrag.elements import elements_of, entity_text
from gsum_assets.graphrag.extract import extract
from gsum_assets.graphrag.given_communities import GivenReport, hierarchy, read_communities
from gsum_assets.graphrag.given_graph import extracted_from, read_given
from gsum_assets.graphrag.merge import merge_entities, merge_relationships
from gsum_assets.graphrag.methods import METHODS
from gsum_assets.graphrag.reports import Reporter
from gsum_assets.graphrag.same_entity import ModelJudge
from gsum_assets.graphrag.settings import (
    CommunitySettings,
    ExtractionSettings,
    MergingSettings,
    ReportSettings,
)
from gsum_assets.pipeline.cost import Cost
from gsum_assets.pipeline.embed import vector_column
from gsum_assets.pipeline.prompts import Prompts
from gsum_assets.pipeline.result import Result
from gsum_assets.pipeline.step import Inputs, Step
from gsum_assets.pipeline.tables import TABLES
from gsum_resources.protocols.models import LanguageModel

_Given = Sequence[tuple[Community, GivenReport | None]]
_Chosen = TypeVar("_Chosen", MergingSettings, ReportSettings)


def _extractions(inputs: Inputs) -> Result:
    chunks = inputs.table("chunks")
    listed = inputs.table("source_graph")  # the result depends on files that the folder alone has
    if inputs.folder is None and listed.num_rows:
        raise ValueError(
            f"{inputs.step}: there is no corpus folder, which may have a given graph; "
            "run this step in the pipeline"
        )
    given = read_given(inputs.folder) if inputs.folder else None
    if given is not None:
        return extracted_from(given, chunks, is_whole=not inputs.buckets)
    chosen = ExtractionSettings.model_validate(inputs.settings("graphrag.extraction"))
    model = inputs.model("language_model")
    documents = inputs.table("documents")
    extraction = extract(chunks, documents, model, chosen, inputs.prompts("graphrag"))
    skipped = names_skipped(chunks["text"].to_pylist(), model.identity)
    return extraction._replace(
        shown=lambda: {"extractions": {"skipped": skipped}} if skipped else {}
    )


def _merging(inputs: Inputs) -> MergingSettings:
    return MergingSettings.model_validate(inputs.settings("graphrag.merging"))


def _writing_arguments(
    inputs: Inputs, chosen: _Chosen
) -> tuple[LanguageModel, _Chosen, CountTokens, Prompts]:
    """Return the arguments of functions that write texts from prompts of bounded length."""
    model = inputs.model("language_model")
    return model, chosen, counter_for(model, chosen.prompt_tokens), inputs.prompts("graphrag")


def _aliases(inputs: Inputs) -> Result:
    chosen, judge = _merging(inputs), None
    mentions = inputs.table("entity_mentions")
    if chosen.judged_from is not None:
        models = inputs.model("language_model"), inputs.model("embedding_model")
        judge = ModelJudge(mentions, *models, chosen.judged_from, inputs.prompts("graphrag"))
    rows = resolve(mentions, inputs.table("chunks"), chosen, judge)
    return Result(rows, judge.failures if judge else ())


def _entities(inputs: Inputs) -> Result:
    return merge_entities(
        inputs.table("entity_mentions"),
        inputs.table("relationship_mentions"),
        inputs.table("aliases"),
        *_writing_arguments(inputs, _merging(inputs)),
    )


def _relationships(inputs: Inputs) -> Result:
    return merge_relationships(
        inputs.table("relationship_mentions"),
        inputs.table("aliases"),
        inputs.table("entities"),
        *_writing_arguments(inputs, _merging(inputs)),
    )


def _given_communities(inputs: Inputs) -> tuple[_Given | None, Sequence[str]]:
    """Return the communities of the corpus folder with their reports, and what is wrong there."""
    inputs.table("source_graph")  # the result depends on files that the folder alone has
    given = read_communities(inputs.folder)
    return (
        (None, [])
        if given is None
        else (hierarchy(given, inputs.table("entities")), given.failures)
    )


def _communities(inputs: Inputs) -> Result:
    chosen = CommunitySettings.model_validate(inputs.settings("graphrag.communities"))
    given, failures = _given_communities(inputs)
    rows = communities(inputs.table("entities"), inputs.table("relationships"), chosen, given)

    def shown() -> Mapping[str, Any]:
        by_level = rows.group_by("level").aggregate([("size", "count"), ("size", "max")])
        levels = {
            str(row["level"]): {"communities": row["size_count"], "largest": row["size_max"]}
            for row in by_level.sort_by("level").to_pylist()
        }
        return {"communities": {"communities_by_level": levels}}

    return Result(rows, failures, shown=shown)


def _reports(inputs: Inputs) -> Result:
    chosen = ReportSettings.model_validate(inputs.settings("graphrag.reports"))
    model, _, count_tokens, prompts = _writing_arguments(inputs, chosen)
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
    given, _ = _given_communities(inputs)
    known = {community.community_id: report for community, report in given or () if report}
    return reporter.write(inputs.table("communities"), known)


def _embeddings(inputs: Inputs) -> pa.Table:
    entities, reports = inputs.table("entities"), inputs.table("community_reports")
    texts = [*map(entity_text, entities.to_pylist()), *reports["text"].to_pylist()]
    vectors = inputs.model("embedding_model").embed(texts)
    kinds = ["entity"] * entities.num_rows + ["report"] * reports.num_rows
    ids = [*entities["entity_id"].to_pylist(), *reports["community_id"].to_pylist()]
    columns = [pa.array(kinds, pa.string()), pa.array(ids, pa.string()), vector_column(vectors)]
    return pa.table(columns, names=TABLES["graphrag.embeddings"].schema.names)


_READERS = [name for name, method in METHODS.items() if method.uses_index]
_WRITING_INPUTS = ("corpus_settings", "language_model")

INDEX = (
    Step(
        _extractions,
        {
            "extractions": "With the number of extracted items, and errors of malformed replies.",
            "entity_mentions": "With the name in the chunk, before names are merged.",
            "relationship_mentions": "With the chunk's description of the relationship.",
            "claims": "With its status, dates and quotation.",
        },
        ("chunks", "documents", "source_graph", *_WRITING_INPUTS),
        methods=_READERS,
        pool="llm",
        code_version="6",
        work="extraction",
        costs=[
            Cost(
                "passage",
                lengths=["graphrag.extraction.passage_tokens"],
                tokens_in=200,
                text_in=1.03,
                text_out=1.78,
            )
        ],
        checks={"extractions": [NO_MALFORMED_REPLIES], "entity_mentions": [NAMES_IN_TEXT]},
    ),
    Step(
        _aliases,
        {
            "aliases": "Names of one entity share its id, with evidence; mentions keep their "
            "names, so that a merge can be undone."
        },
        ("entity_mentions", "chunks", "embedding_model", *_WRITING_INPUTS),
        methods=_READERS,
        pool="llm",
        code_version="3",
        work="extraction",
    ),
    Step(
        _entities,
        {"entities": "Mentions with its names are combined, and their descriptions merged."},
        ("entity_mentions", "relationship_mentions", "aliases", *_WRITING_INPUTS),
        costs=[Cost("passage", requests=0.25, tokens_in=380, tokens_out=130)],
        methods=_READERS,
        pool="llm",
        code_version="6",
        work="extraction",
    ),
    Step(
        _relationships,
        {"relationships": "Descriptions are merged; the weight is the number of mentions."},
        ("relationship_mentions", "aliases", "entities", *_WRITING_INPUTS),
        costs=[Cost("passage", requests=0.008, tokens_in=323, tokens_out=150)],
        methods=_READERS,
        pool="llm",
        code_version="6",
        work="extraction",
    ),
    Step(
        _communities,
        {"communities": "By modularity, on several levels; every entity is in one, also alone."},
        ("entities", "relationships", "source_graph", "corpus_settings"),
        methods=_READERS,
        code_version="3",
    ),
    Step(
        _reports,
        {
            "community_reports": "A summary of the community, from which answers are written.",
            "findings": "With the chunks that support it.",
        },
        (
            *("entities", "relationships", "aliases", "communities"),
            *("claims", "chunks", "source_graph", *_WRITING_INPUTS),
        ),
        methods=_READERS,
        pool="llm",
        code_version="6",
        work="reports",
        costs=[Cost("passage", requests=0.49, tokens_in=1013, tokens_out=1146, edited=10)],
        checks={"community_reports": [EVERY_COMMUNITY_REPORTED]},
    ),
    Step(
        _embeddings,
        {
            "embeddings": "Questions are compared with entities in local answers, and with reports "
            "in rankings."
        },
        ("entities", "community_reports", "embedding_model"),
        methods=_READERS,
        costs=[Cost("passage", "embedding_model", requests=3.2, tokens_in=60)],
        code_version="2",
    ),
)
