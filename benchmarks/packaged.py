"""Every family of methods with the packaged model on three sample stories: what it asks and takes.

    python -m benchmarks.packaged [--documents 3] [--questions 3] [--methods bm25,gor] [--store]
    python -m benchmarks.packaged --demo HOME

It needs the extra `smollm2`, no network and no key. `--demo` runs a part of it in a home that
stays, for `make demo-llm`. What a method asks while it answers is its own; what an index asks is
shared by the methods of its family.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from benchmarks import Measurement
from benchmarks.results import ROOT, parser_of, publish
from gsum_assets.tables import TABLES
from gsum_resources.appended import read_appended
from gsum_resources.home import Home
from gsum_resources.parquet_store import ParquetStore

CORPUS = "three-stories"
SAMPLE = ROOT / "data" / "corpora" / "sample-stories"
METHODS = (
    *("bm25", "gor", "gae", "lightpal"),
    *("graphrag-c0", "graphrag-local", "jerr", "readagent"),
)
DEMO = ("bm25", "hybrid", "lightpal", "readagent")
SETTINGS = '[llm]\nbackend = "packaged"\n'


def write_home(home: Path, documents: int, questions: int) -> None:
    """A corpus of the first sample stories with their first questions, and the packaged model."""
    folder = home / "corpora" / CORPUS
    folder.mkdir(parents=True, exist_ok=True)
    texts = sorted(SAMPLE.glob("*.md"))[:documents]
    for text in texts:
        shutil.copy(text, folder)
    kept = {text.stem for text in texts}
    lines = (SAMPLE / "queries.jsonl").read_text().splitlines()
    asked = [line for line in lines if json.loads(line)["document_id"] in kept]
    chosen = asked[:: max(1, len(asked) // questions)][:questions]  # of different documents
    (folder / "queries.jsonl").write_text("\n".join(chosen) + "\n")
    (folder / "corpus.toml").write_text('title = "Stories"\nlanguage = "en"\nkind = "story"\n')
    (home / "gsum.toml").write_text(SETTINGS)


def run(home: Path, methods: Sequence[str]) -> int:
    """The status of `gsum run`, which prints what it does."""
    gsum = str(Path(sys.executable).with_name("gsum"))
    environment = {**os.environ, "GSUM_HOME": str(home), "OMP_NUM_THREADS": "1"}
    command = [gsum, "run", CORPUS, "--methods", ",".join(methods)]
    return subprocess.run(command, env=environment, check=False).returncode


def rows_of(store: ParquetStore, name: str) -> list[dict[str, Any]]:
    """Rows of a table of the corpus."""
    table = TABLES[name]
    return store.read(table, store.partitions(table, CORPUS))[0].to_pylist()


def measure(home: Path, status: int) -> Iterator[Measurement]:
    """What each asset asked, and what each method wrote."""
    store = ParquetStore(Home(home, str(home / "warehouse")).warehouse)
    calls: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for row in read_appended(store, TABLES["llm_calls"], CORPUS).to_pylist():
        calls[row["asset"]] += [] if row["cached"] else [row]
    yield Measurement(
        "The packaged model by asset",
        "Requests, those that got no valid reply, tokens, and seconds of requests, of which as "
        "many run at once as there are cores.",
        ["asset", "requests", "failed", "tokens in", "tokens out", "seconds"],
        [[asset, *_amounts(rows)] for asset, rows in sorted(calls.items())],
    )
    answers = rows_of(store, "summaries")
    methods = sorted({row["method"] for row in answers})
    empty = Counter(row["method"] for row in answers if not row["text"].strip())
    yield Measurement(
        "The packaged model by method",
        f"`gsum run` ended with status {status}. Answers, empty ones among them, and what a "
        "question took, its index aside.",
        ["method", "answers", "empty", "calls", "tokens in", "tokens out", "seconds"],
        [_answered(method, answers, empty[method]) for method in methods],
    )


def _amounts(rows: Sequence[dict[str, Any]]) -> list[str]:
    sums = [sum(row[name] for row in rows) for name in ("tokens_in", "tokens_out", "latency_s")]
    failed = sum(row["error"] is not None for row in rows)
    return [str(len(rows)), str(failed), *(f"{amount:,.0f}" for amount in sums)]


def _answered(method: str, answers: Sequence[dict[str, Any]], empty: int) -> list[str]:
    own = [row for row in answers if row["method"] == method]
    names = ("calls", "tokens_in", "tokens_out", "latency_s")
    means = [sum(row[name] for row in own) / len(own) for name in names]
    return [method, str(len(own)), str(empty), *(f"{mean:,.1f}" for mean in means)]


def main() -> None:
    """Run the pipeline and print the tables."""
    parser = parser_of(__doc__)
    parser.add_argument("--documents", type=int, default=3)
    parser.add_argument("--questions", type=int, default=3)
    parser.add_argument("--methods", default=",".join(METHODS), help="separated by commas")
    parser.add_argument("--demo", type=Path, help="home that stays; two documents, two questions")
    chosen = parser.parse_args()
    if chosen.demo:
        home = chosen.demo.resolve()
        write_home(home, 2, 2)
        sys.exit(run(home, DEMO))
    with tempfile.TemporaryDirectory(prefix="gsum-packaged-") as folder:
        home = Path(folder)
        write_home(home, chosen.documents, chosen.questions)
        status = run(home, chosen.methods.split(","))
        tables = list(measure(home, status))
    publish("packaged", tables, chosen.store)
    sys.exit(status)


if __name__ == "__main__":
    main()
