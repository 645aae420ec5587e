"""Cost of indexing up to a million chunks, and of one document more; superlinear steps.

    OMP_NUM_THREADS=1 python -m benchmarks.growing size --chunks 10000 100000

Documents are generated (`generated.py`), chunks have at most 128 word pieces. Each run is a process
of its own, with checks; methods are those of a new corpus unless others are named. Vectors are sums
of words' random directions, and answers the first words of the passages, unless the packaged models
are requested: then embedding alone takes an hour and a half of a processor. At the end, questions
are searched for one at a time by retrievers that are loaded.
"""

import json
import math
import os
import statistics
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa

from benchmarks import Measurement
from benchmarks.growing.generated import document, write_corpus
from benchmarks.growing.measured import Usage, run_measured
from benchmarks.results import parser_of, publish

SIZES = (3_000, 10_000, 30_000, 100_000)
CORPUS = "generated"
METHODS = ("bm25", "dense", "hybrid", "passage_walk", "evidence")
N_QUESTIONS = 20
_CHUNKS_PER_DOCUMENT = 36.7  # of 3,000 words in chunks of 128 word pieces
_TOLD = "told.json"
_SETTINGS = """\
[chunking]
max_tokens = 128
overlap_tokens = 16

[scores]
bertscore = false
"""
MARKED = 1.2
"""Exponent above which a step is marked."""

_SEARCHED = (
    "bm25",
    "dense",
    "hybrid",
    "passage_walk",
    "evidence",
)  # methods whose warm questions are timed
_SHOWN = 0.01  # share of the run's seconds from which a step has a row of its own


class Run(NamedTuple):
    """Cost and output of one run.

    Attributes
    ----------
    usage : of its process, loading included.
    steps : `wall_s`, `cpu_s` and `peak_mib` by step.
    rows : written, by asset.
    calls : requests to a language model and batches of texts embedded or scored, by asset.
    tables : number written.
    embedded : texts that no memo had.
    scored : pairs that no memo had.
    stored_mib, files : of each folder of the warehouse, and of Dagster's home.
    """

    usage: Usage
    steps: dict[str, dict[str, float]]
    rows: dict[str, int]
    calls: dict[str, int]
    tables: int
    embedded: int
    scored: int
    stored_mib: dict[str, float]
    files: dict[str, int]


class Size(NamedTuple):
    """The index of a corpus, and the run after one document more."""

    n_chunks: int
    full: Run
    one_more: Run
    warm_ms: dict[str, list[float]]


def measure(
    sizes: Sequence[int],
    packaged: bool,
    home: Path | None = None,
    methods: Sequence[str] = METHODS,
    buckets: int | None = None,
) -> list[Measurement]:
    """Measure the cost of each size.

    Parameters
    ----------
    sizes : chunks, about.
    packaged : use the packaged models.
    home : where to work and what to leave there; None: in a temporary folder.
    methods : methods that are indexed.
    buckets : buckets of each corpus; None: by its size.
    """
    with tempfile.TemporaryDirectory() as temporary:
        root = home or Path(temporary)
        found = []
        for n in sizes:
            found.append(_measured(root / f"{n}", n, packaged, methods, buckets))
            for name, table in (("index", found[-1].full), ("one more", found[-1].one_more)):
                print(
                    f"{found[-1].n_chunks:,} chunks, {name}: {_described(table)}", file=sys.stderr
                )
    models = "packaged models" if packaged else "vectors of words, first words"
    return [
        by_step(found, "full", f"Index of all, {models}"),
        by_step(found, "one_more", f"One document more, {models}"),
        totals(found),
        warm(found),
        stored(found[-1]),
    ]


