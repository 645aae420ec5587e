"""Index assets of Graph of Records: records, the trained network, node embeddings."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pyarrow as pa

from gsum_assets.evaluation.passages import labels_for
from gsum_assets.gor.checks import LOSS_FALLS, TRAINING_HELPS
from gsum_assets.gor.graphs import RecordGraph, record_graphs, training_graphs
from gsum_assets.gor.infer import infer, load_encoder
from gsum_assets.gor.learn import (
    graphs_to_learn_from,
    trained_tables,
    with_global_questions,
    with_positives,
)
from gsum_assets.gor.methods import EVIDENCE, SUPERVISED, WITHOUT_NETWORK, training_settings
from gsum_assets.gor.node_rankings import node_rankings
from gsum_assets.gor.plots import training_curves
from gsum_assets.gor.record_graph import record_graph
from gsum_assets.gor.respond import respond
from gsum_assets.gor.settings import RankingSettings, SimulationSettings, TrainingSettings
from gsum_assets.gor.simulate import simulate_queries
from gsum_assets.gor.source_ranks import mean_reciprocal_ranks, source_rank_rows
from gsum_assets.gor.train import Epoch, is_state_of
from gsum_assets.pipeline.cost import Cost
from gsum_assets.pipeline.embed import vector_column
from gsum_assets.pipeline.result import Picture, Result
from gsum_assets.pipeline.step import Inputs, Step
from gsum_assets.pipeline.tables import TABLES
from gsum_resources.embedding.token_embeddings import LocalTokenEmbedder
from gsum_resources.store.arrow import pc
from gsum_resources.store.checkpoints import learnt_hash
from gsum_resources.store.earlier import path_beside
from gsum_resources.store.parquet_store import Partition

_LOG_EVERY = 10  # epochs
_STATE = "training.safetensors"
_NO_QUESTIONS = (
    "no document to learn from has simulated questions, for reasons that the log of "
    "gor/simulated_queries has"
)
_NO_REFERENCES = (
    "no document to learn from has a general question with a reference; add some to queries.jsonl "
    "and materialize gor/model again"
)
_RECORDS = (
    "record_nodes",
    "record_edges",
    "simulated_queries",
    "historical_responses",
    "node_rankings",
)
"""Arguments of `training_graphs`, in order."""


def _simulation(inputs: Inputs) -> SimulationSettings:
    return SimulationSettings.model_validate(inputs.settings("gor.simulation"))


def _simulated_queries(inputs: Inputs) -> Result:
    chosen = _simulation(inputs)
    chunks, model = inputs.table("chunks"), inputs.model("language_model")
    simulated = simulate_queries(
        chunks,
        model,
        chosen.n_queries,
        chosen.temperature,
        chosen.least_score,
        inputs.prompts("gor"),
        labels_for(model, inputs, pc.unique(chunks["document_id"]).to_pylist()),
    )
    for note in simulated.notes:
        inputs.log(note)
    return Result(simulated.rows)


def _historical_responses(inputs: Inputs) -> Result:
    chosen = _simulation(inputs)
    chunks, model = inputs.table("chunks"), inputs.model("language_model")
    return respond(
        inputs.table("simulated_queries"),
        chunks,
        inputs.table("chunk_embeddings"),
        model,
        inputs.model("embedding_model"),
        chosen.k,
        chosen.max_response_words,
        inputs.progress("questions answered"),
        inputs.prompts("gor"),
        labels_for(model, inputs, pc.unique(chunks["document_id"]).to_pylist()),
    )


def _record_graph(inputs: Inputs) -> Result:
    nodes, edges = record_graph(
        inputs.table("chunks"),
        inputs.table("chunk_embeddings"),
        inputs.table("historical_responses"),
        inputs.model("embedding_model"),
    )
    return Result(nodes, beside={"record_edges": edges})


def token_embedder(inputs: Inputs) -> LocalTokenEmbedder:
    """Return the model of BERTScore that the settings name."""
    chosen = RankingSettings.model_validate(inputs.settings("gor.ranking"))
    return LocalTokenEmbedder(chosen.model, chosen.layer)


def _node_rankings(inputs: Inputs) -> pa.Table:
    embedder = token_embedder(inputs)
    return node_rankings(
        inputs.table("simulated_queries"),
        inputs.table("record_nodes"),
        embedder,
        inputs.memo("bertscore", embedder.identity),
        inputs.progress("documents scored"),
    )


def _training(inputs: Inputs) -> TrainingSettings:
    chosen = TrainingSettings.model_validate(inputs.settings("gor.training"))
    return training_settings(inputs.method, chosen)


def _model(inputs: Inputs) -> Result:
    if inputs.method in WITHOUT_NETWORK:
        return _no_network({})
    settings = _training(inputs)
    nodes, embedder = inputs.table("record_nodes"), inputs.model("embedding_model")
    graphs = training_graphs(nodes, *map(inputs.table, _RECORDS[1:]))
    graphs, which = graphs_to_learn_from(graphs, inputs.table("queries"), settings.split)
    inputs.log(f"{inputs.step} {inputs.method}: {which}")
    n_graphs = len(graphs)
    if inputs.method in SUPERVISED and graphs:
        tokens = token_embedder(inputs)
        queries, vectors = inputs.table("queries"), inputs.table("query_embeddings")
        graphs = with_global_questions(graphs, nodes, queries, vectors, tokens)
    if not graphs:
        for table in ("gor.historical_responses", "queries"):  # the first ones train a network
            inputs.count(table)
        reason = _NO_REFERENCES if n_graphs else _NO_QUESTIONS
        skipped = f"{reason}. Until then passages and responses are ranked by their own vectors"
        return _no_network({"model": {"skipped": skipped}})
    if inputs.method == EVIDENCE:
        queries, vectors = inputs.table("queries"), inputs.table("query_embeddings")
        graphs = with_positives(graphs, queries, vectors, settings.split)
    model, log = _trained(inputs, graphs, settings, embedder.identity)

    def shown() -> Mapping[str, Any]:
        plot = Picture(training_curves(log, inputs.title), "training curves")
        return {
            "model": {"documents": which},
            "training_log": {"plot": plot} if log.num_rows else {},
        }

    return Result(model, beside={"training_log": log}, shown=shown)


def _no_network(shown: Mapping[str, Mapping[str, Any]]) -> Result:
    log = TABLES["gor.training_log"].empty()
    return Result(TABLES["gor.model"].empty(), beside={"training_log": log}, shown=lambda: shown)


def _trained(
    inputs: Inputs, graphs: list[RecordGraph], settings: TrainingSettings, embedder: str
) -> tuple[pa.Table, pa.Table]:
    """Return model and training log; an interrupted training continues from its last state."""
    store = inputs.warehouse
    partition = Partition(inputs.corpus, method=inputs.method)
    state = path_beside(store, TABLES["gor.model"], partition, _STATE)
    show = inputs.progress("epochs")

    def on_epoch(epoch: Epoch) -> None:
        show(epoch.epoch, settings.epochs)
        if epoch.epoch == 1 or epoch.epoch % _LOG_EVERY == 0:
            inputs.log(
                f"epoch {epoch.epoch} of {settings.epochs}: loss {epoch.loss:.4f} "
                f"(L_CL {epoch.loss_cl:.4f}, L_RANK {epoch.loss_rank:.4f}), {epoch.seconds:.1f} s"
            )

    resume = store.fs.cat_file(state) if store.fs.exists(state) else None
    if resume and not is_state_of(resume, graphs, settings):
        resume = None
    tables = trained_tables(
        graphs,
        settings,
        embedder,
        on_epoch,
        lambda content: store.replace_file(state, content),
        resume,
    )
    if store.fs.exists(state):
        store.fs.rm_file(state)
    return tables


def _node_embeddings(inputs: Inputs) -> pa.Table:
    model, empty = inputs.table("model"), TABLES["gor.node_embeddings"].empty()
    if not model.num_rows:  # a baseline without a network, or nothing to learn from
        return empty
    graphs = record_graphs(inputs.table("record_nodes"), inputs.table("record_edges"))
    if not graphs:
        return empty
    embedder = inputs.model("embedding_model")
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


def _source_ranks(inputs: Inputs) -> Result:
    vectors = inputs.table("node_embeddings")
    if not vectors.num_rows:  # a baseline without a network
        return Result(TABLES["gor.source_ranks"].empty())
    graphs = training_graphs(*map(inputs.table, _RECORDS))
    learnt_from = set(inputs.table("model")["learnt_from"][0].as_py())
    rows = source_rank_rows(
        graphs,
        vectors,
        {g.document_id for g in graphs if learnt_hash(g.document_id) in learnt_from},
        _training(inputs).loss.temperature,
    )
    return Result(rows, shown=lambda: {"source_ranks": mean_reciprocal_ranks(rows)})


_SIMULATED = Cost("document", times="gor.simulation.n_queries")

INDEX = (
    Step(
        _simulated_queries,
        {
            "simulated_queries": "Each is asked about a single passage, which is its known source "
            "in training."
        },
        ("documents", "document_sections", "chunks", "corpus_settings", "language_model"),
        pool="llm",
        code_version="4",
        work="simulation",
        costs=[replace(_SIMULATED, requests=1.75, tokens_in=415, tokens_out=23)],
    ),
    Step(
        _historical_responses,
        {
            "historical_responses": "The answer to a simulated question, from the passages and "
            "earlier responses retrieved for it."
        },
        (
            *("documents", "document_sections", "simulated_queries", "chunks", "chunk_embeddings"),
            *("corpus_settings", "language_model", "embedding_model"),
        ),
        pool="llm",
        code_version="4",
        work="simulation",
        costs=[
            replace(_SIMULATED, tokens_in=1128, tokens_out=83),
            replace(_SIMULATED, model="embedding_model", requests=2.0, tokens_in=50),
        ],
    ),
    Step(
        _record_graph,
        {
            "record_nodes": "All passages and responses; unused nodes have degree 0.",
            "record_edges": "It leads from the node to the response.",
        },
        ("chunks", "chunk_embeddings", "historical_responses", "embedding_model"),
        pool=None,
    ),
    Step(
        _node_rankings,
        {
            "node_rankings": "BERTScore of every node with a question's source passage: the "
            "training target."
        },
        ("simulated_queries", "record_nodes", "corpus_settings"),
    ),
    Step(
        _model,
        {
            "model": "It is applied to new documents unchanged, and trained again when code, "
            "settings or embedding model change.",
            "training_log": "Loss, its terms, entropy and learning rate of each epoch.",
        },
        (*_RECORDS, "queries", "query_embeddings", "corpus_settings", "embedding_model"),
        code_version="5",
        untracked=(
            *_RECORDS,
            "queries",
            "query_embeddings",
        ),  # new documents do not retrain the model
        checks={"training_log": [LOSS_FALLS]},
        trains=True,
    ),
    Step(
        _node_embeddings,
        {
            "node_embeddings": "Output of the network for each node, including nodes of documents "
            "that it was not trained on."
        },
        ("model", "record_nodes", "record_edges", "embedding_model"),
        code_version="2",
    ),
    Step(
        _source_ranks,
        {
            "source_ranks": "Rank of the source passage by dense retrieval and by the network. "
            "Documents that the network was not trained on show whether training helps."
        },
        ("model", "node_embeddings", *_RECORDS, "corpus_settings"),
        code_version="2",
        checks={"source_ranks": [TRAINING_HELPS]},
    ),
)
