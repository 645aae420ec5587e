"""Index assets of GraphRAG: mentions, entities, communities, reports."""

from collections.abc import Sequence
from functools import partial

import pyarrow as pa

from gsum_assets.corpus.names import names_skipped
from gsum_assets.evaluation.budget import counter_for
from gsum_assets.graphrag.aliases import resolve
from gsum_assets.graphrag.communities import Community, communities
from gsum_assets.graphrag.elements import elements_of, entity_text
from gsum_assets.graphrag.extract import extract
from gsum_assets.graphrag.given_files import GivenReport, read_communities
from gsum_assets.graphrag.given_graph import extracted_from, hierarchy, read_given
from gsum_assets.graphrag.merge import merge_entities, merge_relationships
from gsum_assets.graphrag.methods import METHODS
from gsum_assets.graphrag.reports import Reporter
from gsum_assets.graphrag.settings import (
    CommunitySettings,
    ExtractionSettings,
    MergingSettings,
    ReportSettings,
)
from gsum_assets.pipeline.cost import Cost
from gsum_assets.pipeline.embed import vector_column
from gsum_assets.pipeline.prompts import Prompts
from gsum_assets.pipeline.result import Check, Finding, Result, count, found
from gsum_assets.pipeline.step import Inputs, Step
from gsum_assets.pipeline.tables import TABLES
from gsum_resources.protocols.models import LanguageModel
from gsum_resources.store.arrow import pc

_INVENTED = 0.5  # share of names absent from the text beyond which a model invents names


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
    settings = ExtractionSettings.model_validate(inputs.settings("graphrag.extraction"))
    model, prompts = _asked(inputs)
    extraction = extract(chunks, inputs.table("documents"), model, settings, prompts)
    skipped = names_skipped(chunks["text"].to_pylist(), model.identity)
    return extraction._replace(
        shown=lambda: {"extractions": {"skipped": skipped}} if skipped else {}
    )


def _aliases(inputs: Inputs) -> pa.Table:
    settings = MergingSettings.model_validate(inputs.settings("graphrag.merging"))
    return resolve(inputs.table("entity_mentions"), inputs.table("chunks"), settings)


def _asked(inputs: Inputs) -> tuple[LanguageModel, Prompts]:
    return inputs.model("language_model"), inputs.prompts("graphrag")


def _entities(inputs: Inputs) -> Result:
    tables = map(inputs.table, ("entity_mentions", "relationship_mentions", "aliases"))
    model, prompts = _asked(inputs)
    return merge_entities(*tables, model=model, prompts=prompts)


def _relationships(inputs: Inputs) -> Result:
    tables = map(inputs.table, ("relationship_mentions", "aliases", "entities"))
    model, prompts = _asked(inputs)
    return merge_relationships(*tables, model=model, prompts=prompts)


def _given_communities(
    inputs: Inputs,
) -> tuple[Sequence[tuple[Community, GivenReport | None]] | None, Sequence[str]]:
    """Return the communities of the corpus folder with their reports, and failures."""
    inputs.table("source_graph")  # the result depends on files that the folder alone has
    rows, failures = read_communities(inputs.folder) or (None, [])
    return (None if rows is None else hierarchy(rows, inputs.table("entities"))), failures


def _communities(inputs: Inputs) -> Result:
    settings = CommunitySettings.model_validate(inputs.settings("graphrag.communities"))
    given, failures = _given_communities(inputs)
    rows = communities(inputs.table("entities"), inputs.table("relationships"), settings, given)
    return Result(rows, failures)


def _reports(inputs: Inputs) -> Result:
    settings = ReportSettings.model_validate(inputs.settings("graphrag.reports"))
    model, prompts = _asked(inputs)
    count_tokens = counter_for(model, settings.prompt_tokens)
    tables = map(inputs.table, ("entities", "relationships", "claims", "aliases", "chunks"))
    elements = elements_of(*tables, count_tokens=count_tokens)
    reporter = Reporter(elements, model, settings, count_tokens, prompts)
    given, _ = _given_communities(inputs)
    reports = {community.community_id: report for community, report in given or () if report}
    return reporter.write(inputs.table("communities"), reports)


