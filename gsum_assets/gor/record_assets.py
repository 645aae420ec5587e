"""The records of each document as assets: questions, responses, graph, and what is to be learnt."""

import dagster as dg
import pyarrow as pa

from gsum_assets.corpus.prompts import prompts_of
from gsum_assets.gor.node_rankings import node_rankings as rank_nodes
from gsum_assets.gor.plots import graph_picture
from gsum_assets.gor.record_graph import record_graph as build_record_graph
from gsum_assets.gor.respond import respond
from gsum_assets.gor.settings import RankingSettings, SimulationSettings
from gsum_assets.gor.simulate import simulate_queries
from gsum_assets.partitions import corpus_buckets
from gsum_assets.presentation import picture
from gsum_assets.tables import TABLES, by_corpus
from gsum_resources.memo import Memo
from gsum_resources.progress import reporter
from gsum_resources.settings_io import SettingsReader
from gsum_resources.token_embeddings import LocalTokenEmbedder
from gsum_resources.warehouse_io import Lazy, WarehouseIO

GROUP = "gor"


def _simulation(reader: SettingsReader, corpus: str) -> SimulationSettings:
    return SimulationSettings.model_validate(reader.section(corpus, "gor.simulation"))


def _joined(table: str, parts: list[pa.Table]) -> pa.Table:
    return pa.concat_tables(parts) if parts else TABLES[table].empty()


def _of(corpus: str, rows: pa.Table) -> pa.Table:
    """Rows with their corpus, which tells partitions apart when they are stored."""
    return rows.append_column("corpus", pa.repeat(pa.scalar(corpus), rows.num_rows))


def _share(rows: pa.Table, corpus: str) -> pa.Table:
    return dict(by_corpus(rows)).get(corpus, rows.slice(0, 0))


@dg.asset(
    key_prefix=GROUP,
    partitions_def=corpus_buckets,
    backfill_policy=dg.BackfillPolicy.single_run(),
    group_name=GROUP,
    pool="llm",
    code_version="2",
    description="Asked of single passages, so that each has a known source to learn from.",
)
def simulated_queries(
    context: dg.AssetExecutionContext,
    chunks: pa.Table,
    corpus_settings: SettingsReader,
    language_model: Lazy,
) -> pa.Table:
    parts = []
    for corpus, rows in by_corpus(chunks):
        chosen = _simulation(corpus_settings, corpus)
        found = simulate_queries(
            rows,
            language_model.get(),
            chosen.n_queries,
            chosen.temperature,
            chosen.least_score,
            prompts_of(corpus_settings, corpus, GROUP),
        )
        for note in found.notes:
            context.log.info(note)
        parts.append(_of(corpus, found.rows))
    return _joined("gor.simulated_queries", parts)


@dg.asset(
    key_prefix=GROUP,
    partitions_def=corpus_buckets,
    backfill_policy=dg.BackfillPolicy.single_run(),
    group_name=GROUP,
    pool="llm",
    code_version="2",
    ins={"simulated_queries": dg.AssetIn([GROUP, "simulated_queries"])},
    description="The answer to a simulated question, over nodes that earlier answers belong to.",
)
def historical_responses(
    context: dg.AssetExecutionContext,
    simulated_queries: pa.Table,
    chunks: pa.Table,
    chunk_embeddings: pa.Table,
    corpus_settings: SettingsReader,
    language_model: Lazy,
    embedding_model: Lazy,
) -> pa.Table:
    parts = []
    label = "gor/historical_responses: questions answered"
    for corpus, rows in by_corpus(simulated_queries):
        chosen = _simulation(corpus_settings, corpus)
        found = respond(
            rows,
            _share(chunks, corpus),
            _share(chunk_embeddings, corpus),
            language_model.get(),
            embedding_model.get(),
            chosen.k,
            chosen.max_response_words,
            reporter(label, context.log.info),
            prompts_of(corpus_settings, corpus, GROUP),
        )
        for problem in found.problems:
            context.log.warning(problem)
        parts.append(_of(corpus, found.rows))
    return _joined("gor.historical_responses", parts)


@dg.multi_asset(
    outs={
        name: dg.AssetOut(key_prefix=GROUP, description=purpose, group_name=GROUP, code_version="1")
        for name, purpose in {
            "record_nodes": "All passages and responses; degree 0 marks what nothing used.",
            "record_edges": "From a node to the response that used it.",
        }.items()
    },
    partitions_def=corpus_buckets,
    backfill_policy=dg.BackfillPolicy.single_run(),
    ins={"historical_responses": dg.AssetIn([GROUP, "historical_responses"])},
)
def record_graph(  # noqa: ANN201 - Dagster reads it
    context: dg.AssetExecutionContext,
    historical_responses: pa.Table,
    chunks: pa.Table,
    chunk_embeddings: pa.Table,
    embedding_model: Lazy,
):
    nodes, edges = [], []
    for corpus, rows in by_corpus(chunks):
        found = build_record_graph(
            rows,
            _share(chunk_embeddings, corpus),
            _share(historical_responses, corpus),
            embedding_model.get(),
        )
        nodes.append(_of(corpus, found[0]))
        edges.append(_of(corpus, found[1]))
    all_nodes = _joined("gor.record_nodes", nodes)
    all_edges = _joined("gor.record_edges", edges)
    if all_nodes.num_rows:
        shown = _first_document(all_nodes)
        png = graph_picture(shown, all_edges, f"records of {shown['document_id'][0]}")
        context.add_asset_metadata(
            {"plot": picture(png, "record graph")}, asset_key=dg.AssetKey([GROUP, "record_nodes"])
        )
    yield dg.Output(all_nodes, "record_nodes")
    yield dg.Output(all_edges, "record_edges")


def _first_document(nodes: pa.Table) -> pa.Table:
    first = min(nodes["document_id"].to_pylist())
    return nodes.filter([document == first for document in nodes["document_id"].to_pylist()])


@dg.asset(
    key_prefix=GROUP,
    partitions_def=corpus_buckets,
    backfill_policy=dg.BackfillPolicy.single_run(),
    group_name=GROUP,
    pool="compute",
    code_version="1",
    ins={name: dg.AssetIn([GROUP, name]) for name in ("simulated_queries", "record_nodes")},
    required_resource_keys={"io_manager"},
    description="BERTScore of every node against a question's source passage: what is learnt.",
)
def node_rankings(
    context: dg.AssetExecutionContext,
    simulated_queries: pa.Table,
    record_nodes: pa.Table,
    corpus_settings: SettingsReader,
) -> pa.Table:
    warehouse: WarehouseIO = context.resources.io_manager
    parts = []
    for corpus, rows in by_corpus(simulated_queries):
        chosen = RankingSettings.model_validate(corpus_settings.section(corpus, "gor.ranking"))
        embedder = LocalTokenEmbedder(layer=chosen.layer)
        memo = Memo(warehouse.store, "bertscore", embedder.identity)
        told = reporter("gor/node_rankings: documents scored", context.log.info)
        nodes = _share(record_nodes, corpus)
        parts.append(_of(corpus, rank_nodes(rows, nodes, embedder, memo, told)))
    return _joined("gor.node_rankings", parts)


record_assets = [simulated_queries, historical_responses, record_graph, node_rankings]
