"""Cost of a change compared with a full index, over the index of every method.

    GSUM_DATASETS=../shared/datasets python -m benchmarks.growing change

ODSum-Story with the embedded models, each run a process of its own. The index is every asset that
is materialized before a question. Between two runs a document is edited, ten are added (beginnings
of QMSum meetings, as long as a section of a story) and ten deleted.
"""

import json
import os
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import duckdb

from benchmarks import Measurement, required
from benchmarks.growing.measured import Usage, run_measured
from benchmarks.results import parser_of, publish
from gsum_assets.corpus.importers import import_benchmark
from gsum_assets.evaluation.costs import is_of_index
from gsum_assets.pipeline.tables import TABLES, table_of
from gsum_assets.registry.declared import Declared
from gsum_assets.registry.families import METHODS as ALL_METHODS
from gsum_resources.settings.home import Home
from gsum_resources.store.appended import APPENDED, read_appended
from gsum_resources.store.parquet_store import ParquetStore

CORPUS = "stories"
_N = 10  # documents added and deleted
_SECTION_CHARACTERS = 3500  # the mean section of ODSum-Story
METHODS = ("default", "gae", "graphrag-c0", "jerr", "readagent")  # one of each index
_MADE = "made.json"
_AFTERWARDS = ("win_rates", "comparisons", "costs", "leaderboard")
_SCORES_PAIRS = "lightpal/context_scores"  # its rows of `embedding_calls` count pairs, not texts
# networks are trained and judged by questions
_BEFORE = ("generated_questions", "queries", "query_embeddings")


class Cost(NamedTuple):
    """Cost of one run.

    Attributes
    ----------
    usage : of its process, loading included.
    calls : requests that the language model answered, by asset.
    embeddings : texts embedded.
    pairs : pairs of passages scored.
    written : partitions written, and rows in them, by asset.
    seconds : wall and processor time by step, and between steps.
    changed : rows with another content than any row before, by table.
    n_stored : rows in the tables of the indexes afterwards.
    """

    usage: Usage
    calls: Counter[str]
    embeddings: int
    pairs: int
    written: dict[str, tuple[int, int]]
    seconds: dict[str, tuple[float, float]]
    changed: dict[str, int]
    n_stored: int

    @property
    def n_rows(self) -> int:
        """Rows in the partitions that were written."""
        return sum(rows for _, rows in self.written.values())

    @property
    def n_calls(self) -> int:
        """Requests that the language model answered."""
        return self.calls.total()


def measure(
    home: Path | None = None,
    n_documents: int | None = None,
    n_edits: int | None = None,
    settings: str = "",
    methods: Sequence[str] = METHODS,
    is_hashed: bool = False,
) -> Measurement:
    """Return one row per change, after the full index.

    Parameters
    ----------
    n_documents : of ODSum-Story, the first; None: all.
    home : where to work and what to leave there; None: in a temporary folder.
    n_edits : edit so many documents, one after the other, instead of all changes.
    settings : lines for `corpus.toml`.
    methods : methods that are indexed.
    is_hashed : whether vectors are of hashed words instead of the embedding model.
    """
    with tempfile.TemporaryDirectory() as temporary:
        root = home or Path(temporary)
        _import(root, settings)
        changes: list[tuple[str, Callable[[list[dict]], list[dict]]]] = [
            ("index of all", lambda rows: rows[:n_documents]),
            ("nothing changed", lambda rows: rows),
            ("blanks at the end of one", _blanks_at_the_end),
            ("1 document edited", _edit(0, 1)),
            (f"{_N} added", lambda rows: [*rows, *_added(root)]),
            (f"{_N} deleted", lambda rows: rows[_N:]),
        ]
        if n_edits is not None:
            edits = [(f"edit {i + 1}", _edit(i, n_edits)) for i in range(n_edits)]
            changes = [changes[0], *edits]
        costs = []
        for name, change in changes:
            _rewrite(root, change)
            costs.append((name, _run(root, methods, is_hashed)))
            print(_described(name, costs[-1][1]), file=sys.stderr, flush=True)
    return Measurement(
        "A change beside the index of all, ODSum-Story",
        f"{_taken(n_documents)}, methods {', '.join(methods)}, "
        f"{'vectors of hashed words' if is_hashed else 'embedded models'}. Each row is a "
        "process of its own, loading Python and its libraries included; in brackets percent of the "
        "rows of all indexes.",
        [
            "",
            "s",
            "processor, s",
            "peak, MiB",
            "rows written",
            "changed",
            "calls",
            "embedded",
            "pairs scored",
        ],
        [_row(name, cost) for name, cost in costs],
    )