def by_step(found: Sequence[Size], of: str, title: str) -> Measurement:
    """A row a step: seconds of processors and peak at each size, and how fast they grow."""
    runs = [(size.n_chunks, getattr(size, of)) for size in found]
    last = runs[-1][1].steps
    least = _SHOWN * sum(step["cpu_s"] for step in last.values())
    rows = []
    for step in sorted(last, key=lambda step: -last[step]["cpu_s"]):
        if last[step]["cpu_s"] < least:
            continue
        taken = [run.steps.get(step, {}) for _, run in runs]
        rows.append(
            [
                step.replace("__", "/"),
                *(f"{one.get('cpu_s', 0):.1f}" for one in taken),
                _exponent([n for n, _ in runs], [one.get("cpu_s", 0) for one in taken]),
                *(f"{one.get('peak_mib', 0):,.0f}" for one in taken),
                _exponent([n for n, _ in runs], [one.get("peak_mib", 0) for one in taken]),
                f"{runs[-1][1].rows.get(step.replace('__', '/'), 0):,}",
                f"{runs[-1][1].calls.get(step.replace('__', '/'), 0):,}",
            ]
        )
    sizes = [f"{n:,}" for n, _ in runs]
    header = ["step", *(f"s at {n}" for n in sizes), "exponent"]
    header += [*(f"MiB at {n}" for n in sizes), "exponent", "rows", "calls"]
    return Measurement(
        title,
        "Seconds of the processor, and largest memory of the process meanwhile; the exponent is of "
        "the power of the number of chunks that they grow by, fitted to all sizes; ! marks those "
        f"above {MARKED}. Rows written and calls of models at the last size. Steps of "
        f"{100 * _SHOWN:.0f}% of the seconds or more at the last size.",
        header,
        rows,
    )


def totals(found: Sequence[Size]) -> Measurement:
    """Two rows a size."""
    rows = []
    for size in found:
        for name, run in (("index", size.full), ("one document more", size.one_more)):
            rows.append(
                [
                    f"{size.n_chunks:,}",
                    name,
                    *(f"{value:,.0f}" for value in run.usage[:3]),
                    f"{run.tables}",
                    f"{sum(run.rows.values()):,}",
                    f"{run.embedded:,}",
                    f"{run.scored:,}",
                    f"{sum(run.stored_mib.values()):,.0f}",
                    f"{sum(run.files.values()):,}",
                ]
            )
    return Measurement(
        "What a run takes",
        "Seconds of the whole process, loading included.",
        [
            *("chunks", "run", "s", "processor, s", "peak, MiB", "tables", "rows written"),
            *("embedded", "pairs scored", "stored, MiB", "files"),
        ],
        rows,
    )


def warm(found: Sequence[Size]) -> Measurement:
    """A row a method."""
    rows = [
        [
            method,
            *(
                f"{statistics.median(size.warm_ms[method]):.0f} ({max(size.warm_ms[method]):.0f})"
                for size in found
            ),
        ]
        for method in found[-1].warm_ms
    ]
    return Measurement(
        "A question to loaded retrievers",
        "Milliseconds elapsed to score and rank a question over the whole corpus, median and in "
        "brackets the maximum.",
        ["method", *(f"ms at {size.n_chunks:,}" for size in found)],
        rows,
    )


def stored(size: Size) -> Measurement:
    """A row a folder of the store."""
    run = size.full
    rows = [
        [name, f"{mib:,.1f}", f"{run.files[name]:,}"]
        for name, mib in sorted(run.stored_mib.items(), key=lambda pair: -pair[1])
        if mib >= 0.1
    ]
    return Measurement(f"Store of {size.n_chunks:,} chunks", "", ["folder", "MiB", "files"], rows)


def _exponent(sizes: Sequence[int], values: Sequence[float]) -> str:
    """Of the power of the size that a value grows by, least squares of logarithms; ! if marked."""
    known = [
        (math.log(n), math.log(value)) for n, value in zip(sizes, values, strict=True) if value
    ]
    if len({n for n, _ in known}) < 2:
        return ""
    found = statistics.linear_regression(*zip(*known, strict=True)).slope
    return f"{found:.2f}{' !' if found > MARKED else ''}"


def _described(run: Run) -> str:
    """Return the cost of a run, the longest steps first."""
    lines = [f"{run.usage.wall_s:.0f} s, peak {run.usage.peak_mib:,.0f} MiB"]
    for name, step in sorted(run.steps.items(), key=lambda pair: -pair[1]["cpu_s"])[:25]:
        seconds = f"{step['wall_s']:8.1f} s {step['cpu_s']:8.1f} s CPU"
        lines.append(f"  {seconds} {step['peak_mib']:7,.0f} MiB  {name}")
    return "\n".join(lines)


