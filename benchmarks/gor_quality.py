"""What Graph of Records gains, by the tables of a home: source ranks, and ROUGE of its answers.

    GSUM_HOME=HOME gsum import qmsum ../shared/datasets/qmsum
    GSUM_HOME=HOME gsum run qmsum --methods dense,thought-retriever,node2vec,gor-untrained,gor
    python -m benchmarks.gor_quality --home HOME --corpus qmsum

The development documents are cut in two halves by a fixed seed: settings were chosen on the first,
so the second, and then all, are what counts. Answers are those of the home's language model, once
over the K nodes that the home stored and once over as many nodes as 1,536 word pieces hold, which
is what six chunks of 256 have at most. Intervals are 95% bootstrap intervals over questions;
the difference from `dense` is taken question by question.
"""

import argparse
import json
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path

import numpy as np
import pyarrow as pa

from benchmarks import Measurement
from gsum.statistics import intervals
from gsum_assets.corpus.chunk import n_word_pieces
from gsum_assets.corpus.settings import load_settings
from gsum_assets.evaluation.answer import answer_questions
from gsum_assets.evaluation.rouge import rouge
from gsum_assets.gor.contexts import nodes_within
from gsum_assets.tables import TABLES
from gsum_resources.arrow import pc
from gsum_resources.home import Home
from gsum_resources.llm.ledger import Ledger
from gsum_resources.models import Models
from gsum_resources.parquet_store import ParquetStore

DEV = ("dev", "val")
METRICS = ("rouge1", "rougeL", "rouge2")
BUDGET = 1536  # word pieces
BASELINE = "dense"
SEED = 0
Scores = Mapping[str, Mapping[str, float]]  # query id to metric to value


