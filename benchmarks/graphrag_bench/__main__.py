"""When graphs help over plain retrieval: GraphRAG-Bench, medical, by its four types of question.

    GSUM_DATASETS=../shared/datasets python -m benchmarks.graphrag_bench --home HOME --store

HOME is a folder of the benchmark's own, made by the first run and continued by the next. It gets
the corpus with a fixed random sample of each type's questions (`--sample`, drawn by seed 0 from the
chosen split), and `gsum run` answers them by every method, with the embedded models and the
defaults.

Each method is compared with plain retrieval (bm25, dense, hybrid) that reads, question by question,
as many tokens as the texts that the method's answer depends on have (`context_tokens` of the
leaderboard), up to the 100 passages of a ranking: best passages first, the last one cut.
Of the three the one with the higher mean is taken, type by type and metric by metric, which favours
plain retrieval a little. ROUGE-L is F1 against the reference answer. Coverage is the share of the
reference's distinct stemmed content words that occur in what the answer was written from: what
no answerer could make up for. p-values are those of paired sign-flip tests, adjusted for all
methods and types of a metric (Holm). Tokens are word pieces.

The choices were made on `dev`. `--split test` measures the half that is kept aside.
"""

from pathlib import Path

from benchmarks import Measurement
from benchmarks.graphrag_bench.home import CORPUS, GRAPHS, PLAIN, answer_all, rows_of, texts_read
from benchmarks.graphrag_bench.reading import PlainReader, Scorer
from benchmarks.graphrag_bench.tables import KINDS, Results, tables
from benchmarks.results import parser_of, publish
from gsum_assets.workspace import Workspace


def measure(workspace: Workspace, split: str) -> list[Measurement]:
    """Return the differences in short, and a table for each type of question."""
    queries = rows_of(workspace, "queries").to_pylist()
    scorer = Scorer(queries)
    reader = PlainReader(workspace, scorer)
    methods = {
        name: scorer.score(rows_of(workspace, "summaries", name), texts_read(workspace, name))
        for name in (*PLAIN, *GRAPHS)
    }
    controls = {}
    for name in GRAPHS:
        budgets = {query_id: one.read for query_id, one in methods[name].items()}
        controls[name] = {plain: reader.answer(plain, budgets) for plain in PLAIN}
    asked: dict[str, list[str]] = {}
    for row in sorted(queries, key=lambda row: KINDS.index(row["kind"])):
        asked.setdefault(row["kind"], []).append(row["query_id"])
    documents = rows_of(workspace, "documents").num_rows
    notes = f"{CORPUS}, {documents} guides, split {split}; ROUGE-L and coverage in percent."
    return tables(Results(asked, methods, controls), notes)


def main() -> None:
    """Answer, compare, print and store."""
    parser = parser_of(__doc__)
    parser.add_argument("--home", type=Path, required=True, help="folder of its own")
    parser.add_argument("--sample", type=int, default=40, help="questions of each type at most")
    parser.add_argument("--split", choices=("dev", "test"), default="dev")
    chosen = parser.parse_args()
    workspace = answer_all(chosen.home, chosen.split, chosen.sample)
    name = "graphrag_bench" if chosen.split == "dev" else "graphrag_bench-test"
    publish(name, measure(workspace, chosen.split), chosen.store)


if __name__ == "__main__":
    main()
