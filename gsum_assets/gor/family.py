"""Graph of Records, its ablations and its baselines: the steps of the family."""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial

import pyarrow as pa

from gsum_assets.evaluation.passages import LabelOf, labels_for
from gsum_assets.gor.checks import TRAINING_HELPS, source_rank_rows
from gsum_assets.gor.graphs import RecordGraph, record_graph, record_graphs, training_graphs
from gsum_assets.gor.learn import graphs_to_learn_from, with_global_questions
from gsum_assets.gor.methods import (
    FORMS,
    METHODS,
    SUPERVISED,
    WITHOUT_NETWORK,
    Training,
    training_of,
)
from gsum_assets.gor.node_rankings import node_rankings
from gsum_assets.gor.prompts import PROMPTS
from gsum_assets.gor.rank import rank
from gsum_assets.gor.respond import respond
from gsum_assets.gor.settings import (
    ContextSettings,
    GorSettings,
    RankingSettings,
    SimulationSettings,
    TrainingSettings,
)
from gsum_assets.gor.simulate import simulate_queries
from gsum_assets.pipeline.cost import Cost
from gsum_assets.pipeline.embed import vector_column
from gsum_assets.pipeline.family import Family
from gsum_assets.pipeline.result import Markdown, Result, Shown
from gsum_assets.pipeline.step import CONTEXTS, RANKINGS, Inputs, Step
from gsum_assets.pipeline.tables import TABLES
from gsum_assets.plots.figure import to_markdown
from gsum_assets.plots.training_curves import training_curves
from gsum_assets.retrieval.contexts import top_nodes
from gsum_assets.retrieval.settings import DEFAULT_K
from gsum_resources.embedding.token_embeddings import LocalTokenEmbedder
from gsum_resources.store.arrow import pc
from gsum_resources.store.checkpoints import learnt_hash
from gsum_resources.store.parquet_store import Partition

_STATE = "training.pt"  # of a training in progress, beside the file of `gor.model`
_RECORDS = (
    "record_nodes",
    "record_edges",
    "simulated_queries",
    "historical_responses",
    "node_rankings",
)
"""Arguments of `training_graphs`, in order."""
_LEARNT_FROM = (*_RECORDS, "queries", "query_embeddings")


def _labels(inputs: Inputs) -> LabelOf | None:
    document_ids = pc.unique(inputs.table("chunks")["document_id"]).to_pylist()
    return labels_for(inputs.model("language_model"), inputs, document_ids)


def _simulated_queries(inputs: Inputs) -> Result:
    settings = SimulationSettings.model_validate(inputs.settings("gor.simulation"))
    rows, notes = simulate_queries(
        inputs.table("chunks"),
        inputs.model("language_model"),
        settings.n_queries,
        inputs.prompts("gor"),
        _labels(inputs),
    )
    for note in notes:
        inputs.log(note)
    return Result(rows)


