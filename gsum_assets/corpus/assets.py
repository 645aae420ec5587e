"""The corpus as assets: what lies in the folder, documents, chunks, embeddings, questions."""

import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import dagster as dg
import pyarrow as pa

from gsum_assets.corpus import observe
from gsum_assets.corpus.chunk import chunk_documents, default_tokenizer
from gsum_assets.corpus.conversion.formats import converters_version
from gsum_assets.corpus.convert import Conversion
from gsum_assets.corpus.embed import embed_chunks, embed_questions
from gsum_assets.corpus.evidence import query_rows
from gsum_assets.corpus.folder import stamp_of
from gsum_assets.corpus.load import N_BUCKETS, Document, take
from gsum_assets.corpus.queries import as_queries, load_queries
from gsum_assets.corpus.rows import rows_of
from gsum_assets.corpus.settings import CorpusSettings, load_settings
from gsum_assets.partitions import corpora, corpus_buckets, to_corpus
from gsum_assets.plots.chunk_lengths import chunk_lengths
from gsum_assets.plots.embedding_map import embedding_map
from gsum_assets.presentation import kind_tags, observed_table, picture
from gsum_assets.tables import TABLES, by_corpus
from gsum_resources.progress import reporter
from gsum_resources.settings_io import SettingsReader
from gsum_resources.warehouse_io import LAZY, Lazy, WarehouseIO, partition_of, step_of

GROUP = "corpus"
_READING = f"3; {converters_version()}"  # another converter may give another text


def _watched(context: dg.OpExecutionContext) -> list[str]:
    """The corpora to look at: the one that the run is about, or all that nobody is writing to.

    Those are looked at by the sensor `watch_corpora` once they are quiet.
    """
    only = context.run.tags.get("gsum/corpus")
    if only:
        return [only]
    root, now = context.resources.io_manager.home.corpora, time.time()
    known = context.instance.get_dynamic_partitions("corpora")
    return [c for c in known if not (root / c).is_dir() or stamp_of(root / c).is_quiet(now)]


@dg.observable_source_asset(
    partitions_def=corpus_buckets,
    group_name=GROUP,
    required_resource_keys={"io_manager"},
    **observed_table(
        "source_documents",
        "Observed: its version is the hash of the bucket's documents and of the settings that "
        "change how they are read.",
    ),
)
def source_documents(context: dg.OpExecutionContext) -> dg.DataVersionsByPartition:
    warehouse: WarehouseIO = context.resources.io_manager
    versions = {}
    for corpus in _watched(context):
        for partition, version in observe.documents(warehouse, corpus, context.log).items():
            keys = {"corpus": corpus, "bucket": partition.bucket or ""}
            versions[str(dg.MultiPartitionKey(keys))] = version
    return dg.DataVersionsByPartition(versions)


@dg.observable_source_asset(
    partitions_def=corpora,
    group_name=GROUP,
    required_resource_keys={"io_manager"},
    **observed_table("source_queries", "Observed: its version is the hash of the files."),
)
def source_queries(context: dg.OpExecutionContext) -> dg.DataVersionsByPartition:
    warehouse: WarehouseIO = context.resources.io_manager
    return dg.DataVersionsByPartition(
        {corpus: observe.queries(warehouse, corpus) for corpus in _watched(context)}
    )


@dg.observable_source_asset(
    partitions_def=corpora,
    group_name=GROUP,
    required_resource_keys={"io_manager"},
    **observed_table(
        "source_graph",
        "Observed: its version is the hash of the files. Where there are any, entities and "
        "relationships are read from them instead of extracted.",
    ),
)
def source_graph(context: dg.OpExecutionContext) -> dg.DataVersionsByPartition:
    warehouse: WarehouseIO = context.resources.io_manager
    return dg.DataVersionsByPartition(
        {corpus: observe.graph(warehouse, corpus) for corpus in _watched(context)}
    )


@dg.observable_source_asset(
    partitions_def=corpora,
    group_name=GROUP,
    io_manager_key="settings",
    required_resource_keys={"io_manager", "settings"},
    description="The settings in `corpus.toml`. Observed; lineage names the sections read.",
    metadata={"file": "corpora/<corpus>/corpus.toml"},
    tags=kind_tags("file"),
)
def corpus_settings(context: dg.OpExecutionContext) -> dg.DataVersionsByPartition:
    return dg.DataVersionsByPartition(
        {corpus: context.resources.settings.version(corpus) for corpus in _watched(context)}
    )


@dg.multi_asset(
    outs={
        name: dg.AssetOut(description=purpose, group_name=GROUP, code_version=_READING)
        for name, purpose in {
            "documents": "The texts that everything else rests on.",
            "rejected_documents": "What is wrong with each, and how to repair it; the good rest "
            "is taken in.",
            "converted_documents": "Text as the converter of its format gave it. Kept by content "
            "and converter, so that a file is converted once.",
            "document_sections": "By which a passage says on which page, or under which heading, "
            "it stands.",
        }.items()
    },
    partitions_def=corpus_buckets,
    backfill_policy=dg.BackfillPolicy.single_run(),
    required_resource_keys={"io_manager"},
)
def documents(context: dg.AssetExecutionContext, source_documents: pa.Table):  # noqa: ANN201 - Dagster reads it
    warehouse: WarehouseIO = context.resources.io_manager
    listed = warehouse.reads.tables[step_of(context)]["source_documents"]
    made: dict[str, list[pa.Table]] = {name: [] for name in context.selected_output_names}
    for corpus, found in by_corpus(source_documents):
        folder = warehouse.home.corpora / corpus
        on_page = reporter(f"converting files of {corpus}: pages", context.log.info)
        with Conversion(warehouse.store, corpus, on_page) as conversion:
            wanted = set(found["document_id"].to_pylist())
            now = take(folder, load_settings(folder), conversion.convert, wanted)
        results: dict[str, Sequence[Any]] = {
            "documents": now.documents,
            "rejected_documents": now.rejected,
            "converted_documents": conversion.done,
            "document_sections": now.sections,
        }
        for name, items in results.items():
            made[name].append(rows_of(TABLES[name], items, corpus))
        for document in now.rejected:
            if not document.is_other_type:
                context.log.warning(f"{corpus}/{document.file}: rejected: {document.reason}")
        here = {p: version for p, version in listed.items() if p.corpus == corpus}
        listed.update(observe.changed_since(warehouse, here, now.listing))
    for name, tables in made.items():
        yield dg.Output(_joined(name, tables), name)