def _taken(n_documents: int | None) -> str:
    return f"The first {n_documents} documents" if n_documents else "All documents"


def _row(name: str, cost: Cost) -> list[str]:
    def of_all(n: int) -> str:
        return f"{n:,} ({100 * n / max(1, cost.n_stored):.1f})"

    return [
        name,
        f"{cost.usage.wall_s:,.0f}",
        f"{cost.usage.cpu_s:,.0f}",
        f"{cost.usage.peak_mib:,.0f}",
        of_all(cost.n_rows),
        of_all(sum(cost.changed.values())),
        f"{cost.n_calls:,}",
        f"{cost.embeddings:,}",
        f"{cost.pairs:,}",
    ]


def _described(name: str, cost: Cost) -> str:
    """Where the time of a run went."""
    requests = f"{cost.n_calls} calls, {cost.embeddings} texts embedded, {cost.pairs} pairs scored"
    lines = [
        f"{name}: {cost.usage.wall_s:.0f} s, of the processor {cost.usage.cpu_s:.0f}, {requests}"
    ]
    for step, (wall, processor) in sorted(cost.seconds.items(), key=lambda pair: -pair[1][0]):
        lines.append(f"  {wall:8.1f} s, of the processor {processor:8.1f}  {step}")
    lines += [f"  {n:5} calls  {asset}" for asset, n in cost.calls.most_common()]
    for asset, (n, rows) in cost.written.items():
        changed = cost.changed[table_of(asset.split("/")).name]
        figures = f"{rows:9,} rows, {changed:9,} changed"
        lines.append(f"  {n:4} partitions {figures}  {asset}")
    return "\n".join(lines)


def _import(root: Path, settings: str) -> None:
    corpora = root / "corpora"
    if not (corpora / CORPUS).exists():
        import_benchmark("odsum-story", required("odsum", "story"), corpora, CORPUS)
        with (corpora / CORPUS / "corpus.toml").open("a") as file:
            file.write(f"\n{settings}\n")
        import_benchmark("qmsum", required("qmsum"), root / "imported", "qmsum")


def _rewrite(root: Path, change: Callable[[list[dict]], list[dict]]) -> None:
    file = root / "corpora" / CORPUS / "documents.jsonl"
    file.write_text("".join(f"{json.dumps(row)}\n" for row in change(_rows(file))))


def _rows(file: Path) -> list[dict]:
    return [json.loads(line) for line in file.read_text().splitlines()]


def _blanks_at_the_end(rows: list[dict]) -> list[dict]:
    middle = len(rows) // 2
    rows[middle]["text"] += " \n\n"
    return rows