def _embeddings(inputs: Inputs) -> pa.Table:
    entities, reports = inputs.table("entities"), inputs.table("community_reports")
    texts = [*map(entity_text, entities.to_pylist()), *reports["text"].to_pylist()]
    vectors = inputs.model("embedding_model").embed(texts)
    kinds = ["entity"] * entities.num_rows + ["report"] * reports.num_rows
    ids = [*entities["entity_id"].to_pylist(), *reports["community_id"].to_pylist()]
    columns = [pa.array(kinds, pa.string()), pa.array(ids, pa.string()), vector_column(vectors)]
    return pa.table(columns, names=TABLES["graphrag.embeddings"].schema.names)


def names_in_text(mentions: pa.Table) -> Finding:
    """Check that most names found by a model occur in their chunks; files may have other names."""
    by_model = mentions.filter(pc.not_equal(mentions["model"], ""))
    absent = by_model.filter(pc.invert(by_model["is_verbatim"]))
    examined = count(by_model.num_rows, "mention")
    if absent.num_rows <= _INVENTED * by_model.num_rows:
        return Finding(examined)
    return found(
        examined,
        absent.select(["chunk_id", "document_id", "name", "model"]),
        "have a name that the text of their chunk does not contain: the model invents or "
        "translates names; choose another one in gsum.toml, [llm]",
    )


NAMES_IN_TEXT = Check(
    "names_in_text",
    "At least half of the names found by a model occur in their chunks.",
    lambda partition: names_in_text(
        partition.rows(columns=["chunk_id", "document_id", "name", "is_verbatim", "model"])
    ),
    warns=True,
)

_READERS = [name for name, method in METHODS.items() if method.uses_index]
_MODEL = ("corpus_settings", "language_model")
_step = partial(Step, methods=_READERS)
_extraction = partial(_step, pool="llm", work="extraction")

INDEX = (
    _extraction(
        _extractions,
        {
            "extractions": "With the number of extracted items, and errors of malformed replies.",
            "entity_mentions": "With the name in the chunk, before names are merged.",
            "relationship_mentions": "With the chunk's description of the relationship.",
            "claims": "With its status, dates and quotation.",
        },
        ("chunks", "documents", "source_graph", *_MODEL),
        code_version="7",
        costs=[
            Cost(
                "passage",
                length="graphrag.extraction.passage_tokens",
                tokens_in=200,
                text_in=1.03,
                text_out=1.78,
            )
        ],
        checks={"entity_mentions": [NAMES_IN_TEXT]},
    ),
    _step(
        _aliases,
        {
            "aliases": "Names of one entity share its id, with evidence; mentions keep their "
            "names, so that a merge can be undone."
        },
        ("entity_mentions", "chunks", "corpus_settings"),
        code_version="4",
    ),
    _extraction(
        _entities,
        {"entities": "Mentions with its names are combined, and their descriptions merged."},
        ("entity_mentions", "relationship_mentions", "aliases", *_MODEL),
        costs=[Cost("passage", requests=0.25, tokens_in=380, tokens_out=130)],
        code_version="6",
    ),
    _extraction(
        _relationships,
        {"relationships": "Descriptions are merged; the weight is the number of mentions."},
        ("relationship_mentions", "aliases", "entities", *_MODEL),
        costs=[Cost("passage", requests=0.008, tokens_in=323, tokens_out=150)],
        code_version="6",
    ),
    _step(
        _communities,
        {"communities": "By modularity, on several levels; every entity is in one, also alone."},
        ("entities", "relationships", "source_graph", "corpus_settings"),
        code_version="3",
    ),
    _step(
        _reports,
        {
            "community_reports": "A summary of the community, from which answers are written.",
            "findings": "With the chunks that support it.",
        },
        (
            *("entities", "relationships", "aliases", "communities"),
            *("claims", "chunks", "source_graph", *_MODEL),
        ),
        pool="llm",
        code_version="7",
        work="reports",
        costs=[Cost("passage", requests=0.49, tokens_in=1013, tokens_out=1146, edited=10)],
    ),
    _step(
        _embeddings,
        {
            "embeddings": "Questions are compared with entities in local answers, and with reports "
            "in rankings."
        },
        ("entities", "community_reports", "embedding_model"),
        costs=[Cost("passage", "embedding_model", requests=3.2, tokens_in=60)],
        code_version="2",
    ),
)
