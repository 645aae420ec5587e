"""The index of a corpus as assets: line chunks, synopses, facts and elements, the graph, pages."""

from collections.abc import Iterable
from functools import partial

import dagster as dg
import pyarrow as pa

from gsum_assets.corpus.chunk import chunk_documents, default_tokenizer
from gsum_assets.corpus.load import Document
from gsum_assets.corpus.prompts import prompts_of
from gsum_assets.corpus.rows import rows_of
from gsum_assets.corpus.settings import ChunkingSettings as CorpusChunking
from gsum_assets.corpus.settings import CorpusSettings
from gsum_assets.jerr.extract import TABLES_MADE, extract
from gsum_assets.jerr.graph import graph_of
from gsum_assets.jerr.merge import merge_elements
from gsum_assets.jerr.pages import paginate
from gsum_assets.jerr.settings import ChunkingSettings, IndexSettings, PageSettings
from gsum_assets.jerr.sizes import SIZE, all_sizes, rows_of_size
from gsum_assets.jerr.synopses import synopses as write_synopses
from gsum_assets.jerr.variants import VARIANTS
from gsum_assets.partitions import across, corpora, corpus_buckets, corpus_variants, to_corpus
from gsum_assets.presentation import picture
from gsum_assets.tables import TABLES, by_corpus
from gsum_resources.arrow import pc
from gsum_resources.settings_io import SettingsReader
from gsum_resources.warehouse_io import LAZY, Lazy, partition_of

GROUP = "jerr"
_EXTRACTED = {
    "atomic_facts": "What a synopsis says, one thing at a time.",
    "elements": "On what a synopsis turns; elements become the nodes of the graph.",
    "relations": "In at most three words and one direction; edges are made of these.",
}
_GRAPH = {
    "nodes": "What is told of it, and where; a search goes from node to node.",
    "edges": "Where a search goes on from a node, and in which words; every way comes to an end.",
    "left_out_edges": "No search follows it; the cycle is told that it would have closed.",
}
Sized = Iterable[tuple[int, pa.Table]]


def _out(purpose: str, code_version: str = "1") -> dg.AssetOut:
    return dg.AssetOut(
        key_prefix=GROUP, description=purpose, group_name=GROUP, code_version=code_version
    )


_of_documents = partial(
    dg.asset,
    key_prefix=GROUP,
    partitions_def=corpus_buckets,
    backfill_policy=dg.BackfillPolicy.single_run(),
    group_name=GROUP,
    code_version="1",
)


def _by_size(rows: pa.Table) -> Sized:
    """The rows of each size of line chunks, smallest first."""
    for size in sorted(pc.unique(rows[SIZE]).to_pylist()):
        yield size, rows_of_size(rows, size)


def _of_corpora(table: str, made: Iterable[tuple[str, Sized]]) -> pa.Table:
    """Rows of a table over corpora, from those of each corpus and size."""
    parts = []
    for corpus, sized in made:
        rows = all_sizes(table, sized)
        parts.append(rows.append_column("corpus", pa.repeat(pa.scalar(corpus), rows.num_rows)))
    return pa.concat_tables(parts) if parts else TABLES[table].empty()


@_of_documents(
    description="As many lines as fit; one that does not fit by itself is cut.", code_version="2"
)
def line_chunks(documents: pa.Table, corpus_settings: SettingsReader) -> pa.Table:
    tokenizer = default_tokenizer()

    def made(corpus: str, rows: pa.Table) -> Sized:
        settings = ChunkingSettings.model_validate(corpus_settings.section(corpus, "jerr.chunking"))
        texts = [Document(r["document_id"], r["title"], r["text"]) for r in rows.to_pylist()]
        for size in settings.sizes:
            chunking = CorpusChunking(
                chunker="lines", max_tokens=size, overlap_lines=settings.overlap_lines
            )
            chunks = chunk_documents(texts, CorpusSettings(chunking=chunking), tokenizer)
            yield size, rows_of(TABLES["chunks"], chunks, corpus)

    return _of_corpora("jerr.line_chunks", ((c, made(c, own)) for c, own in by_corpus(documents)))


def _index_settings(reader: SettingsReader, corpus: str) -> IndexSettings:
    return IndexSettings.model_validate(reader.section(corpus, "jerr.index"))


@_of_documents(
    ins={"line_chunks": dg.AssetIn([GROUP, "line_chunks"])},
    pool="llm",
    code_version="2",
    description="What a line chunk tells, in short: what is read first, and what the graph is of.",
)
def synopses(
    context: dg.AssetExecutionContext,
    line_chunks: pa.Table,
    corpus_settings: SettingsReader,
    language_model: Lazy,
) -> pa.Table:
    def made(corpus: str, rows: pa.Table) -> Sized:
        settings = _index_settings(corpus_settings, corpus)
        prompts = prompts_of(corpus_settings, corpus, GROUP)
        for size, chunks in _by_size(rows):
            asked = write_synopses(chunks, language_model.get(), settings, prompts)
            for problem in asked.problems:
                context.log.warning(problem)
            yield size, asked.rows

    return _of_corpora("jerr.synopses", ((c, made(c, own)) for c, own in by_corpus(line_chunks)))