def _measured(
    root: Path, n: int, packaged: bool, methods: Sequence[str], buckets: int | None
) -> Size:
    n_documents = max(1, round(n / _CHUNKS_PER_DOCUMENT))
    folder = root / "corpora" / CORPUS
    write_corpus(folder, n_documents, N_QUESTIONS)
    number = f"buckets = {buckets}\n\n" if buckets else ""
    (folder / "corpus.toml").write_text(number + _SETTINGS)
    index = _run(root, packaged, methods)
    print(f"{n:,} chunks, index: {_described(index)}", file=sys.stderr, flush=True)
    added = document(n_documents, n_documents)
    (folder / f"{added.document_id}.txt").write_text(added.text)
    one_more = _run(root, packaged, methods)
    _child(root, ["--warm", "--methods", *methods])
    warm_ms = json.loads((root / _TOLD).read_text())
    return Size(index.rows["chunks"], index, one_more, warm_ms)


def _child(root: Path, arguments: Sequence[str]) -> Usage:
    """Run this module in a process of its own."""
    environment = {name: "" for name in os.environ if name.startswith("GSUM_")}
    environment |= {"GSUM_HOME": str(root), "DAGSTER_HOME": str(root / "dagster")}
    command = [sys.executable, "-m", "benchmarks.growing.size", *arguments]
    return run_measured(command, environment, Path.cwd(), root / "run.log")


def _run(root: Path, packaged: bool, methods: Sequence[str]) -> Run:
    """Bring the corpus up to date in a process of its own."""
    models = ["--packaged"] if packaged else []
    usage = _child(root, ["--run", *models, "--methods", *methods])
    recorded = json.loads((root / _TOLD).read_text())
    folders = [*(root / "warehouse").iterdir(), root / "dagster"]
    sizes = {folder.name: [f.stat().st_size for f in _files(folder)] for folder in folders}
    return Run(
        usage,
        **recorded,
        stored_mib={name: sum(lengths) / 2**20 for name, lengths in sizes.items()},
        files={name: len(lengths) for name, lengths in sizes.items()},
    )