def _historical_responses(inputs: Inputs) -> Result:
    return respond(
        inputs.table("simulated_queries"),
        inputs.table("chunks"),
        inputs.table("chunk_embeddings"),
        inputs.model("language_model"),
        inputs.model("embedding_model"),
        SimulationSettings.model_validate(inputs.settings("gor.simulation")).k,
        inputs.progress("questions answered"),
        inputs.prompts("gor"),
        _labels(inputs),
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
    settings = RankingSettings.model_validate(inputs.settings("gor.ranking"))
    return LocalTokenEmbedder(settings.model, settings.layer)


def _node_rankings(inputs: Inputs) -> pa.Table:
    embedder = token_embedder(inputs)
    return node_rankings(
        inputs.table("simulated_queries"),
        inputs.table("record_nodes"),
        embedder,
        inputs.memo("bertscore", embedder.identity),
        inputs.progress("documents scored"),
    )


def _training(inputs: Inputs) -> Training:
    settings = TrainingSettings.model_validate(inputs.settings("gor.training"))
    return training_of(inputs.method, settings)


def _model(inputs: Inputs) -> Result:
    if inputs.method in WITHOUT_NETWORK:
        return _no_network()
    training = _training(inputs)
    recorded = training_graphs(*map(inputs.table, _RECORDS))
    queries = inputs.table("queries")
    graphs, which = graphs_to_learn_from(recorded, queries, training.split)
    inputs.log(f"{inputs.step} {inputs.method}: {which}")
    reason = (
        "no document to learn from has simulated questions, for reasons that the log of "
        "gor/simulated_queries has"
    )
    if inputs.method in SUPERVISED and graphs:
        reason = (
            "no document to learn from has a general question with a reference; add some to "
            "queries.jsonl and materialize gor/model again"
        )
        nodes, embeddings = inputs.table("record_nodes"), inputs.table("query_embeddings")
        graphs = with_global_questions(graphs, nodes, queries, embeddings, token_embedder(inputs))
    if not graphs:
        for table in ("gor.historical_responses", "queries"):  # the first ones train a network
            inputs.count(table)
        return _no_network(
            skipped=f"{reason}. Until then passages and responses are ranked by their own vectors"
        )
    model, log = _trained(inputs, graphs, training)

    def shown() -> Mapping[str, Shown]:
        figure = training_curves(log, f"{inputs.corpus}, {inputs.method}")
        plot = {"plot": Markdown(to_markdown(figure, "training curves"))} if figure else {}
        return {"model": {"documents": which}, "training_log": plot}

    return Result(model, beside={"training_log": log}, shown=shown)


def _no_network(**shown: str) -> Result:
    log = TABLES["gor.training_log"].empty()
    empty = TABLES["gor.model"].empty()
    return Result(empty, beside={"training_log": log}, shown=lambda: {"model": shown})


def _trained(
    inputs: Inputs, graphs: list[RecordGraph], training: Training
) -> tuple[pa.Table, pa.Table]:
    """Return model and training log; an interrupted training continues from its last state."""
    from gsum_assets.gor.train import train, trained_tables

    store, partition = inputs.warehouse, Partition(inputs.corpus, method=inputs.method)
    state = store.path(TABLES["gor.model"], partition, _STATE)
    show = inputs.progress("epochs")
    trained = train(
        graphs,
        training,
        lambda row: show(row["epoch"], training.epochs),
        partial(store.replace_file, state),
        store.fs.cat_file(state) if store.fs.exists(state) else None,
    )
    if store.fs.exists(state):
        store.fs.rm_file(state)
    return trained_tables(trained, graphs, training, inputs.model("embedding_model").identity)


def _node_embeddings(inputs: Inputs) -> pa.Table:
    model, table = inputs.table("model"), TABLES["gor.node_embeddings"].empty()
    graphs = record_graphs(inputs.table("record_nodes"), inputs.table("record_edges"))
    if not (graphs and model.num_rows):  # a baseline without a network, or nothing to learn from
        return table
    from gsum_assets.gor.encoders import embed_nodes, load_encoder

    dimension = graphs[0].features.shape[1]
    identity = inputs.model("embedding_model").identity
    encoder = load_encoder(model["weights"][0].as_py(), identity, dimension)
    return pa.concat_tables(
        pa.table(
            {
                "node_id": pa.array(graph.node_ids.tolist(), pa.string()),
                "document_id": pa.repeat(graph.document_id, graph.n_nodes),
                "kind": pa.array(graph.kinds.tolist(), pa.string()),
                "embedding": vector_column(vectors),
            }
        )
        for graph, vectors in zip(graphs, embed_nodes(encoder, graphs), strict=True)
    )


def _source_ranks(inputs: Inputs) -> pa.Table:
    vectors = inputs.table("node_embeddings")
    if not vectors.num_rows:  # a baseline without a network
        return TABLES["gor.source_ranks"].empty()
    graphs = training_graphs(*map(inputs.table, _RECORDS))
    learnt_from = set(inputs.table("model")["learnt_from"][0].as_py())
    documents = {g.document_id for g in graphs if learnt_hash(g.document_id) in learnt_from}
    return source_rank_rows(graphs, vectors, documents, _training(inputs).loss.temperature)


def _contexts(inputs: Inputs) -> pa.Table:
    settings = ContextSettings.model_validate(inputs.settings("gor.contexts"))
    return top_nodes(
        inputs.table("rankings"), inputs.table("record_nodes"), settings.k or DEFAULT_K
    )


_SIMULATED = Cost("document", times="gor.simulation.n_queries")

FAMILY = Family(
    "gor",
    METHODS,
    index=(
        Step(
            _simulated_queries,
            {
                "simulated_queries": "Each is asked about a single passage, which is its known "
                "source in training."
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
                *("documents", "document_sections", "simulated_queries", "chunks"),
                *("chunk_embeddings", "corpus_settings", "language_model", "embedding_model"),
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
            (*_LEARNT_FROM, "corpus_settings", "embedding_model"),
            code_version="5",
            untracked=_LEARNT_FROM,  # new documents do not retrain the model
            trains=True,
        ),
        Step(
            _node_embeddings,
            {
                "node_embeddings": "Output of the network for each node, including nodes of "
                "documents that it was not trained on."
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
    ),
    studies=[n for n in FORMS if n not in ("gor", "gor-supervised", "gor-published")],
    question=(
        Step(
            rank,
            RANKINGS,
            (
                *("documents", "record_nodes", "record_edges"),
                *("node_embeddings", "query_embeddings"),
            ),
            code_version="3",
        ),
        Step(_contexts, CONTEXTS, ("record_nodes",), pool=None, code_version="2"),
    ),
    settings=GorSettings,
    prompts=PROMPTS,
    filtered=tuple(METHODS),
    costs=[Cost("question", tokens_in=1108, tokens_out=181, repeated=0.59)],
)
