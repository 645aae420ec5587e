"""When graphs help over plain retrieval: GraphRAG-Bench, medical, by its four types of question.

    GSUM_DATASETS=../shared/datasets python -m benchmarks.graphrag_bench --home HOME --store

HOME is a folder of the benchmark, created by the first run and continued by the next. It gets
the corpus with a fixed random sample of each type's questions (`--sample`, drawn by seed 0 from the
chosen split), and `gsum run` answers them by every method, with the embedded models and the
defaults.

Each method is compared with plain retrieval that reads, question by question, as many tokens as the
texts that the method's answer depends on have (`context_tokens` of the leaderboard): best passages
first, the last one cut. Plain retrieval is the one of bm25, dense and hybrid that is best for the
type of question and the metric with its own six passages.
ROUGE-L is F1 against the reference answer. Coverage is the share of the reference's distinct
stemmed content words that occur in these texts. p-values are those of paired sign-flip tests,
adjusted for all methods and types of a metric (Holm). Tokens are word pieces.

The choices were made on `dev`. `--split test` measures the half that is kept aside.
"""

from collections.abc import Sequence
from pathlib import Path

from benchmarks import Measurement
from benchmarks.graphrag_bench.home import CORPUS, GRAPHS, PLAIN, answer_all, rows_of, texts_read
from benchmarks.graphrag_bench.reading import Answered, PlainReader, Scorer
from benchmarks.graphrag_bench.tables import KINDS, METRICS, Results, best_plain, tables
from benchmarks.results import parser_of, publish
from gsum_assets.workspace import Workspace


def measure(workspace: Workspace, split: str, compared: Sequence[str]) -> list[Measurement]:
    """Return the differences in short, and a table for each type of question.

    Parameters
    ----------
    compared : methods that are compared with plain retrieval.
    """
    queries = rows_of(workspace, "queries").to_pylist()
    scorer = Scorer(queries)
    reader = PlainReader(workspace, scorer)
    nothing: dict[str, list[str]] = {row["query_id"]: [] for row in queries}
    methods = {
        name: scorer.score(
            rows_of(workspace, "summaries", name), nothing | texts_read(workspace, name)
        )
        for name in (*PLAIN, *compared)
    }
    query_ids: dict[str, list[str]] = {}
    for row in sorted(queries, key=lambda row: KINDS.index(row["kind"])):
        query_ids.setdefault(row["kind"], []).append(row["query_id"])
    best = best_plain(query_ids, {name: methods[name] for name in PLAIN})
    controls: dict[tuple[str, str], dict[str, Answered]] = {}
    for name in compared:
        for metric in METRICS:
            controls[name, metric] = {}
            for kind, ids in query_ids.items():
                budgets = {query_id: methods[name][query_id].read for query_id in ids}
                answers = metric != "coverage"  # which is of what was read
                controls[name, metric] |= reader.answer(best[kind, metric], budgets, answers)
    documents = rows_of(workspace, "documents").num_rows
    notes = f"{CORPUS}, {documents} guides, split {split}; ROUGE-L and coverage in percent."
    return tables(Results(query_ids, methods, best, controls), notes)


def main() -> None:
    """Answer, compare, print and store."""
    parser = parser_of(__doc__)
    parser.add_argument("--home", type=Path, required=True, help="folder of its own")
    parser.add_argument("--sample", type=int, default=40, help="questions of each type at most")
    parser.add_argument("--split", choices=("dev", "test"), default="dev")
    parser.add_argument("--methods", default=",".join(GRAPHS), help="those compared, by commas")
    chosen = parser.parse_args()
    compared = chosen.methods.split(",")
    workspace = answer_all(chosen.home, chosen.split, chosen.sample, compared)
    name = "graphrag_bench" if chosen.split == "dev" else "graphrag_bench-test"
    publish(name, measure(workspace, chosen.split, compared), chosen.store)


if __name__ == "__main__":
    main()