def _edit(number: int, n: int) -> Callable[[list[dict]], list[dict]]:
    """Return a function that puts a sentence into the middle of a document, edit `number` of n."""

    def edited(rows: list[dict]) -> list[dict]:
        row = rows[(number + 1) * len(rows) // (n + 2)]
        text = row["text"]
        half = text.index(". ", len(text) // 2) + 2
        row["text"] = f"{text[:half]}The budget is four hundred euros. {text[half:]}"
        return rows

    return edited


def _added(root: Path) -> list[dict]:
    meetings = _rows(root / "imported" / "qmsum" / "documents.jsonl")[:_N]
    return [
        {"document_id": row["document_id"], "text": row["text"][:_SECTION_CHARACTERS]}
        for row in meetings
    ]


def _run(root: Path, methods: Sequence[str], is_hashed: bool) -> Cost:
    """Bring the indexes up to date in a process of its own."""
    environment = {"GSUM_HOME": str(root)}
    os.environ.pop("GSUM_DATASETS", None)
    store = ParquetStore(str(root / "warehouse"))
    before, rows_before = _requests(store), _rows_of(store)
    command = [sys.executable, "-m", "benchmarks.growing.change", "--index"]
    command += ["--methods", *methods, *(["--hashed"] if is_hashed else [])]
    usage = run_measured(command, environment, Path.cwd(), root / "run.log")
    after, rows_after = _requests(store), _rows_of(store)
    made: dict[str, Any] = json.loads((root / _MADE).read_text())
    written: dict[str, tuple[int, int]] = {}
    for asset, *figures in made["rows"]:
        known = written.get(asset, (0, 0))
        n_partitions, n_rows = map(sum, zip(known, figures, strict=True))
        written[asset] = n_partitions, n_rows
    seconds = {step: (spent["wall_s"], spent["cpu_s"]) for step, spent in made["steps"].items()}
    return Cost(
        usage,
        after.calls - before.calls,
        after.embeddings - before.embeddings,
        after.pairs - before.pairs,
        written,
        seconds,
        {
            name: (rows - rows_before.get(name, Counter())).total()
            for name, rows in rows_after.items()
        },
        sum(rows.total() for name, rows in rows_after.items() if is_of_index(TABLES[name])),
    )


def _rows_of(store: ParquetStore) -> dict[str, Counter[int]]:
    """Return how often each row occurs, by its hash, without measured columns, by table."""
    found = {}
    for name, table in TABLES.items():
        kept = None if name in APPENDED else store.read(table, store.partitions(table, CORPUS))[0]
        if kept is not None:
            rows = kept.select([c for c in kept.column_names if c not in table.ignored_by_hash])
            hashes = duckdb.sql("SELECT hash(rows) FROM rows").fetchnumpy()
            found[name] = (
                Counter(next(iter(hashes.values())).tolist()) if rows.num_rows else Counter()
            )
    return found


class _Requests(NamedTuple):
    """Requests answered by a model by asset, texts embedded, pairs scored, since the beginning."""

    calls: Counter[str]
    embeddings: int
    pairs: int


def _requests(store: ParquetStore) -> _Requests:
    calls = read_appended(store, TABLES["llm_calls"], CORPUS).to_pylist()
    batches = read_appended(store, TABLES["embedding_calls"], CORPUS).to_pylist()
    counts = Counter[bool]()
    for batch in batches:
        counts[batch["asset"] == _SCORES_PAIRS] += batch["n_texts"]
    answered = Counter(call["asset"] for call in calls if not call["cached"])
    return _Requests(answered, counts[False], counts[True])


def _index(methods: Sequence[str], is_hashed: bool) -> None:
    """In the child: make what is due of the indexes, and leave word of it."""
    # these read the environment when imported
    from benchmarks.growing.generated import WordVectors
    from benchmarks.growing.meter import StepMeter
    from gsum_assets.corpus import observe
    from gsum_assets.refresh.inputs import Run
    from gsum_assets.refresh.staleness import Staleness
    from gsum_assets.refresh.step import refresh_step
    from gsum_assets.runner.run import pipeline_for
    from gsum_resources.llm.extractive import ExtractiveModel
    from gsum_resources.models.by_work import Models

    home = Home.from_environment()
    vectors = WordVectors()
    hashed = {"embedding_model": vectors, "language_model": ExtractiveModel(vectors)}
    store = ParquetStore(home.warehouse)
    given = hashed if is_hashed else {}
    models = Models(home.settings(), store, TABLES["llm_calls"], dict(given))
    workspace = pipeline_for(home, models).workspace
    kept = ALL_METHODS.wanted(home.corpora, CORPUS, methods)
    rows, meter = [], StepMeter()
    observe.sources(store, home.corpora, CORPUS)
    with meter.sampling():
        for declared in Staleness(workspace, CORPUS, frozenset(kept)).due():
            if not _is_measured(declared):
                continue
            with meter.step(declared.name):
                done = refresh_step(workspace, declared, CORPUS, kept, Run())
            done.raise_failed()
            for asset in declared.assets if done.written else ():
                table = table_of(asset.split("/"))
                footers = store.footers(table, done.written).values()
                rows.append((asset, len(done.written), sum(footer.rows for footer in footers)))
    recorded = {"rows": rows, "steps": meter.report()}
    (home.root / _MADE).write_text(json.dumps(recorded))


def _is_measured(declared: Declared) -> bool:
    """Return whether a step runs before an answer, or makes its training questions."""
    return any(
        asset in _BEFORE or (asset not in _AFTERWARDS and is_of_index(table_of(asset.split("/"))))
        for asset in declared.assets
    )


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the table."""
    parser = parser_of(__doc__, "python -m benchmarks.growing change")
    parser.add_argument("--index", action="store_true", help="in a child: run, and tell of it")
    parser.add_argument("--home", type=Path, help="work here and leave it")
    parser.add_argument("--documents", type=int, help="take the first of them")
    parser.add_argument("--edits", type=int, help="only edit so many documents, one by one")
    parser.add_argument("--settings", default="", help="lines for corpus.toml, separated by ';'")
    parser.add_argument("--methods", nargs="+", default=METHODS, help="index these")
    parser.add_argument("--hashed", action="store_true", help="vectors of hashed words")
    chosen = parser.parse_args(arguments)
    if chosen.index:
        _index(chosen.methods, chosen.hashed)
    else:
        lines = chosen.settings.replace(";", "\n")
        found = measure(
            chosen.home, chosen.documents, chosen.edits, lines, chosen.methods, chosen.hashed
        )
        publish("growing-change", found, chosen.store)


if __name__ == "__main__":
    main()
