"""The index of a corpus as assets: mentions, entities, communities, reports."""

from functools import partial

import dagster as dg
import pyarrow as pa

from gsum_assets.corpus.embed import vector_column
from gsum_assets.corpus.load import N_BUCKETS
from gsum_assets.corpus.prompts import Prompts, prompts_of
from gsum_assets.evaluation.budget import CountTokens, counter_for
from gsum_assets.graphrag.aliases import resolve
from gsum_assets.graphrag.citations import Citations
from gsum_assets.graphrag.communities import communities as find_communities
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
from gsum_assets.partitions import corpora, corpus_buckets, to_corpus
from gsum_assets.presentation import plot_of
from gsum_assets.tables import TABLES, by_corpus
from gsum_resources.protocols import LanguageModel
from gsum_resources.settings_io import SettingsReader
from gsum_resources.warehouse_io import Lazy, WarehouseIO, partition_of

GROUP = "graphrag"
_MENTIONS = {
    "extractions": "What was read from each chunk, and what a malformed reply cost.",
    "entity_mentions": "What a chunk names, before names are merged.",
    "relationship_mentions": "What a chunk says of two entities.",
    "claims": "What a chunk claims of an entity.",
}


def _out(purpose: str, code_version: str = "1") -> dg.AssetOut:
    return dg.AssetOut(
        key_prefix=GROUP, description=purpose, group_name=GROUP, code_version=code_version
    )


@dg.multi_asset(
    name="graphrag__extractions",  # as ledger and progress call it
    outs={name: _out(purpose, code_version="3") for name, purpose in _MENTIONS.items()},
    partitions_def=corpus_buckets,
    backfill_policy=dg.BackfillPolicy.single_run(),
    pool="llm",
    ins={"source_graph": dg.AssetIn("source_graph", partition_mapping=to_corpus)},
    required_resource_keys={"io_manager"},
)
def extraction(  # noqa: ANN201 - Dagster reads it
    context: dg.AssetExecutionContext,
    chunks: pa.Table,
    source_graph: pa.Table,
    corpus_settings: SettingsReader,
    language_model: Lazy,
):
    warehouse: WarehouseIO = context.resources.io_manager
    parts: dict[str, list[pa.Table]] = {name: [] for name in _MENTIONS}
    for corpus, rows in by_corpus(chunks):
        given = read_given(warehouse.home.corpora / corpus)
        if given is None:
            values = corpus_settings.section(corpus, "graphrag.extraction")
            settings = ExtractionSettings.model_validate(values)
            found = extract(
                rows,
                language_model.get(),
                settings,
                prompts_of(corpus_settings, corpus, GROUP),
            )
        else:
            made = [key for key in context.partition_keys if partition_of(key).corpus == corpus]
            found = extracted_from(given, rows, is_whole=len(made) == N_BUCKETS)
        for problem in found.problems:
            context.log.warning(problem)
        for name, table in found.tables.items():
            corpus_of = pa.repeat(pa.scalar(corpus), table.num_rows)
            parts[name].append(table.append_column("corpus", corpus_of))
    for name, tables in parts.items():
        rows = pa.concat_tables(tables) if tables else TABLES[f"graphrag.{name}"].empty()
        yield dg.Output(rows, name)


_of_corpus = partial(
    dg.asset, key_prefix=GROUP, partitions_def=corpora, group_name=GROUP, code_version="1"
)
_described = partial(
    dg.asset, key_prefix=GROUP, partitions_def=corpora, group_name=GROUP, code_version="3"
)
_across = {
    name: dg.AssetIn([GROUP, name], partition_mapping=to_corpus)
    for name in ("entity_mentions", "relationship_mentions", "claims")
}
_CHUNKS = dg.AssetIn("chunks", partition_mapping=to_corpus)


def _own(*names: str) -> dict[str, dg.AssetIn]:
    return {name: dg.AssetIn([GROUP, name]) for name in names}


def _merging(context: dg.AssetExecutionContext, reader: SettingsReader) -> MergingSettings:
    corpus = partition_of(context.partition_key).corpus
    return MergingSettings.model_validate(reader.section(corpus, "graphrag.merging"))


def _merger(
    context: dg.AssetExecutionContext, language_model: Lazy, reader: SettingsReader
) -> tuple[LanguageModel, MergingSettings, CountTokens, Prompts]:
    model, settings = language_model.get(), _merging(context, reader)
    prompts = prompts_of(reader, partition_of(context.partition_key).corpus, GROUP)
    return model, settings, counter_for(model, settings.prompt_tokens), prompts


@_of_corpus(
    ins={"entity_mentions": _across["entity_mentions"], "chunks": _CHUNKS},
    pool="compute",
    description="Which names stand for one entity, and what speaks for it; the mentions keep "
    "theirs, so that a merge can be taken back.",
)
def aliases(
    context: dg.AssetExecutionContext,
    entity_mentions: pa.Table,
    chunks: pa.Table,
    corpus_settings: SettingsReader,
) -> pa.Table:
    return resolve(entity_mentions, chunks, _merging(context, corpus_settings))


