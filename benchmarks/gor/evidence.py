"""`gor-evidence` beside `gor` and dense retrieval on train meetings, and without each repair.

    python -m benchmarks.gor.evidence --home HOME

HOME is filled as for `benchmarks.gor`. Only meetings of the split train are read: three networks
learn from two thirds of them each, and are measured on the last third, by the marked evidence of
their specific questions and by answers from six passages or nodes. Finished trainings are kept in
the home, so that a command that was killed is resumed.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa

from benchmarks import Measurement
from benchmarks.evidence.found import HEADER, K, compared_ranks, metrics_of, paired
from benchmarks.gor.records import Records
from benchmarks.results import parser_of, publish
from gsum_assets.corpus.embed import vector_column
from gsum_assets.gor.graphs import NO_SOURCE, RecordGraph
from gsum_assets.gor.infer import infer
from gsum_assets.gor.learn import graphs_to_learn_from, with_positives
from gsum_assets.gor.settings import TrainingSettings
from gsum_assets.gor.train import train, training_key
from gsum_assets.gor.variants import EVIDENCE, training_settings
from gsum_assets.retrieval.vectors import vectors_of
from gsum_resources.arrow import pc

N_FOLDS, STEPS, BATCH = 3, 150, 4
DENSE, GOR, GOR_PASSAGES = "dense", "gor", "gor, passages only"
ONE, MIXED = "one positive", "passages and responses in one ranking"
NO_NEIGHBOURS, NO_MARKS = "no neighbour edges", "no marked questions"
ONLY_MARKS = "marked questions alone"
CHANGED = (ONE, MIXED, NO_NEIGHBOURS, NO_MARKS, ONLY_MARKS)
ROUGE = ("rouge1", "rouge2", "rougeL")
Scores = Mapping[str, Sequence[float]]
Vectors = Mapping[str, np.ndarray]  # by document, of the nodes of its graph


def settings_of(side: str, seed: int, n_graphs: int) -> TrainingSettings:
    """Return the settings of a side; the corpus's own are the defaults."""
    epochs = -(-STEPS // -(-n_graphs // BATCH))
    chosen = TrainingSettings(seed=seed, epochs=epochs, batch_graphs=BATCH)
    chosen = training_settings(GOR if side == GOR else EVIDENCE, chosen)
    if side == NO_NEIGHBOURS:
        encoder = chosen.encoder.model_copy(update={"neighbours": False})
        return chosen.model_copy(update={"encoder": encoder})
    return chosen


def graphs_of(side: str, graphs: list[RecordGraph], records: Records) -> list[RecordGraph]:
    """Return the graphs that a side learns from."""
    if side == GOR:
        return graphs
    queries = records.queries.slice(0, 0) if side == NO_MARKS else records.queries
    found = with_positives(graphs, queries, records.query_embeddings, "train")
    if side == ONE:
        return [replace(g, positives=_first(g)) for g in found]
    if side == MIXED:
        return [replace(g, positives=_with_responses(g)) for g in found]
    if side == ONLY_MARKS:
        return [_marked_alone(g) for g in found]
    return found


def _first(graph: RecordGraph) -> np.ndarray:
    """Return the source of a question, or the first passage with marked evidence, alone."""
    found = np.zeros((graph.n_queries, graph.n_nodes), bool)
    found[np.arange(graph.n_queries), graph.rankings[:, 0]] = True
    return found


def _with_responses(graph: RecordGraph) -> np.ndarray:
    """Return the positives with the responses that the response to a question used."""
    assert graph.positives is not None
    found, n_chunks = graph.positives.copy(), int((graph.kinds == "chunk").sum())
    found[graph.edges[1] - n_chunks, graph.edges[0]] = True
    return found


def _marked_alone(graph: RecordGraph) -> RecordGraph:
    """Return the graph without its simulated questions."""
    kept = graph.sources == NO_SOURCE
    names = ("queries", "rankings", "sources", "query_ids", "positives")
    return replace(graph, **{name: getattr(graph, name)[kept] for name in names})


def folds(graphs: Sequence[RecordGraph]) -> Iterator[tuple[list[RecordGraph], list[RecordGraph]]]:
    """Yield the graphs to learn from and those to measure; each is measured once."""
    order = np.random.default_rng(0).permutation(len(graphs))
    for held in np.array_split(order, N_FOLDS):
        yield [graphs[i] for i in order if i not in held], [graphs[i] for i in sorted(held)]


def trained(records: Records, graphs: list[RecordGraph], side: str, seed: int) -> Vectors:
    """Return embeddings of the nodes of all documents, none learnt from by its network."""
    found = {}
    for learnt, unseen in folds(graphs):
        settings = settings_of(side, seed, len(learnt))
        own = graphs_of(side, learnt, records)
        file = records.home / "benchmark-gor-evidence" / f"{training_key(own, settings)}.npz"
        if not file.exists():
            encoder = train(own, settings).encoder
            file.parent.mkdir(exist_ok=True)
            names = [graph.document_id for graph in unseen]
            np.savez(file, **dict(zip(names, infer(encoder, unseen), strict=True)))
        with np.load(file) as kept:
            found |= dict(kept)
    return found


def evidence(records: Records, graphs: Sequence[RecordGraph], vectors: Vectors, mixed: bool):
    """Return the metrics of each question of `asked`; a response holds no evidence."""
    hits, of = [], {graph.document_id: graph for graph in graphs}
    for row in asked(records, graphs).to_pylist():
        graph = of[row["document_id"]]
        query = vectors_of(records.query_embeddings, [row["query_id"]], "query")[0]
        marks = np.isin(graph.node_ids, row["relevant_chunk_ids"])
        scores = vectors[graph.document_id] @ query
        kept = np.ones(graph.n_nodes, bool) if mixed else graph.kinds == "chunk"
        hits.append(marks[kept][np.argsort(-scores[kept], kind="stable")])
    return metrics_of(hits)


def answers(
    records: Records, graphs: Sequence[RecordGraph], vectors: Vectors, mixed: bool
) -> Scores:
    """Return ROUGE of the answers to each question of `asked`, from the six best nodes."""
    kept = [np.ones(g.n_nodes, bool) if mixed else g.kinds == "chunk" for g in graphs]
    ids = [str(node) for g, own in zip(graphs, kept, strict=True) for node in g.node_ids[own]]
    rows = [vectors[g.document_id][own] for g, own in zip(graphs, kept, strict=True)]
    table = pa.table({"node_id": ids, "embedding": vector_column(np.concatenate(rows))})
    queries = asked(records, graphs)
    found = records.answers(records.contexts(GOR, queries, table), queries)
    return {metric: [found[q][metric] for q in queries["query_id"].to_pylist()] for metric in ROUGE}


def asked(records: Records, graphs: Sequence[RecordGraph]) -> pa.Table:
    """Return the specific questions about these documents with marked evidence."""
    queries = records.questions(("train",))
    names = pa.array([graph.document_id for graph in graphs])
    is_marked = pc.greater(pc.list_value_length(queries["relevant_chunk_ids"]), 0)
    is_specific = pc.equal(queries["kind"], "specific")
    of_these = pc.is_in(queries["document_id"], names)
    return queries.filter(pc.and_(pc.and_(is_marked, is_specific), of_these)).combine_chunks()


def measure(records: Records, n_seeds: int) -> Iterator[Measurement]:
    """Yield evidence and answers of all sides, and the effect of each repair."""
    graphs, _ = graphs_to_learn_from(records.graphs, records.queries, "train")
    embedded = {side: [] for side in (GOR, EVIDENCE, *CHANGED)}
    for side, runs in embedded.items():
        runs += [trained(records, graphs, side, seed) for seed in range(n_seeds)]
    texts = {graph.document_id: graph.features for graph in graphs}
    embedded = {DENSE: [texts], **embedded, GOR_PASSAGES: embedded[GOR]}
    ranked, written = {}, {}
    for side, runs in embedded.items():
        mixed = side in (GOR, MIXED)
        ranked[side] = _means([evidence(records, graphs, run, mixed) for run in runs])
        written[side] = _means([answers(records, graphs, run, mixed) for run in runs])
    notes = (
        f"{len(graphs)} meetings of QMSum train in {N_FOLDS} folds by meeting, "
        f"{asked(records, graphs).num_rows} specific questions with marked evidence; means over "
        f"{n_seeds} seeds of a training ({STEPS} steps, batches of {BATCH}); percent; differences "
        "are paired, 95% bootstrap intervals over questions."
    )
    sides = (DENSE, GOR, GOR_PASSAGES, EVIDENCE)
    rows = compared_ranks({side: ranked[side] for side in sides}, DENSE)
    yield Measurement("Evidence found on QMSum train", notes, HEADER, rows)
    yield Measurement(
        f"Answers on QMSum train from {K} passages or nodes",
        f"ROUGE F1 of extractive answers. {notes}",
        ["nodes of", *(head for m in ROUGE for head in (m, "less that of dense"))],
        [[side, *_cells(written[side], written[DENSE], side == DENSE)] for side in sides],
    )
    yield Measurement(
        "What each repair is worth",
        f"`{EVIDENCE}` less `{GOR}`, and less itself with one part changed. {notes}",
        ["less that of", "AP", "R@6", *ROUGE],
        [
            [
                side,
                *(paired(ranked[EVIDENCE][m], ranked[side][m], 1) for m in ("ap", "r")),
                *(paired(written[EVIDENCE][m], written[side][m]) for m in ROUGE),
            ]
            for side in (GOR, *CHANGED)
        ],
    )


def _means(runs: Sequence[Scores]) -> Scores:
    """Return the means over seeds of each question."""
    return {metric: np.mean([run[metric] for run in runs], axis=0).tolist() for metric in runs[0]}


def _cells(own: Scores, dense: Scores, is_dense: bool) -> Iterator[str]:
    for metric in ROUGE:
        yield f"{100 * np.mean(own[metric]):.2f}"
        yield "" if is_dense else paired(own[metric], dense[metric])


if __name__ == "__main__":
    parser = parser_of(__doc__)
    parser.add_argument("--home", type=Path, required=True, help="a home that `gsum run` filled")
    parser.add_argument("--corpus", default="qmsum-60", help="with questions of the split train")
    parser.add_argument("--seeds", type=int, default=3, help="trainings of each side")
    arguments = parser.parse_args()
    found = measure(Records(arguments.home, arguments.corpus), arguments.seeds)
    publish("gor-evidence", found, arguments.store)