@dg.multi_asset(
    name="jerr__atomic_facts",  # as ledger and progress call it
    outs={name: _out(_EXTRACTED[name], "2") for name in TABLES_MADE},
    ins={"synopses": dg.AssetIn([GROUP, "synopses"])},
    partitions_def=corpus_buckets,
    backfill_policy=dg.BackfillPolicy.single_run(),
    pool="llm",
)
def extraction(  # noqa: ANN201 - Dagster reads it
    context: dg.AssetExecutionContext,
    synopses: pa.Table,
    corpus_settings: SettingsReader,
    language_model: Lazy,
):
    found: dict[str, dict[str, list[tuple[int, pa.Table]]]] = {}
    for corpus, rows in by_corpus(synopses):
        settings = _index_settings(corpus_settings, corpus)
        prompts = prompts_of(corpus_settings, corpus, GROUP)
        found[corpus] = {name: [] for name in TABLES_MADE}
        for size, own in _by_size(rows):
            extracted = extract(own, language_model.get(), settings, prompts)
            for problem in extracted.problems:
                context.log.warning(problem)
            for name, table in extracted.tables.items():
                found[corpus][name].append((size, table))
    for name in TABLES_MADE:
        made = ((corpus, tables[name]) for corpus, tables in found.items())
        yield dg.Output(_of_corpora(f"jerr.{name}", made), name)


def _across(*names: str) -> dict[str, dg.AssetIn]:
    return {name: dg.AssetIn([GROUP, name], partition_mapping=to_corpus) for name in names}


@dg.asset(
    key_prefix=GROUP,
    partitions_def=corpora,
    group_name=GROUP,
    code_version="1",
    ins=_across("elements"),
    pool="compute",
    description="Which elements are one: spelt alike, or nearly so. Nothing is merged but here.",
)
def merges(
    context: dg.AssetExecutionContext, elements: pa.Table, corpus_settings: SettingsReader
) -> pa.Table:
    corpus = partition_of(context.partition_key).corpus
    near_bits = _index_settings(corpus_settings, corpus).near_bits
    return all_sizes(
        "jerr.merges",
        ((size, merge_elements(rows, near_bits)) for size, rows in _by_size(elements)),
    )


@dg.multi_asset(
    name="jerr__graph",
    outs={name: _out(purpose) for name, purpose in _GRAPH.items()},
    partitions_def=corpora,
    ins=_across("elements", "atomic_facts", "relations")
    | {"merges": dg.AssetIn([GROUP, "merges"])},
    pool="compute",
)
def graph(  # noqa: ANN201 - Dagster reads it
    context: dg.AssetExecutionContext,
    elements: pa.Table,
    atomic_facts: pa.Table,
    relations: pa.Table,
    merges: pa.Table,
):
    from gsum_assets.jerr.plots import graph_picture

    corpus = partition_of(context.partition_key).corpus
    read = elements, atomic_facts, relations, merges
    graphs = [
        (size, graph_of(*(rows_of_size(rows, size) for rows in read)))
        for size, _ in _by_size(elements)
    ]
    shown = {
        f"graph_of_{size}": picture(
            graph_picture(one.nodes, one.edges, f"{corpus}, line chunks of {size}"), "graph"
        )
        for size, one in graphs
    }
    for name in _GRAPH:
        rows = all_sizes(f"jerr.{name}", ((size, getattr(one, name)) for size, one in graphs))
        yield dg.Output(rows, name, metadata=shown if name == "nodes" else None)


@dg.asset(
    key_prefix=GROUP,
    partitions_def=corpus_variants(tuple(VARIANTS)),
    group_name=GROUP,
    code_version="2",
    ins={"documents": dg.AssetIn("documents", partition_mapping=across, metadata=LAZY)},
    pool="llm",
    description="With the gist that is read first; other methods have none.",
)
def pages(
    context: dg.AssetExecutionContext,
    documents: Lazy,
    corpus_settings: SettingsReader,
    language_model: Lazy,
) -> pa.Table:
    partition = partition_of(context.partition_key)
    if VARIANTS[partition.method or ""].reads != "pages":
        return TABLES["jerr.pages"].empty()
    values = corpus_settings.section(partition.corpus, "jerr.pages")
    settings = PageSettings.model_validate(values)
    prompts = prompts_of(corpus_settings, partition.corpus, GROUP)
    paged = paginate(documents.get(), language_model.get(), settings, prompts)
    for problem in paged.problems:
        context.log.warning(problem)
    return paged.rows


index_assets = [line_chunks, synopses, extraction, merges, graph, pages]
"""Line chunks to graph, document by document as far as that goes."""