class Results:
    """What a home holds of one corpus."""

    def __init__(self, home: Path, corpus: str) -> None:
        self.corpus = corpus
        self.home = Home(home, str(home / "warehouse"))
        self.store = ParquetStore(self.home.warehouse)

    def rows(self, table: str, method: str | None = None) -> pa.Table:
        """A table's rows, those of one method where it has methods."""
        partitions = self.store.partitions(TABLES[table], self.corpus)
        wanted = [p for p in partitions if method is None or p.method == method]
        return self.store.read(TABLES[table], wanted)[0]

    def methods(self, table: str) -> list[str]:
        """Those that have rows of a table."""
        partitions = self.store.partitions(TABLES[table], self.corpus)
        return [p.method for p in partitions if p.method and self.rows(table, p.method).num_rows]

    @cached_property
    def questions(self) -> dict[str, dict]:
        """The development questions by id."""
        rows = self.rows("queries").to_pylist()
        return {row["query_id"]: row for row in rows if row["split"] in DEV}

    @cached_property
    def halves(self) -> tuple[frozenset[str], frozenset[str]]:
        """Ids of the documents that settings were chosen on, and of the others."""
        ids = sorted({row["document_id"] for row in self.questions.values()} - {None})
        order = np.random.default_rng(SEED).permutation(len(ids))
        first = frozenset(ids[i] for i in order[: len(ids) // 2])
        return first, frozenset(ids) - first

    @cached_property
    def models(self) -> Models:
        """Those that the home's settings name."""
        return Models(self.home.settings(), self.store, TABLES["llm_calls"])


def source_ranks(results: Results) -> Measurement:
    """Rank of the source of simulated questions, on development documents."""
    first, second = results.halves
    rows = []
    for method in results.methods("gor.source_ranks"):
        table = results.rows("gor.source_ranks", method)
        for name, part in {"first": first, "second": second, "all": first | second}.items():
            mine = table.filter(pc.is_in(table["document_id"], pa.array(sorted(part))))
            mine = mine.filter(pc.invert(mine["is_learnt"]))
            told = [f"{np.mean(1 / mine[c].to_numpy()):.3f}" for c in _RANKS]
            told += [f"{np.mean(mine[c].to_numpy()):.2f}" for c in ("entropy_before", "entropy")]
            rows.append([method, name, f"{mine.num_rows:,}", *told])
    return Measurement(
        title=f"{results.corpus}: mean reciprocal rank of a simulated question's source",
        notes="Development documents, none of them learnt from. Among all nodes of the document, "
        "and among its chunks; entropy of a question's similarities over all nodes, nats.",
        header=(
            *("method", "half", "n", "before", "after", "chunks, before", "chunks, after"),
            *("entropy, before", "entropy, after"),
        ),
        rows=rows,
    )


_RANKS = ("rank_before", "rank", "chunk_rank_before", "chunk_rank")


def stored_scores(results: Results, methods: Iterable[str]) -> dict[str, Scores]:
    """ROUGE of the development answers that are stored, by method."""
    found: dict[str, Scores] = {}
    for method in methods:
        by_query: dict[str, dict[str, float]] = {}
        for row in results.rows("scores", method).to_pylist():
            if row["query_id"] in results.questions and row["metric"] in METRICS:
                by_query.setdefault(row["query_id"], {})[row["metric"]] = row["value"]
        found[method] = by_query
    return found


def scores_within(results: Results, methods: Iterable[str], budget: int) -> dict[str, Scores]:
    """ROUGE of development answers over contexts of `budget` word pieces, by method."""
    nodes = results.rows("gor.record_nodes")
    queries = pa.Table.from_pylist(list(results.questions.values()), TABLES["queries"].schema)
    settings = load_settings(results.home.corpora / results.corpus)
    asked = queries["query_id"].combine_chunks()
    found = {}
    for method in methods:
        rankings = results.rows("rankings", method)
        rankings = rankings.filter(pc.is_in(rankings["query_id"], asked))
        contexts = nodes_within(rankings, nodes, budget, n_word_pieces)
        ledger = Ledger(results.store, TABLES["llm_calls"], results.corpus, "benchmark")
        model = results.models.language_model(ledger)
        answers = answer_questions(queries, contexts, model, settings.answer.max_words)
        texts = answers.rows.select(["query_id", "text"]).to_pylist()
        found[method] = {
            row["query_id"]: rouge(row["text"], results.questions[row["query_id"]]["references"])
            for row in texts
        }
    return found


def comparison(results: Results, scores: Mapping[str, Scores], title: str) -> list[Measurement]:
    """ROUGE of every method, a table for each kind of question and part of the documents."""
    first, second = results.halves
    tables = []
    for kind in sorted({row["kind"] for row in results.questions.values()}):
        for name, part in {"second half": second, "all": first | second}.items():
            asked = [
                query_id
                for query_id, row in sorted(results.questions.items())
                if row["kind"] == kind and row["document_id"] in part and row["references"]
            ]
            if asked:
                rows = [_compared(method, scores, asked) for method in scores]
                rows.sort(key=lambda row: row[1], reverse=True)
                tables.append(
                    Measurement(
                        title=f"{results.corpus}: {kind} questions, {title}, {name}",
                        notes=f"{len(asked)} questions of {len(part)} documents; percent.",
                        header=("method", *METRICS, *(f"{m} - {BASELINE}" for m in METRICS)),
                        rows=rows,
                    )
                )
    return tables


def _compared(method: str, scores: Mapping[str, Scores], asked: Sequence[str]) -> list[str]:
    def values(of: str, metric: str) -> np.ndarray:
        return 100 * np.array([scores[of][query_id][metric] for query_id in asked])

    cells = [method, *(_interval(values(method, metric)) for metric in METRICS)]
    if method == BASELINE or BASELINE not in scores:
        return [*cells, *("" for _ in METRICS)]
    gained = (values(method, metric) - values(BASELINE, metric) for metric in METRICS)
    return [*cells, *(_interval(values, "+") for values in gained)]


def _interval(values: np.ndarray, sign: str = "") -> str:
    low, high = intervals(values)[0]
    return f"{values.mean():{sign}.2f} ±{(high - low) / 2:.2f}"


def main() -> None:
    """Print source ranks and ROUGE; with --json also keep every question's scores."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.gor_quality", description=__doc__)
    parser.add_argument("--home", type=Path, required=True, help="a home that `gsum run` filled")
    parser.add_argument("--corpus", default="qmsum", help="a corpus of it")
    parser.add_argument("--methods", help="comma-separated; all that have scores unless given")
    parser.add_argument("--json", type=Path, help="file for the scores of every question")
    chosen = parser.parse_args()
    results = Results(chosen.home, chosen.corpus)
    source_ranks(results).show()
    methods = chosen.methods.split(",") if chosen.methods else results.methods("scores")
    kept = {
        "as stored": stored_scores(results, methods),
        f"{BUDGET:,} word pieces": scores_within(results, methods, BUDGET),
    }
    for title, scores in kept.items():
        for table in comparison(results, scores, title):
            table.show()
    if chosen.json:
        chosen.json.write_text(json.dumps(kept), encoding="utf-8")


if __name__ == "__main__":
    main()