@_described(
    ins={
        "entity_mentions": _across["entity_mentions"],
        "relationship_mentions": _across["relationship_mentions"],
        **_own("aliases"),
    },
    pool="llm",
    description="One of each name, whatever the chunks call it; descriptions are merged.",
)
def entities(
    context: dg.AssetExecutionContext,
    entity_mentions: pa.Table,
    relationship_mentions: pa.Table,
    aliases: pa.Table,
    corpus_settings: SettingsReader,
    language_model: Lazy,
) -> pa.Table:
    merged = merge_entities(
        entity_mentions,
        relationship_mentions,
        aliases,
        *_merger(context, language_model, corpus_settings),
    )
    for problem in merged.problems:
        context.log.warning(problem)
    return merged.rows


@_described(
    ins={
        "relationship_mentions": _across["relationship_mentions"],
        **_own("aliases", "entities"),
    },
    pool="llm",
    description="All that is said of two entities, merged; as heavy as chunks tell it.",
)
def relationships(
    context: dg.AssetExecutionContext,
    relationship_mentions: pa.Table,
    aliases: pa.Table,
    entities: pa.Table,
    corpus_settings: SettingsReader,
    language_model: Lazy,
) -> pa.Table:
    merged = merge_relationships(
        relationship_mentions,
        aliases,
        entities,
        *_merger(context, language_model, corpus_settings),
    )
    for problem in merged.problems:
        context.log.warning(problem)
    return merged.rows


@_of_corpus(
    ins=_own("entities", "relationships"),
    pool="compute",
    description="Hierarchical Leiden on every component; none is too small to be one.",
)
def communities(
    context: dg.AssetExecutionContext,
    entities: pa.Table,
    relationships: pa.Table,
    corpus_settings: SettingsReader,
) -> pa.Table:
    corpus = partition_of(context.partition_key).corpus
    values = corpus_settings.section(corpus, "graphrag.communities")
    found = find_communities(entities, relationships, CommunitySettings.model_validate(values))
    by_level = found.group_by("level").aggregate([("size", "count"), ("size", "max")])
    title = f"{corpus}: largest communities"
    context.add_asset_metadata(
        {
            **plot_of(
                found,
                lambda: communities_picture(found, entities, relationships, title),
                "largest communities",
            ),
            "communities_by_level": dg.MetadataValue.json(
                {
                    str(row["level"]): {
                        "communities": row["size_count"],
                        "largest": row["size_max"],
                    }
                    for row in by_level.sort_by("level").to_pylist()
                }
            ),
        }
    )
    return found


@dg.multi_asset(
    name="graphrag__community_reports",
    outs={
        "community_reports": _out(
            "What a community is and why it matters: what answers rest on.", code_version="3"
        ),
        "findings": _out("With the chunks that support it.", code_version="3"),
    },
    partitions_def=corpora,
    pool="llm",
    ins={
        **_own("entities", "relationships", "aliases", "communities"),
        "claims": _across["claims"],
        "chunks": _CHUNKS,
    },
)
def reports(  # noqa: ANN201 - Dagster reads it
    context: dg.AssetExecutionContext,
    entities: pa.Table,
    relationships: pa.Table,
    aliases: pa.Table,
    communities: pa.Table,
    claims: pa.Table,
    chunks: pa.Table,
    corpus_settings: SettingsReader,
    language_model: Lazy,
):
    corpus = partition_of(context.partition_key).corpus
    values = corpus_settings.section(corpus, "graphrag.reports")
    model, settings = language_model.get(), ReportSettings.model_validate(values)
    count_tokens = counter_for(model, settings.prompt_tokens)
    elements = elements_of(entities, relationships, claims, aliases, count_tokens)
    written = Reporter(
        elements,
        Citations(elements, entities, chunks),
        model,
        settings,
        count_tokens,
        prompts_of(corpus_settings, corpus, GROUP),
    ).write(communities)
    for problem in written.problems:
        context.log.warning(problem)
    yield dg.Output(written.reports, "community_reports")
    yield dg.Output(written.findings, "findings")


@_of_corpus(
    ins=_own("entities", "community_reports"),
    pool="compute",
    code_version="2",
    description="What questions are compared with: by entities in local answers, by reports in "
    "rankings.",
)
def embeddings(
    context: dg.AssetExecutionContext,
    entities: pa.Table,
    community_reports: pa.Table,
    embedding_model: Lazy,
) -> pa.Table:
    texts = [entity_text(row) for row in entities.to_pylist()]
    vectors = embedding_model.get().embed([*texts, *community_reports["text"].to_pylist()])
    kinds = ["entity"] * entities.num_rows + ["report"] * community_reports.num_rows
    ids = [*entities["entity_id"].to_pylist(), *community_reports["community_id"].to_pylist()]
    columns = [pa.array(kinds, pa.string()), pa.array(ids, pa.string()), vector_column(vectors)]
    return pa.table(columns, names=TABLES["graphrag.embeddings"].schema.names)


index_assets = [
    extraction,
    aliases,
    entities,
    relationships,
    communities,
    reports,
    embeddings,
]
