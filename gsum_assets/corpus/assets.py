"""The corpus as assets: what lies in the folder, documents, chunks, embeddings, questions."""

import dagster as dg
import pyarrow as pa

from gsum_assets.corpus import observe
from gsum_assets.corpus.chunk import chunk_documents, default_tokenizer
from gsum_assets.corpus.embed import embed_chunks
from gsum_assets.corpus.load import Document, load
from gsum_assets.corpus.queries import load_queries
from gsum_assets.corpus.rows import rows_of
from gsum_assets.corpus.settings import CorpusSettings, load_settings
from gsum_assets.partitions import corpora, corpus_buckets, to_corpus
from gsum_assets.tables import TABLES, by_corpus
from gsum_resources.settings_io import SettingsReader
from gsum_resources.warehouse_io import Lazy, WarehouseIO, partition_of

GROUP = "corpus"


def _watched(context: dg.OpExecutionContext) -> list[str]:
    """The corpora to look at: all, or the one that the run is about."""
    only = context.run.tags.get("gsum/corpus")
    return [only] if only else list(context.instance.get_dynamic_partitions("corpora"))


@dg.observable_source_asset(
    partitions_def=corpus_buckets,
    group_name=GROUP,
    required_resource_keys={"io_manager"},
    description="One row per document found in the corpus folder; observed, its version is the "
    "hash of the bucket's documents and of the settings that change how they are read.",
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
    description="One row per file of questions found in the corpus folder; observed.",
)
def source_queries(context: dg.OpExecutionContext) -> dg.DataVersionsByPartition:
    warehouse: WarehouseIO = context.resources.io_manager
    return dg.DataVersionsByPartition(
        {corpus: observe.queries(warehouse, corpus) for corpus in _watched(context)}
    )


@dg.observable_source_asset(
    partitions_def=corpora,
    group_name=GROUP,
    io_manager_key="settings",
    required_resource_keys={"settings"},
    description="The settings in `corpus.toml`; observed. Lineage names the sections read.",
)
def corpus_settings(context: dg.OpExecutionContext) -> dg.DataVersionsByPartition:
    return dg.DataVersionsByPartition(
        {corpus: context.resources.settings.version(corpus) for corpus in _watched(context)}
    )


@dg.multi_asset(
    outs={
        name: dg.AssetOut(
            description=f"One row per {TABLES[name].row}.", group_name=GROUP, code_version="1"
        )
        for name in ("documents", "rejected_documents")
    },
    partitions_def=corpus_buckets,
    backfill_policy=dg.BackfillPolicy.single_run(),
    required_resource_keys={"io_manager"},
)
def documents(context: dg.AssetExecutionContext, source_documents: pa.Table):  # noqa: ANN201 - Dagster reads it
    warehouse: WarehouseIO = context.resources.io_manager
    taken, rejected = [], []
    for corpus, found in by_corpus(source_documents):
        folder = warehouse.home.corpora / corpus
        good, bad = load(folder, load_settings(folder), set(found["document_id"].to_pylist()))
        taken.append(rows_of(TABLES["documents"], good, corpus))
        rejected.append(rows_of(TABLES["rejected_documents"], bad, corpus))
        for document in bad:
            context.log.warning(f"{corpus}/{document.file}: rejected: {document.reason}")
    yield dg.Output(_joined("documents", taken), "documents")
    yield dg.Output(_joined("rejected_documents", rejected), "rejected_documents")


@dg.asset(
    partitions_def=corpus_buckets,
    backfill_policy=dg.BackfillPolicy.single_run(),
    group_name=GROUP,
    code_version="1",
    description="One row per passage of a document, with its exact place in the text.",
)
def chunks(documents: pa.Table, corpus_settings: SettingsReader) -> pa.Table:
    tokenizer = default_tokenizer()
    parts = []
    for corpus, rows in by_corpus(documents):
        settings = CorpusSettings(chunking=corpus_settings.section(corpus, "chunking"))
        texts = [Document(r["document_id"], r["title"], r["text"]) for r in rows.to_pylist()]
        parts.append(rows_of(TABLES["chunks"], chunk_documents(texts, settings, tokenizer), corpus))
    return _joined("chunks", parts)


@dg.asset(
    partitions_def=corpus_buckets,
    backfill_policy=dg.BackfillPolicy.single_run(),
    group_name=GROUP,
    code_version="1",
    description="One row per chunk: the unit-length vector of its text.",
)
def chunk_embeddings(chunks: pa.Table, embedding_model: Lazy) -> pa.Table:
    return embed_chunks(chunks, embedding_model.get())


@dg.asset(
    partitions_def=corpora,
    group_name=GROUP,
    code_version="1",
    ins={"documents": dg.AssetIn(partition_mapping=to_corpus)},
    required_resource_keys={"io_manager"},
    description="One row per question asked of the corpus or of one of its documents.",
)
def queries(
    context: dg.AssetExecutionContext, source_queries: pa.Table, documents: pa.Table
) -> pa.Table:
    warehouse: WarehouseIO = context.resources.io_manager
    corpus = partition_of(context.partition_key).corpus
    known = set(documents["document_id"].to_pylist())
    questions, problems = load_queries(warehouse.home.corpora / corpus, known)
    for problem in problems:
        context.log.warning(problem)
    context.add_output_metadata({"left_out": len(problems), "problems": problems[:20]})
    return rows_of(TABLES["queries"], questions, corpus)


def _joined(table: str, parts: list[pa.Table]) -> pa.Table:
    return pa.concat_tables(parts) if parts else TABLES[table].empty()


corpus_assets = [
    source_documents,
    source_queries,
    corpus_settings,
    documents,
    chunks,
    chunk_embeddings,
    queries,
]
