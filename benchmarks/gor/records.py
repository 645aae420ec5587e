"""Tables of one corpus in a home, and measures of a ranking of its nodes."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from gsum_assets.corpus.chunk import n_word_pieces
from gsum_assets.corpus.embed import embed_questions
from gsum_assets.corpus.settings import load_settings
from gsum_assets.evaluation.answer import answer_questions
from gsum_assets.evaluation.rouge import rouge
from gsum_assets.gor.contexts import top_nodes
from gsum_assets.gor.graphs import RecordGraph, training_graphs
from gsum_assets.gor.learn import graphs_to_learn_from
from gsum_assets.gor.rank import rank
from gsum_assets.tables import TABLES
from gsum_resources.arrow import pc
from gsum_resources.home import Home
from gsum_resources.llm.ledger import Ledger
from gsum_resources.llm.ledgered_model import LedgeredModel
from gsum_resources.models import Models
from gsum_resources.parquet_store import ParquetStore

DEV = ("dev", "val")
K = 6
N_HALVES = 2
_SEED = 0
METRICS = ("rouge1", "rouge2", "rougeL", "evidence_p", "evidence_r", "tokens")
_RECORDS = (
    "gor.record_nodes",
    "gor.record_edges",
    "gor.simulated_queries",
    "gor.historical_responses",
    "gor.node_rankings",
)
Answers = dict[str, dict[str, float]]  # question id to metric to value


class Fold(NamedTuple):
    """Graphs that a network learns from, and others that it never saw."""

    learnt: list[RecordGraph]
    unseen: list[RecordGraph]


@dataclass(frozen=True)
class Records:
    """One corpus of a home that `gsum run` filled."""

    home: Path
    corpus: str

    @cached_property
    def store(self) -> ParquetStore:
        """The warehouse."""
        return ParquetStore(str(self.home / "warehouse"))

    def rows(self, table: str, method: str | None = None) -> pa.Table:
        """A table's rows, those of one method where it has methods."""
        partitions = self.store.partitions(TABLES[table], self.corpus)
        wanted = [p for p in partitions if method is None or p.method == method]
        return self.store.read(TABLES[table], wanted)[0]

    @cached_property
    def queries(self) -> pa.Table:
        """All questions."""
        return self.rows("queries")

    def questions(self, splits: Sequence[str] = DEV) -> pa.Table:
        """Questions of these splits with references."""
        rows = [r for r in self.queries.to_pylist() if r["split"] in splits and r["references"]]
        rows.sort(key=lambda row: row["query_id"])
        return pa.Table.from_pylist(rows, TABLES["queries"].schema)

    @cached_property
    def graphs(self) -> list[RecordGraph]:
        """Of all documents, with their simulated questions."""
        return training_graphs(*map(self.rows, _RECORDS))

    @cached_property
    def folds(self) -> list[Fold]:
        """The documents of the split 'train', and those of the development questions.

        Where there is no such split, two halves of the latter by a fixed seed: each is measured
        with the network that learnt from the other.
        """
        documents = set(self.questions()["document_id"].to_pylist())
        learnt, _ = graphs_to_learn_from(self.graphs, self.queries, None)
        known = {graph.document_id for graph in learnt}
        unseen = [g for g in self.graphs if g.document_id in documents - known]
        if unseen:
            return [Fold(learnt, unseen)]
        order = np.random.default_rng(_SEED).permutation(len(self.graphs))
        halves = [
            [self.graphs[i] for i in sorted(half)] for half in np.array_split(order, N_HALVES)
        ]
        return [Fold(*halves), Fold(*halves[::-1])]

    @property
    def unseen(self) -> list[RecordGraph]:
        """The graphs that are measured, each with a network that did not learn from it."""
        return [graph for fold in self.folds for graph in fold.unseen]

    @cached_property
    def models(self) -> Models:
        """Those that the home's settings name."""
        home = Home(self.home, str(self.home / "warehouse"))
        return Models(home.settings(), self.store, TABLES["llm_calls"])

    def contexts(self, method: str, queries: pa.Table, vectors: pa.Table | None = None) -> pa.Table:
        """The six best nodes of each question.

        Parameters
        ----------
        vectors : `node_id` and `embedding`; those of the texts unless given.
        """
        document_ids = pa.array(sorted(set(queries["document_id"].to_pylist())))
        nodes, edges, documents = (
            table.filter(pc.is_in(table["document_id"], document_ids))
            for table in (self._nodes, self._edges, self._documents)
        )
        found = nodes if vectors is None else vectors
        nodes = nodes.filter(pc.is_in(nodes["node_id"], found["node_id"].combine_chunks()))
        nodes = nodes.combine_chunks()
        rankings = rank(method, documents, nodes, edges, found, queries, self.query_embeddings)
        return top_nodes(rankings, nodes, K)

    @cached_property
    def _model(self) -> LedgeredModel:
        ledger = Ledger(self.store, TABLES["llm_calls"], self.corpus, "benchmark")
        return self.models.language_model(ledger)

    @cached_property
    def query_embeddings(self) -> pa.Table:
        """Vectors of all questions."""
        return embed_questions(self.queries, self.models.embedder)

    @cached_property
    def _nodes(self) -> pa.Table:
        return self.rows("gor.record_nodes")

    @cached_property
    def _edges(self) -> pa.Table:
        return self.rows("gor.record_edges")

    @cached_property
    def _documents(self) -> pa.Table:
        return self.rows("documents")

    def answers(self, contexts: pa.Table, queries: pa.Table) -> Answers:
        """Quality of the answers over contexts, and what they read; means over samples.

        A response counts as a passage without evidence.
        """
        words = load_settings(self.home / "corpora" / self.corpus).answer.max_words
        texts = answer_questions(queries, contexts, self._model, words).rows.to_pylist()
        read: dict[tuple[str, int], list[dict]] = {}
        for row in contexts.to_pylist():
            read.setdefault((row["query_id"], row["sample"]), []).append(row)
        rows = {row["query_id"]: row for row in queries.to_pylist()}
        found: dict[str, list[dict[str, float]]] = {query_id: [] for query_id in rows}
        for row in texts:
            question, nodes = rows[row["query_id"]], read[row["query_id"], row["sample"]]
            quality = rouge(row["text"], question["references"])
            found[row["query_id"]].append(quality | _read(question, nodes))
        return {
            query_id: {
                metric: float(np.mean([s[metric] for s in samples if metric in s] or [0.0]))
                for metric in METRICS
                if metric not in _EVIDENCE or rows[query_id]["relevant_chunk_ids"]
            }
            for query_id, samples in found.items()
        }


_EVIDENCE = ("evidence_p", "evidence_r")


def _read(question: dict, nodes: Sequence[dict]) -> dict[str, float]:
    """Tokens read, and precision and recall of the marked evidence where there is any."""
    found = {"tokens": float(sum(_n_tokens(row["text"]) for row in nodes))}
    marked = set(question["relevant_chunk_ids"])
    if not marked:
        return found
    hits = len(marked & {row["node_id"] for row in nodes})
    return found | {"evidence_p": hits / len(nodes), "evidence_r": hits / len(marked)}


@cache
def _n_tokens(text: str) -> int:
    return n_word_pieces([text])[0]
