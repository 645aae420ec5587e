"""Graph of Records as assets: from simulated questions to node embeddings and contexts."""

from collections.abc import Sequence

import dagster as dg
import pyarrow as pa

from gsum_assets.corpus.chunk import default_tokenizer
from gsum_assets.corpus.embed import vector_column
from gsum_assets.corpus.settings import checked_section
from gsum_assets.evaluation.assets import Family, Inputs
from gsum_assets.gor.contexts import nodes_within, top_nodes
from gsum_assets.gor.graphs import record_graphs, training_graphs
from gsum_assets.gor.infer import infer, load_encoder
from gsum_assets.gor.learn import learnt_from, trained_tables, with_global_questions
from gsum_assets.gor.node_rankings import node_rankings as rank_nodes
from gsum_assets.gor.plots import graph_picture, training_curves
from gsum_assets.gor.rank import rank
from gsum_assets.gor.record_graph import record_graph as build_record_graph
from gsum_assets.gor.respond import respond
from gsum_assets.gor.settings import GorSettings
from gsum_assets.gor.simulate import simulate_queries
from gsum_assets.gor.source_ranks import mean_reciprocal_ranks, source_rank_rows
from gsum_assets.gor.train import Epoch, training_key
from gsum_assets.gor.variants import SUPERVISED, VARIANTS, WITHOUT_NETWORK, training_settings
from gsum_assets.partitions import across, corpus_buckets, corpus_variants, to_corpus
from gsum_assets.presentation import picture
from gsum_assets.tables import TABLES, by_corpus
from gsum_resources.memo import Memo
from gsum_resources.progress import reporter
from gsum_resources.settings_io import SettingsReader
from gsum_resources.token_embeddings import LocalTokenEmbedder
from gsum_resources.warehouse_io import LAZY, UNTRACKED, Lazy, WarehouseIO, partition_of

GROUP = "gor"
_LOG_EVERY = 10  # epochs