def _files(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


def _refresh(packaged: bool, methods: Sequence[str]) -> None:
    """In the child: bring the corpus up to date, and leave word of what it took."""
    # these read the environment when imported
    from benchmarks.growing.generated import WordVectors
    from benchmarks.growing.meter import StepMeter
    from gsum_assets.pipeline.tables import TABLES, table_of
    from gsum_assets.runner.run import pipeline_for, refresh
    from gsum_resources.dagster_io.instance import open_instance
    from gsum_resources.models.by_work import Models
    from gsum_resources.settings.home import Home
    from gsum_resources.store.appended import read_appended
    from gsum_resources.store.parquet_store import ParquetStore
    from tests.models import FirstWords

    meter = StepMeter()
    home = Home.from_environment()
    store = ParquetStore(home.warehouse)
    overrides = {"embedding_model": WordVectors(), "language_model": FirstWords()}
    models = Models(
        home.settings(), store, TABLES["llm_calls"], {} if packaged else dict(overrides)
    )

    def embedded() -> dict[str, int]:
        rows = read_appended(store, TABLES["embedding_calls"], CORPUS).to_pylist()
        counts = {"embedded": 0, "scored": 0}
        for row in rows:
            scores = row["asset"] == "lightpal/context_scores"
            counts["scored" if scores else "embedded"] += row["n_texts"]
        return counts

    def called() -> Counter[str]:
        calls: Counter[str] = Counter()
        for ledger in ("llm_calls", "embedding_calls"):
            calls.update(read_appended(store, TABLES[ledger], CORPUS)["asset"].to_pylist())
        return calls

    before, calls_before = embedded(), called()
    pipeline = pipeline_for(home, models)
    with open_instance(home) as instance, meter.watching(instance):
        report = refresh(pipeline, instance, CORPUS, methods)
    if not report.is_complete:
        raise RuntimeError([*report.errors, *report.gaps][0])
    rows = {asset: store.count(table_of(asset.split("/")), CORPUS) for asset in report.written}
    recorded = {"steps": meter.report(), "rows": rows, "tables": len(rows)}
    recorded["calls"] = dict(called() - calls_before)
    recorded |= {name: n - before[name] for name, n in embedded().items()}
    (home.root / _TOLD).write_text(json.dumps(recorded))


def _ask_warm(methods: Sequence[str]) -> None:
    """In the child: search for each question alone, and leave word of the milliseconds."""
    from gsum_assets.evidence.network import load_network
    from gsum_assets.evidence.rank import rank
    from gsum_assets.evidence.sentence_index import sentence_index
    from gsum_assets.evidence.settings import CandidateSettings
    from gsum_assets.lightpal.rank import PassageSearch, Tables
    from gsum_assets.lightpal.settings import RetrievalSettings
    from gsum_assets.pipeline.tables import TABLES
    from gsum_assets.retrieval.collection import Collection, Questions
    from gsum_assets.retrieval.loading import text_digests
    from gsum_assets.retrieval.methods import RETRIEVERS
    from gsum_assets.retrieval.ranking import Retriever, rank_questions
    from gsum_assets.retrieval.words import Words
    from gsum_resources.scoring.unigram import UnigramScorer
    from gsum_resources.settings.home import Home
    from gsum_resources.store.array_cache import ArrayCache
    from gsum_resources.store.lazy import lazy_rows
    from gsum_resources.store.parquet_store import ParquetStore

    home = Home.from_environment()
    store = ParquetStore(home.warehouse)

    def read(name: str, columns: Sequence[str] = (), texts: Sequence[str] = ()) -> pa.Table:
        table = TABLES[name]
        return store.read(table, store.partitions(table, CORPUS), columns, texts)[0]

    chunks = read("chunks", ["chunk_id", "document_id", "position", "start", "text"])
    collection = Collection.from_tables(
        read("documents", ["document_id", "text"]), chunks, read("chunk_embeddings")
    )
    collection = replace(
        collection,
        cache=ArrayCache(store, CORPUS),
        text_digests=text_digests(collection, chunks),
    )
    del chunks
    questions = Questions.from_tables(read("queries"), read("query_embeddings"))
    on_all = [i for i, document in enumerate(questions.document_ids) if document is None]
    recorded: dict[str, list[float]] = {}
    for method in filter(_SEARCHED.__contains__, methods):
        if method == "evidence":
            own = TABLES["evidence.sentences"]
            found = rank(
                collection,
                sentence_index(
                    lazy_rows(store, own, store.partitions(own, CORPUS)),
                    len(collection.chunk_ids),
                    collection.cache,
                ),
                questions.take(on_all),
                [questions.texts[index] for index in on_all],
                load_network("graph"),
                Words("en"),
                CandidateSettings().n,
                time.perf_counter,
                load_network("own"),
            ).rankings
            latencies = {row["query_id"]: row["latency_s"] for row in found.to_pylist()}
            recorded[method] = [1000 * seconds for seconds in latencies.values()][1:]
            continue
        if method == "passage_walk":
            texts = ("graph", "level", "scope", "source_id")
            of_walks = read("lightpal.walk_trust"), read("lightpal.communities")
            tables = Tables(read("lightpal.passage_edges", (), texts), *of_walks)
            search = PassageSearch(
                method, collection, tables, "en", RetrievalSettings(), UnigramScorer, 1
            )
            retriever: Retriever = search.retriever(collection)
            del tables, search
        else:
            retriever = RETRIEVERS[method](collection, Words("en"))
        milliseconds = []
        for index in [on_all[0], *on_all]:  # the first loads what is computed when it is needed
            started = time.perf_counter()
            rank_questions(lambda _, found=retriever: found, questions.take([index]), collection)
            milliseconds.append(1000 * (time.perf_counter() - started))
        recorded[method] = milliseconds[1:]
    (home.root / _TOLD).write_text(json.dumps(recorded))


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the tables."""
    parser = parser_of(__doc__, "python -m benchmarks.growing size")
    parser.add_argument("--chunks", type=int, nargs="+", default=SIZES, help="sizes, ascending")
    parser.add_argument("--packaged", action="store_true", help="use the packaged models")
    parser.add_argument("--home", type=Path, help="work here and leave it")
    parser.add_argument("--methods", nargs="+", default=METHODS, help="methods to index")
    parser.add_argument("--buckets", type=int, help="buckets of each corpus; unset: by its size")
    parser.add_argument("--warm", action="store_true", help="in a child: search, and tell of it")
    parser.add_argument("--run", action="store_true", help="in a child: run, and tell of it")
    chosen = parser.parse_args(arguments)
    if chosen.run:
        _refresh(chosen.packaged, chosen.methods)
        return
    if chosen.warm:
        _ask_warm(chosen.methods)
        return
    name = "growing-size-packaged" if chosen.packaged else "growing-size"
    measured = measure(chosen.chunks, chosen.packaged, chosen.home, chosen.methods, chosen.buckets)
    publish(name, measured, chosen.store)


if __name__ == "__main__":
    main()
