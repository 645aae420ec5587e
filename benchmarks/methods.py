"""All methods of a home on the same questions: answers, and what they were written from.

    export GSUM_HOME=HOME
    gsum import qmsum ../shared/datasets/qmsum/val.jsonl.gz --corpus qmsum-val
    gsum import squality ../shared/datasets/squality/dev.jsonl.gz --corpus squality-dev
    gsum run qmsum-val squality-dev --methods all --k 1,3,6,10,20
    python -m benchmarks.methods --home HOME

Of a corpus of two splits, as trained methods need one, the questions of `--split` are compared. A
method of another corpus of the same documents joins with `--also METHOD=CORPUS`: questions have the
same ids there. Differences are paired with `dense`; upper bounds are named `oracle-…`.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np

from benchmarks import Measurement
from benchmarks.results import interval, parser_of, publish
from gsum.statistics import compare, intervals
from gsum_assets.evaluation.comparisons import ALL
from gsum_assets.evaluation.curves import main_scores
from gsum_assets.plots.main_metrics import shown_value
from gsum_assets.tables import TABLES
from gsum_resources.parquet_store import ParquetStore

BASELINE = "dense"
MAIN = "rouge1"
BESIDE = ("rouge2", "rougeL", "context_p", "context_r", "context_tokens", "coverage")
HEADER = ["method", "n", "ROUGE-1", "less that of dense", "p", "ROUGE-2", "ROUGE-L"]
HEADER += ["read P", "read R", "tokens read", "coverage"]
CURVE = (MAIN, "rougeL", "context_p", "context_r", "context_tokens")
Scores = dict[str, dict[str, dict[str, float]]]
"""By metric, method and question."""


def scores_of(store: ParquetStore, corpus: str, methods: Sequence[str] | None = None) -> Scores:
    """Return the stored scores of the answers of a corpus, of these methods or of all."""
    table = TABLES["scores"]
    found: Scores = {}
    for partition in store.partitions(table, corpus):
        if methods is None or partition.method in methods:
            for row in main_scores(store.read(table, [partition])[0]).to_pylist():
                own = found.setdefault(row["metric"], {}).setdefault(partition.method or "", {})
                own[row["query_id"]] = row["value"]
    return found


def questions_of(store: ParquetStore, corpus: str, split: str) -> dict[str, list[str]]:
    """Ids of the questions of a split, by kind."""
    rows = store.read(TABLES["queries"], store.partitions(TABLES["queries"], corpus))[0]
    found: dict[str, list[str]] = {}
    for row in rows.select(["query_id", "kind", "split"]).to_pylist():
        if split in (ALL, row["split"]):
            found.setdefault(row["kind"], []).append(row["query_id"])
    return dict(sorted(found.items()))


def board(corpus: str, kind: str, query_ids: Sequence[str], scores: Scores) -> Measurement:
    """A row a method, best first."""
    answered = {method: own for method, own in scores[MAIN].items() if set(own) & set(query_ids)}
    rows = []
    for method, own in answered.items():
        common = [q for q in query_ids if q in own and q in answered[BASELINE]]
        values = {method: [own[q] for q in common]}
        values[BASELINE] = [answered[BASELINE][q] for q in common]
        rows.append((method, values, [_mean(scores, m, method, query_ids) for m in BESIDE]))
    rows.sort(key=lambda row: -float(np.mean(row[1][row[0]])))
    cells = _compared({method: values for method, values, _ in rows})
    return Measurement(
        f"{corpus}, {kind} questions",
        f"Percent and tokens; 95% intervals; p of sign-flip tests against {BASELINE}, adjusted for "
        "the rows (Holm); an upper bound is paired over the questions that it can be asked.",
        HEADER,
        [[method, *cells[method], *differences] for method, _, differences in rows],
    )


def _compared(values: Mapping[str, Mapping[str, Sequence[float]]]) -> dict[str, list[str]]:
    """n, mean, difference and adjusted p of each method, each over questions of its own."""
    from benchmarks.results import p_text
    from gsum.statistics import holm

    others = [method for method in values if method != BASELINE]
    found = {m: compare(values[m][m], values[m][BASELINE]) for m in others}
    adjusted = dict(zip(others, holm([one.p_value for one in found.values()]), strict=True))
    cells = {}
    for method, own in values.items():
        mean, ends = float(np.mean(own[method])), intervals(np.asarray(own[method]))[0]
        cells[method] = [str(len(own[method])), interval(mean, *ends.tolist()), "", ""]
        if method in found:
            one = found[method]
            cells[method][2] = interval(one.difference, one.low, one.high, sign="+")
            cells[method][3] = p_text(adjusted[method])
    return cells


def _mean(scores: Scores, metric: str, method: str, query_ids: Sequence[str]) -> str:
    own = scores.get(metric, {}).get(method, {})
    found = [own[q] for q in query_ids if q in own]
    return shown_value(metric, float(np.mean(found))) if found else "–"


def curve(store: ParquetStore, corpus: str, kind: str, split: str) -> Measurement | None:
    """A row a method and number of passages; None where no list of these was set."""
    table = TABLES["curves"]
    rows = store.read(table, store.partitions(table, corpus))[0].to_pylist()
    found: dict[tuple[str, int], dict[str, dict]] = {}
    for row in rows:
        if (row["kind"], row["split"]) == (kind, split):
            found.setdefault((row["method"], row["k"]), {})[row["metric"]] = row
    if not found:
        return None
    cells = []
    for (method, k), own in sorted(found.items()):
        main = own[MAIN]
        differences = [
            shown_value(metric, own[metric]["mean"]) if metric in own else "–"
            for metric in CURVE[1:]
        ]
        cells.append(
            [method, str(k), interval(main["mean"], main["low"], main["high"]), *differences]
        )
    return Measurement(
        f"{corpus}, {kind} questions, by the number of passages read",
        "Percent and tokens; 95% intervals.",
        ["method", "K", "ROUGE-1", "ROUGE-L", "read P", "read R", "tokens read"],
        cells,
    )


def measure(
    home: Path, corpora: Sequence[str], split: str, also: Mapping[str, str]
) -> Iterator[Measurement]:
    """Two tables for each corpus and kind of question: methods, and curves where there are any."""
    store = ParquetStore(str(home / "warehouse"))
    for corpus in corpora:
        scores = scores_of(store, corpus)
        for method, other in also.items():
            for metric, by_method in scores_of(store, other, [method]).items():
                scores.setdefault(metric, {}).update(by_method)
        for kind, query_ids in questions_of(store, corpus, split).items():
            yield board(corpus, kind, query_ids, scores)
            if found := curve(store, corpus, kind, split):
                yield found


def main() -> None:
    """Print the tables."""
    parser = parser_of(__doc__, "python -m benchmarks.methods")
    parser.add_argument("--home", type=Path, required=True)
    parser.add_argument("--corpora", nargs="+", default=["qmsum-val", "squality-dev"])
    parser.add_argument("--split", default=ALL)
    parser.add_argument("--also", nargs="*", default=[], metavar="METHOD=CORPUS")
    chosen = parser.parse_args()
    also = dict(pair.split("=", 1) for pair in chosen.also)
    publish("methods", measure(chosen.home, chosen.corpora, chosen.split, also), chosen.store)


if __name__ == "__main__":
    main()
