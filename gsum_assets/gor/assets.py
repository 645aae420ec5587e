"""Graph of Records as assets: the trained network and node embeddings."""

import dagster as dg
import pyarrow as pa

from gsum_assets.corpus.embed import vector_column
from gsum_assets.evaluation.family import Inputs
from gsum_assets.gor.graphs import record_graphs, training_graphs
from gsum_assets.gor.infer import infer, load_encoder
from gsum_assets.gor.learn import (
    graphs_to_learn_from,
    learnt_hash,
    trained_tables,
    with_global_questions,
)
from gsum_assets.gor.plots import training_curves
from gsum_assets.gor.record_assets import GROUP, record_assets
from gsum_assets.gor.settings import (
    RankingSettings,
    TrainingSettings,
)
from gsum_assets.gor.source_ranks import mean_reciprocal_ranks, source_rank_rows
from gsum_assets.gor.train import Epoch, is_state_of
from gsum_assets.gor.variants import SUPERVISED, VARIANTS, WITHOUT_NETWORK, training_settings
from gsum_assets.partitions import across, corpus_variants, to_corpus
from gsum_assets.presentation import picture
from gsum_assets.tables import TABLES
from gsum_resources.progress import reporter
from gsum_resources.token_embeddings import LocalTokenEmbedder
from gsum_resources.warehouse_io import LAZY, UNTRACKED, Lazy, partition_of

_LOG_EVERY = 10  # epochs


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


def _training(variant: str, inputs: Inputs) -> TrainingSettings:
    chosen = TrainingSettings.model_validate(inputs.settings("gor.training"))
    return training_settings(variant, chosen)


@dg.multi_asset(
    outs={
        name: dg.AssetOut(key_prefix=GROUP, description=purpose, group_name=GROUP, code_version="3")
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
        **{
            name: dg.AssetIn(name, partition_mapping=to_corpus, metadata=LAZY | UNTRACKED)
            for name in ("queries", "query_embeddings")
        },
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
    settings = _training(variant, inputs)
    nodes, embedder = inputs.table("record_nodes"), embedding_model.get()
    graphs = training_graphs(nodes, *map(inputs.table, _RECORDS[1:]))
    graphs, which = graphs_to_learn_from(graphs, inputs.table("queries"), settings.split)
    context.log.info(f"gor/model {variant}: {which}")
    context.add_asset_metadata({"documents": which}, asset_key=TRAINED[0])
    if variant == SUPERVISED:
        ranking = RankingSettings.model_validate(inputs.settings("gor.ranking"))
        tokens = LocalTokenEmbedder(layer=ranking.layer)
        queries, vectors = inputs.table("queries"), inputs.table("query_embeddings")
        graphs = with_global_questions(graphs, nodes, queries, vectors, tokens)
    partition = partition_of(context.partition_key)
    state = f"{store.root}/_training/{partition.corpus}.{variant}.safetensors"
    show = reporter(f"gor/model {variant}: epochs", lambda _: None)

    def tell(epoch: Epoch) -> None:
        show(epoch.epoch, settings.epochs)
        if epoch.epoch == 1 or epoch.epoch % _LOG_EVERY == 0:
            context.log.info(
                f"epoch {epoch.epoch} of {settings.epochs}: loss {epoch.loss:.4f} "
                f"(L_CL {epoch.loss_cl:.4f}, L_RANK {epoch.loss_rank:.4f}), {epoch.seconds:.1f} s"
            )

    resume = store.fs.cat_file(state) if store.fs.exists(state) else None
    if resume and not is_state_of(resume, graphs, settings):  # a killed training, asked no more
        resume = None
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
    code_version="2",
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
    code_version="2",
    ins={
        "model": dg.AssetIn([GROUP, "model"]),
        "node_embeddings": dg.AssetIn([GROUP, "node_embeddings"]),
        **{
            name: dg.AssetIn([GROUP, name], partition_mapping=across, metadata=LAZY)
            for name in _RECORDS
        },
        "corpus_settings": dg.AssetIn("corpus_settings", partition_mapping=to_corpus),
    },
    description="How well a question finds its passage by dense retrieval and by the network. "
    "Documents that were not learnt from show whether training helps.",
)
def source_ranks(
    context: dg.AssetExecutionContext, model: pa.Table, node_embeddings: pa.Table, **read: Lazy
) -> pa.Table:
    partition = partition_of(context.partition_key)
    if not node_embeddings.num_rows:  # a baseline without a network
        return TABLES["gor.source_ranks"].empty()
    inputs = Inputs(read, partition.corpus)
    settings = _training(partition.method or "", inputs)
    graphs = training_graphs(*map(inputs.table, _RECORDS))
    known = set(model["learnt_from"][0].as_py())
    rows = source_rank_rows(
        graphs,
        node_embeddings,
        {g.document_id for g in graphs if learnt_hash(g.document_id) in known},
        settings.loss.temperature,
    )
    context.add_asset_metadata(mean_reciprocal_ranks(rows))
    return rows


TRAINED = (dg.AssetKey([GROUP, "model"]), dg.AssetKey([GROUP, "training_log"]))
"""What a training makes; the first is the model."""

gor_assets = [*record_assets, gor_model, node_embeddings, source_ranks]