@dg.asset(
    partitions_def=corpus_buckets,
    backfill_policy=dg.BackfillPolicy.single_run(),
    group_name=GROUP,
    code_version="2",
    description="What is found and read, with its exact place in the text.",
)
def chunks(
    context: dg.AssetExecutionContext, documents: pa.Table, corpus_settings: SettingsReader
) -> pa.Table:
    tokenizer = default_tokenizer()
    parts = []
    for corpus, rows in by_corpus(documents):
        settings = CorpusSettings(chunking=corpus_settings.section(corpus, "chunking"))
        texts = [Document(r["document_id"], r["title"], r["text"]) for r in rows.to_pylist()]
        made = rows_of(TABLES["chunks"], chunk_documents(texts, settings, tokenizer), corpus)
        limit = settings.chunking.max_tokens
        _show(context, corpus, "chunk lengths", partial(chunk_lengths, made, limit))
        parts.append(made)
    return _joined("chunks", parts)


@dg.asset(
    partitions_def=corpus_buckets,
    backfill_policy=dg.BackfillPolicy.single_run(),
    group_name=GROUP,
    pool="compute",
    code_version="1",
    description="The vector of its text: what lies close means something alike.",
)
def chunk_embeddings(
    context: dg.AssetExecutionContext, chunks: pa.Table, embedding_model: Lazy
) -> pa.Table:
    embedded = embed_chunks(chunks, embedding_model.get())
    for corpus, rows in by_corpus(embedded):
        _show(context, corpus, "map of the chunks", partial(embedding_map, rows))
    return embedded


@dg.asset(
    partitions_def=corpora,
    group_name=GROUP,
    code_version="1",
    ins={
        "documents": dg.AssetIn(partition_mapping=to_corpus),
        "chunks": dg.AssetIn(partition_mapping=to_corpus, metadata=LAZY),
        "generated_questions": dg.AssetIn(),
    },
    required_resource_keys={"io_manager"},
    description="Asked of the whole corpus or of one document; with reference answers where the "
    "source has them, so that answers can be scored.",
)
def queries(
    context: dg.AssetExecutionContext,
    source_queries: pa.Table,
    documents: pa.Table,
    chunks: Lazy,
    generated_questions: pa.Table,
) -> pa.Table:
    warehouse: WarehouseIO = context.resources.io_manager
    corpus = partition_of(context.partition_key).corpus
    known = set(documents["document_id"].to_pylist())
    questions, problems = load_queries(warehouse.home.corpora / corpus, known)
    is_marked = any(question.relevant_spans for question in questions)
    passages = chunks.get() if is_marked else TABLES["chunks"].empty()
    rows, unfound = query_rows([*questions, *as_queries(generated_questions)], passages, corpus)
    problems += unfound
    for problem in problems:
        context.log.warning(problem)
    context.add_asset_metadata(
        {"questions": dg.MetadataValue.md(_counts(rows)), "left_out": len(problems)}
        | ({"problems": problems[:20]} if problems else {})
    )
    return rows


@dg.asset(
    partitions_def=corpora,
    group_name=GROUP,
    pool="compute",
    code_version="1",
    description="The vector of the text that retrieval searches for. Made once, and read by every "
    "method that compares vectors.",
)
def query_embeddings(queries: pa.Table, embedding_model: Lazy) -> pa.Table:
    if not queries.num_rows:  # a served model is asked for nothing, not even its dimension
        return TABLES["query_embeddings"].empty()
    return embed_questions(queries, embedding_model.get())


def _show(
    context: dg.AssetExecutionContext, corpus: str, what: str, draw: Callable[[str], bytes]
) -> None:
    """Attach a picture of what was made of a corpus to its partitions."""
    keys = [key for key in context.partition_keys if partition_of(key).corpus == corpus]
    buckets = [partition_of(key).bucket or "" for key in keys]
    title = corpus if len(buckets) == N_BUCKETS else f"{corpus}, bucket {', '.join(buckets)}"
    plot = picture(draw(title), what)
    for key in keys:
        context.add_asset_metadata({"plot": plot}, partition_key=key)


def _counts(questions: pa.Table) -> str:
    """How many questions of each split and kind, as a Markdown table."""
    counts = questions.group_by(["split", "kind"]).aggregate([("query_id", "count")])
    rows = sorted(zip(*(counts[name].to_pylist() for name in counts.column_names), strict=True))
    lines = [f"| {split} | {kind} | {n:,} |" for split, kind, n in rows]
    return "\n".join(["| split | kind | questions |", "|---|---|---:|", *lines])


def _joined(table: str, parts: list[pa.Table]) -> pa.Table:
    return pa.concat_tables(parts) if parts else TABLES[table].empty()


corpus_assets = [
    source_documents,
    source_queries,
    source_graph,
    corpus_settings,
    documents,
    chunks,
    chunk_embeddings,
    queries,
    query_embeddings,
]
