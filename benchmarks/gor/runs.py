"""A training with one seed, and what its network does on documents that it never saw."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from math import ceil
from pathlib import Path

import numpy as np
import pyarrow as pa

from benchmarks.gor.records import Answers, Fold, Records
from gsum_assets.corpus.embed import vector_column
from gsum_assets.corpus.settings import load_settings
from gsum_assets.gor.graphs import RecordGraph
from gsum_assets.gor.infer import infer
from gsum_assets.gor.learn import with_global_questions
from gsum_assets.gor.settings import TrainingSettings
from gsum_assets.gor.source_ranks import source_ranks
from gsum_assets.gor.train import train, training_key
from gsum_assets.gor.variants import SUPERVISED, training_settings
from gsum_resources.content_hash import hash_texts
from gsum_resources.token_embeddings import LocalTokenEmbedder


@dataclass(frozen=True)
class Run:
    """Of one seed.

    Attributes
    ----------
    among_chunks, among_nodes : reciprocal rank of the source of each simulated question of the
        documents never learnt from.
    answers : of the development questions.
    """

    among_chunks: list[float]
    among_nodes: list[float]
    answers: Answers


@dataclass(frozen=True)
class Trainer:
    """Trains methods on one corpus; a run that is in the folder `work` is read from there."""

    records: Records
    work: Path
    steps: int
    batch_graphs: int

    def runs(self, method: str, n_seeds: int, n_rounds: int | None = None) -> list[Run]:
        """A run a seed.

        Parameters
        ----------
        n_rounds : as if only so many questions had been simulated for each document.
        """
        folds = self.records.folds
        if method == SUPERVISED:
            folds = _supervised(self.records)
        if n_rounds is not None:
            folds = [
                Fold(
                    [with_questions_of(with_nodes_of(g, n_rounds), n_rounds) for g in fold.learnt],
                    [with_nodes_of(graph, n_rounds) for graph in fold.unseen],
                )
                for fold in folds
            ]
        epochs = self.epochs(len(folds[0].learnt))
        return [self._run(self._settings(method, seed, epochs), folds) for seed in range(n_seeds)]

    def epochs(self, n_graphs: int) -> int:
        """Passes over so many graphs that together have at least `steps` steps."""
        return ceil(self.steps / ceil(n_graphs / self.batch_graphs))

    def _settings(self, method: str, seed: int, epochs: int) -> TrainingSettings:
        section = load_settings(self.records.home / "corpora" / self.records.corpus).gor
        training = TrainingSettings.model_validate(section.get("training", {}))
        own = {"seed": seed, "epochs": epochs, "batch_graphs": self.batch_graphs}
        return training_settings(method, training).model_copy(update=own)

    def _run(self, settings: TrainingSettings, folds: Sequence[Fold]) -> Run:
        learnt = [training_key(fold.learnt, settings) for fold in folds]
        unseen = [graph for fold in folds for graph in fold.unseen]
        sizes = [f"{graph.document_id} {graph.n_nodes}" for graph in unseen]
        path = self.work / f"{self.records.corpus}-{hash_texts([*learnt, *sizes], 8)}.json"
        if path.exists():
            return Run(**json.loads(path.read_text("utf-8")))
        vectors = [
            nodes
            for fold in folds
            for nodes in infer(train(fold.learnt, settings).encoder, fold.unseen)
        ]
        found = measured(self.records, unseen, vectors)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(vars(found)), "utf-8")
        return found


def measured(records: Records, graphs: Sequence[RecordGraph], vectors: Sequence[np.ndarray]) -> Run:
    """Measure node embeddings on documents and development questions.

    Parameters
    ----------
    vectors : of each graph's nodes, `(n_nodes, dim)`.
    """
    ranks = [source_ranks(g, v, 1.0) for g, v in zip(graphs, vectors, strict=True)]
    table = pa.table(
        {
            "node_id": [str(node) for graph in graphs for node in graph.node_ids],
            "embedding": vector_column(np.concatenate(vectors)),
        }
    )
    queries = records.questions()
    return Run(
        (1 / np.concatenate([r.among_chunks for r in ranks])).tolist(),
        (1 / np.concatenate([r.among_nodes for r in ranks])).tolist(),
        records.answers(records.contexts("gor", queries, table), queries),
    )


@cache
def _supervised(records: Records) -> list[Fold]:
    nodes, tokens = records.rows("gor.record_nodes"), LocalTokenEmbedder()
    question_tables = records.queries, records.query_embeddings
    return [
        Fold(with_global_questions(fold.learnt, nodes, *question_tables, tokens), fold.unseen)
        for fold in records.folds
    ]


def with_nodes_of(graph: RecordGraph, n_rounds: int) -> RecordGraph:
    """The graph as it was after some rounds: without the later responses; all its questions."""
    n = int((graph.kinds == "chunk").sum()) + n_rounds  # chunks come first, responses by round
    n = min(n, graph.n_nodes)
    kept = graph.rankings < n
    return replace(
        graph,
        node_ids=graph.node_ids[:n],
        kinds=graph.kinds[:n],
        features=graph.features[:n],
        edges=graph.edges[:, graph.edges[1] < n],
        rankings=graph.rankings[kept].reshape(graph.n_queries, n),
    )


def with_questions_of(graph: RecordGraph, n_rounds: int) -> RecordGraph:
    """The graph with the questions of the first rounds alone."""
    return replace(
        graph,
        queries=graph.queries[:n_rounds],
        rankings=graph.rankings[:n_rounds],
        sources=graph.sources[:n_rounds],
        query_ids=graph.query_ids[:n_rounds],
    )