def _settings(reader: SettingsReader, corpus: str) -> GorSettings:
    return checked_section(GorSettings, "gor", reader.section(corpus, "gor"))


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
    code_version="1",
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
        chosen = _settings(corpus_settings, corpus).simulation
        found = simulate_queries(
            rows, language_model.get(), chosen.n_queries, chosen.temperature, chosen.least_score
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
    code_version="1",
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
        chosen = _settings(corpus_settings, corpus).simulation
        found = respond(
            rows,
            _share(chunks, corpus),
            _share(chunk_embeddings, corpus),
            language_model.get(),
            embedding_model.get(),
            chosen.k,
            chosen.max_response_words,
            reporter(label, context.log.info),
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
        embedder = LocalTokenEmbedder(layer=_settings(corpus_settings, corpus).ranking.layer)
        memo = Memo(warehouse.store, "bertscore", embedder.identity)
        told = reporter("gor/node_rankings: documents scored", context.log.info)
        nodes = _share(record_nodes, corpus)
        parts.append(_of(corpus, rank_nodes(rows, nodes, embedder, memo, told)))
    return _joined("gor.node_rankings", parts)


_RECORDS = (
    "record_nodes",
    "record_edges",
    "simulated_queries",
    "historical_responses",
    "node_rankings",
)
"""What `training_graphs` takes, in its order."""


def _learnt(name: str) -> dg.AssetIn:
    """A table that a model was trained on, and that may grow without training it again."""
    return dg.AssetIn([GROUP, name], partition_mapping=across, metadata=LAZY | UNTRACKED)


@dg.multi_asset(
    outs={
        name: dg.AssetOut(key_prefix=GROUP, description=purpose, group_name=GROUP, code_version="1")
        for name, purpose in {
            "model": "The trained network. New documents use it as it is; it is trained again when "
            "code, settings or embedding model change.",
            "training_log": "Loss, its parts, entropy and learning rate, as the training passed.",
        }.items()
    },
    partitions_def=corpus_variants(VARIANTS),
    pool="compute",
    ins={
        **{name: _learnt(name) for name in _RECORDS},
        "queries": dg.AssetIn("queries", partition_mapping=to_corpus, metadata=LAZY | UNTRACKED),
        "corpus_settings": dg.AssetIn("corpus_settings", partition_mapping=to_corpus),
    },
    required_resource_keys={"io_manager"},
)
def gor_model(context: dg.AssetExecutionContext, embedding_model: Lazy, **read: Lazy):  # noqa: ANN201
    partition = partition_of(context.partition_key)
    variant = partition.method or ""
    model, log = TABLES["gor.model"].empty(), TABLES["gor.training_log"].empty()
    if variant not in WITHOUT_NETWORK:
        model, log = _train(context, variant, Inputs(read, partition.corpus), embedding_model)
    if log.num_rows:
        png = training_curves(log, f"{partition.corpus}, {variant}")
        context.add_asset_metadata(
            {"plot": picture(png, "training curves")},
            asset_key=dg.AssetKey([GROUP, "training_log"]),
        )
    yield dg.Output(model, "model")
    yield dg.Output(log, "training_log")


def _train(
    context: dg.AssetExecutionContext, variant: str, inputs: Inputs, embedding_model: Lazy
) -> tuple[pa.Table, pa.Table]:
    store = context.resources.io_manager.store
    chosen = checked_section(GorSettings, "gor", inputs.settings("gor"))
    settings = training_settings(variant, chosen.training)
    nodes, embedder = inputs.table("record_nodes"), embedding_model.get()
    graphs = training_graphs(nodes, *map(inputs.table, _RECORDS[1:]))
    graphs = learnt_from(graphs, inputs.table("queries"), chosen.train_split)
    if variant == SUPERVISED:
        tokens = LocalTokenEmbedder(layer=chosen.ranking.layer)
        graphs = with_global_questions(graphs, nodes, inputs.table("queries"), embedder, tokens)
    state = f"{store.root}/_training/{training_key(graphs, settings)}.safetensors"
    show = reporter(f"gor/model {variant}: epochs", lambda _: None)

    def tell(epoch: Epoch) -> None:
        show(epoch.epoch, settings.epochs)
        if epoch.epoch == 1 or epoch.epoch % _LOG_EVERY == 0:
            context.log.info(
                f"epoch {epoch.epoch} of {settings.epochs}: loss {epoch.loss:.4f} "
                f"(L_CL {epoch.loss_cl:.4f}, L_RANK {epoch.loss_rank:.4f}), {epoch.seconds:.1f} s"
            )

    resume = store.fs.cat_file(state) if store.fs.exists(state) else None
    tables = trained_tables(
        graphs,
        settings,
        embedder.identity,
        tell,
        lambda content: store.replace_file(state, content),
        resume,
    )
    if store.fs.exists(state):
        store.fs.rm_file(state)
    return tables


@dg.asset(
    key_prefix=GROUP,
    partitions_def=corpus_variants(VARIANTS),
    group_name=GROUP,
    pool="compute",
    code_version="1",
    ins={
        "model": dg.AssetIn([GROUP, "model"]),
        **{
            name: dg.AssetIn([GROUP, name], partition_mapping=across, metadata=LAZY)
            for name in ("record_nodes", "record_edges")
        },
    },
    description="What the network makes of a node: also of documents that it never saw.",
)
def node_embeddings(
    model: pa.Table, record_nodes: Lazy, record_edges: Lazy, embedding_model: Lazy
) -> pa.Table:
    if not model.num_rows:  # a baseline without a network
        return TABLES["gor.node_embeddings"].empty()
    nodes = record_nodes.get()
    graphs = record_graphs(nodes, record_edges.get())
    if not graphs:
        return TABLES["gor.node_embeddings"].empty()
    embedder = embedding_model.get()
    encoder = load_encoder(
        model["weights"][0].as_py(), embedder.identity, graphs[0].features.shape[1]
    )
    return pa.concat_tables(
        pa.table(
            {
                "node_id": pa.array(graph.node_ids.tolist(), pa.string()),
                "document_id": pa.repeat(graph.document_id, graph.n_nodes),
                "kind": pa.array(graph.kinds.tolist(), pa.string()),
                "embedding": vector_column(vectors),
            }
        )
        for graph, vectors in zip(graphs, infer(encoder, graphs), strict=True)
    )


@dg.asset(
    key_prefix=GROUP,
    partitions_def=corpus_variants(VARIANTS),
    group_name=GROUP,
    pool="compute",
    code_version="1",
    ins={
        "node_embeddings": dg.AssetIn([GROUP, "node_embeddings"]),
        **{
            name: dg.AssetIn([GROUP, name], partition_mapping=across, metadata=LAZY)
            for name in _RECORDS
        },
        "queries": dg.AssetIn("queries", partition_mapping=to_corpus, metadata=LAZY),
        "corpus_settings": dg.AssetIn("corpus_settings", partition_mapping=to_corpus),
    },
    description="Whether training helped: look at the documents that were not learnt from.",
)
def source_ranks(
    context: dg.AssetExecutionContext, node_embeddings: pa.Table, **read: Lazy
) -> pa.Table:
    partition = partition_of(context.partition_key)
    if not node_embeddings.num_rows:  # a baseline without a network
        return TABLES["gor.source_ranks"].empty()
    inputs = Inputs(read, partition.corpus)
    chosen = checked_section(GorSettings, "gor", inputs.settings("gor"))
    settings = training_settings(partition.method or "", chosen.training)
    graphs = training_graphs(*map(inputs.table, _RECORDS))
    known = learnt_from(graphs, inputs.table("queries"), chosen.train_split)
    rows = source_rank_rows(
        graphs,
        node_embeddings,
        {graph.document_id for graph in known},
        settings.loss.temperature,
    )
    context.add_asset_metadata(mean_reciprocal_ranks(rows))
    return rows


def _rank(variant: str, inputs: Inputs) -> pa.Table:
    without = variant in WITHOUT_NETWORK
    return rank(
        variant,
        inputs.table("documents"),
        inputs.table("record_nodes"),
        inputs.table("record_edges"),
        TABLES["gor.node_embeddings"].empty() if without else inputs.table("node_embeddings"),
        inputs.table("queries"),
        inputs.model("embedding_model"),
    )


def _contexts(_: str, inputs: Inputs) -> pa.Table:
    chosen = checked_section(GorSettings, "gor", inputs.settings("gor"))
    rankings, nodes = inputs.table("rankings"), inputs.table("record_nodes")
    if chosen.budget_tokens is not None:
        return nodes_within(rankings, nodes, chosen.budget_tokens, n_word_pieces)
    return top_nodes(rankings, nodes, chosen.k)


def n_word_pieces(texts: Sequence[str]) -> list[int]:
    """Word pieces of each text, as chunks are measured in."""
    encoded = default_tokenizer().encode_batch(list(texts), add_special_tokens=False)
    return [len(encoding) for encoding in encoded]


TRAINED = (dg.AssetKey([GROUP, "model"]), dg.AssetKey([GROUP, "training_log"]))
"""What a training makes; the first is the model."""

gor_assets = [
    simulated_queries,
    historical_responses,
    record_graph,
    node_rankings,
    gor_model,
    node_embeddings,
    source_ranks,
]

GOR = Family(
    name=GROUP,
    variants=VARIANTS,
    default=(),  # until it is measured: it takes minutes where the baselines take seconds
    rank=_rank,
    contexts=_contexts,
    reads=("documents", "gor/record_nodes", "gor/record_edges"),
    reads_by_variant=("node_embeddings",),
)
