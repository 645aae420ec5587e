"""Cost of indexing 100,000 chunks, and of one document more; superlinear steps.

    OMP_NUM_THREADS=1 python -m benchmarks.growing size

Documents are generated (`generated.py`), chunks have at most 128 word pieces. Each run is a process
of its own, with checks; methods are the lexical and the dense baselines and `passage_walk`. Vectors
are sums of words' random directions, and answers the first words of the passages, unless the
packaged models are requested: then embedding alone takes an hour and a half of a processor.
"""

import json
import math
import os
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from benchmarks import Measurement
from benchmarks.graphrag.measured import Usage, run_measured
from benchmarks.growing.generated import document, write_corpus
from benchmarks.results import parser_of, publish

SIZES = (3_000, 10_000, 30_000, 100_000)
CORPUS = "generated"
METHODS = ("random", "bm25", "tfidf", "dense", "hybrid", "rrf", "full_context", "passage_walk")
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
_SHOWN = 0.01  # share of the run's seconds from which a step has a row of its own


class Run(NamedTuple):
    """Cost and output of one run.

    Attributes
    ----------
    usage : of its process, loading included.
    steps : `wall_s`, `cpu_s` and `peak_mib` by step.
    rows : written, by table.
    partitions : number materialized.
    embedded : texts that no memo had.
    scored : pairs that no memo had.
    stored_mib, files : of each folder of the warehouse, and of Dagster's home.
    """

    usage: Usage
    steps: dict[str, dict[str, float]]
    rows: dict[str, int]
    partitions: int
    embedded: int
    scored: int
    stored_mib: dict[str, float]
    files: dict[str, int]


class Size(NamedTuple):
    """The index of a corpus, and the run after one document more."""

    n_chunks: int
    full: Run
    one_more: Run


def measure(sizes: Sequence[int], packaged: bool, home: Path | None = None) -> list[Measurement]:
    """Measure the cost of each size.

    Parameters
    ----------
    sizes : chunks, about.
    packaged : use the packaged models.
    home : where to work and what to leave there; None: in a temporary folder.
    """
    with tempfile.TemporaryDirectory() as temporary:
        root = home or Path(temporary)
        found = []
        for n in sizes:
            found.append(_measured(root / f"{n}", n, packaged))
            for name, table in (("index", found[-1].full), ("one more", found[-1].one_more)):
                print(
                    f"{found[-1].n_chunks:,} chunks, {name}: {_described(table)}", file=sys.stderr
                )
    models = "packaged models" if packaged else "vectors of words, first words"
    return [
        by_step(found, "full", f"Index of all, {models}"),
        by_step(found, "one_more", f"One document more, {models}"),
        totals(found),
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
            ]
        )
    sizes = [f"{n:,}" for n, _ in runs]
    header = ["step", *(f"s at {n}" for n in sizes), "exponent"]
    header += [*(f"MiB at {n}" for n in sizes), "exponent"]
    return Measurement(
        title,
        "Seconds of the processor, and largest memory of the process meanwhile; the exponent is of "
        "the power of the number of chunks that they grow by between the last two sizes. Steps of "
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
                    f"{run.partitions}",
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
            *("chunks", "run", "s", "processor, s", "peak, MiB", "partitions", "rows written"),
            *("embedded", "pairs scored", "stored, MiB", "files"),
        ],
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
    """Of the power of the size that a value grows by, from the last two sizes."""
    if len(sizes) < 2 or min(values[-2:]) <= 0:
        return ""
    return f"{math.log(values[-1] / values[-2]) / math.log(sizes[-1] / sizes[-2]):.2f}"


def _described(run: Run) -> str:
    """Return the cost of a run, the longest steps first."""
    lines = [f"{run.usage.wall_s:.0f} s, peak {run.usage.peak_mib:,.0f} MiB"]
    for name, step in sorted(run.steps.items(), key=lambda pair: -pair[1]["cpu_s"])[:25]:
        seconds = f"{step['wall_s']:8.1f} s {step['cpu_s']:8.1f} s CPU"
        lines.append(f"  {seconds} {step['peak_mib']:7,.0f} MiB  {name}")
    return "\n".join(lines)


def _measured(root: Path, n: int, packaged: bool) -> Size:
    n_documents = max(1, round(n / _CHUNKS_PER_DOCUMENT))
    folder = root / "corpora" / CORPUS
    write_corpus(folder, n_documents, N_QUESTIONS)
    (folder / "corpus.toml").write_text(_SETTINGS)
    index = _run(root, packaged)
    added = document(n_documents, n_documents)
    (folder / f"{added.document_id}.txt").write_text(added.text)
    return Size(index.rows["chunks"], index, _run(root, packaged))


def _run(root: Path, packaged: bool) -> Run:
    """Bring the corpus up to date in a process of its own."""
    environment = {name: "" for name in os.environ if name.startswith("GSUM_")}
    environment |= {"GSUM_HOME": str(root), "DAGSTER_HOME": str(root / "dagster")}
    command = [sys.executable, "-m", "benchmarks.growing.size", "--run"]
    command += ["--packaged"] if packaged else []
    usage = run_measured(command, environment, Path.cwd(), root / "run.log")
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


def _refresh(packaged: bool) -> None:
    """In the child: bring the corpus up to date, and leave word of what it took."""
    # these read the environment when imported
    from benchmarks.growing.generated import WordVectors
    from benchmarks.growing.meter import StepMeter
    from gsum_assets.definitions import pipeline_for
    from gsum_assets.run import refresh
    from gsum_assets.tables import TABLES, table_of
    from gsum_resources.appended import read_appended
    from gsum_resources.home import Home
    from gsum_resources.instance import open_instance
    from gsum_resources.models import Models
    from gsum_resources.parquet_store import ParquetStore
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

    before = embedded()
    pipeline = pipeline_for(home, models)
    with open_instance(home) as instance, meter.watching(instance):
        report = refresh(pipeline, instance, CORPUS, METHODS)
    if not report.is_complete:
        raise RuntimeError([*report.errors, *report.gaps][0])
    rows: dict[str, int] = {}
    for result in report.results:
        for asset in result.assets:
            table = table_of(asset.split("/"))
            footers = (pipeline.store.provenance(table, p) for p in result.partitions)
            n = sum(footer.rows for footer in footers if footer)
            rows[table.name] = rows.get(table.name, 0) + n
    recorded = {"steps": meter.report(), "rows": rows, "partitions": report.n_partitions}
    recorded |= {name: n - before[name] for name, n in embedded().items()}
    (home.root / _TOLD).write_text(json.dumps(recorded))


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the tables."""
    parser = parser_of(__doc__, "python -m benchmarks.growing size")
    parser.add_argument("--chunks", type=int, nargs="+", default=SIZES, help="sizes, ascending")
    parser.add_argument("--packaged", action="store_true", help="use the packaged models")
    parser.add_argument("--home", type=Path, help="work here and leave it")
    parser.add_argument("--run", action="store_true", help="in a child: run, and tell of it")
    chosen = parser.parse_args(arguments)
    if chosen.run:
        _refresh(chosen.packaged)
        return
    name = "growing-size-packaged" if chosen.packaged else "growing-size"
    publish(name, measure(chosen.chunks, chosen.packaged, chosen.home), chosen.store)


if __name__ == "__main__":
    main()
