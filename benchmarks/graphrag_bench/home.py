"""The home that the methods answer in: a sample of the questions, and one `gsum run`."""

import os
import random
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import pyarrow as pa

from benchmarks import required
from gsum_assets.corpus.importers.benchmark import write_corpus
from gsum_assets.corpus.importers.graphrag_bench import GRAPHRAG_BENCH, read_graphrag_bench
from gsum_assets.corpus.queries import Query
from gsum_assets.families import method_of
from gsum_assets.method import Inputs
from gsum_assets.tables import TABLES
from gsum_assets.workspace import Workspace, open_workspace
from gsum_resources.home import Home
from gsum_resources.lazy import Lazy

CORPUS = "medical"
PLAIN = ("bm25", "dense", "hybrid")
GRAPHS = (
    "passage_walk",
    "lightpal",
    "gor-untrained",
    "gae",
    "graphrag-local",
    "graphrag-c0",
    "graphrag-c2",
    "graphrag-ts",
    "jerr",
    "readagent",
)
"""Methods that know more than single passages; graphrag-ts and readagent do so without a graph."""

_WITHOUT_BERTSCORE = "[scores]\nbertscore = false\n"  # not shown, and slow


def sampled(queries: Sequence[Query], split: str, n: int) -> list[Query]:
    """Return at most `n` questions of each type from one split, drawn by a fixed seed."""
    chosen = []
    for kind in sorted({query.kind for query in queries}):
        of_kind = [query for query in queries if (query.kind, query.split) == (kind, split)]
        of_kind.sort(key=lambda query: query.query_id)
        chosen += random.Random(0).sample(of_kind, min(n, len(of_kind)))
    return chosen


def answer_all(home: Path, split: str, n: int, compared: Sequence[str]) -> Workspace:
    """Write the corpus into `home` unless it is there, and run the methods on it."""
    folder = home / "corpora" / CORPUS
    if not folder.exists():
        contents = read_graphrag_bench(required("graphrag_bench"))
        contents.queries = sampled(contents.queries, split, n)
        write_corpus(replace(GRAPHRAG_BENCH, settings=_WITHOUT_BERTSCORE), contents, folder)
    methods = ",".join((*PLAIN, *compared))
    gsum = str(Path(sys.executable).with_name("gsum"))
    command = [gsum, "run", CORPUS, "--methods", methods]
    environment = {**os.environ, "GSUM_HOME": str(home.resolve())}
    if subprocess.run(command, env=environment, stdout=sys.stderr, check=False).returncode:
        sys.exit(f"'{' '.join(command)}' failed in {home}; its last lines say why")
    return open_workspace(Home(home.resolve(), str(home.resolve() / "warehouse")))


def rows_of(workspace: Workspace, table: str, method: str | None = None) -> pa.Table:
    """Return a table's rows of the corpus, of one method where it has methods."""
    partitions = workspace.store.partitions(TABLES[table], CORPUS)
    wanted = [p for p in partitions if method is None or p.method in (None, method)]
    return workspace.store.read(TABLES[table], wanted)[0]


def texts_read(workspace: Workspace, method: str) -> dict[str, list[str]]:
    """Return by question the texts that a method's answers depend on, as `scores` counts them."""
    family = method_of(method)
    assert family is not None
    tables = {
        name.rpartition(".")[2]: Lazy(partial(rows_of, workspace, name, method))
        for name in TABLES
        if name.rpartition(".")[0] in ("", family.name)
    }
    inputs = Inputs({**tables, "corpus_settings": workspace}, CORPUS, method)
    read: dict[str, list[str]] = {}
    rows = family.texts_read(inputs).rows
    for row in rows.select(["query_id", "text"]).to_pylist():
        read.setdefault(row["query_id"], []).append(row["text"])
    return read
