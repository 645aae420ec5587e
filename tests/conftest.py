"""A home with one small corpus whose documents fill all eight buckets."""

import gc
import json
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import dagster as dg
import pyarrow as pa
import pytest
from hypothesis import settings
from sqlalchemy import Engine, event

from gsum_assets.answering.workspace import Workspace
from gsum_assets.corpus.load import N_BUCKETS, bucket_of
from gsum_assets.dagster_assets import build
from gsum_assets.pipeline.tables import TABLES
from gsum_assets.runner.report import RunReport
from gsum_assets.runner.run import Pipeline, pipeline_for, refresh
from gsum_resources.dagster_io.instance import CONFIG_FILE, prepare
from gsum_resources.models.by_work import Models
from gsum_resources.protocols.models import LanguageModel, PassageScorer
from gsum_resources.scoring.unigram import UnigramScorer
from gsum_resources.settings.home import Home
from gsum_resources.settings.schema import Settings
from gsum_resources.store.parquet_store import ParquetStore
from tests.fast_runs import keep_plans, read_migrations_once, without_records
from tests.models import FirstWords, HashEmbedder

settings.register_profile("gsum", deadline=None)  # a busy machine is no failure
settings.load_profile("gsum")
read_migrations_once()
_WITHOUT_STEP_LOGS = """
compute_logs:
  module: dagster._core.storage.noop_compute_log_manager
  class: NoOpComputeLogManager
"""

CORPUS = "tales"
WORDS = [
    "boat",
    "lamp",
    "river",
    "clerk",
    "winter",
    "bridge",
    "letter",
    "orchard",
    "signal",
    "harbour",
    "coin",
    "mirror",
]


def document_in(bucket: int, nth: int = 0) -> str:
    """The nth id of the form `tale-<n>` that falls into a bucket."""
    matching = (f"tale-{i}" for i in range(10_000) if int(bucket_of(f"tale-{i}")) == bucket)
    return [next(matching) for _ in range(nth + 1)][-1]


def text_of(document_id: str, n_sentences: int = 30) -> str:
    """Sentences that differ from document to document."""
    offset = sum(document_id.encode())
    return " ".join(
        f"The {WORDS[(offset + i) % 12]} of {document_id} met the {WORDS[(offset * i) % 12]}."
        for i in range(n_sentences)
    )


@dataclass
class House:
    """One home, its models, and what a user does with it."""

    presented: ClassVar[bool] = True
    """Whether runs add what no table shows: checks, plots, the catalogue, Dagster's database."""

    home: Home
    embedder: HashEmbedder = field(default_factory=HashEmbedder)
    model: FirstWords = field(default_factory=FirstWords)
    scorer: PassageScorer = field(default_factory=UnigramScorer)
    judge: LanguageModel | None = None
    _kept: tuple[tuple, Pipeline] | None = field(default=None, repr=False, compare=False)
    _in_memory: dg.DagsterInstance | None = field(default=None, repr=False, compare=False)

    @property
    def folder(self) -> Path:
        return self.home.corpora / CORPUS

    @property
    def store(self) -> ParquetStore:
        return self.home.open_store()

    @property
    def workspace(self) -> Workspace:
        return self.pipeline().workspace

    def pipeline(self) -> Pipeline:
        """Kept as long as the models are the same, with Dagster's plans, as a daemon keeps it."""
        overrides = {
            "embedding_model": self.embedder,
            "language_model": self.model,
            "passage_scorer": self.scorer,
            **({"judge_model": self.judge} if self.judge else {}),
        }
        # equal models may count their calls apart
        those = (self.presented, *map(id, overrides.values()))
        if self._kept is None or self._kept[0] != those:
            models = Models(Settings(), self.store, TABLES["llm_calls"], overrides)
            self._kept = those, pipeline_for(self.home, models, self.presented)
        return self._kept[1]

    def instance(self) -> AbstractContextManager[dg.DagsterInstance]:
        if not self.presented:  # in memory, kept as long as this object
            self._in_memory = self._in_memory or dg.DagsterInstance.ephemeral()
            return nullcontext(self._in_memory)
        keep_no_step_logs(self.home)
        return dg.DagsterInstance.from_config(str(self.home.dagster))

    def run(self, methods: list[str] | None = None, corpus: str = CORPUS) -> RunReport:
        with self.instance() as instance, without_records():
            return refresh(keep_plans(self.pipeline()), instance, corpus, methods)

    def table(self, name: str, corpus: str = CORPUS) -> pa.Table:
        table = TABLES[name]
        return self.store.read(table, self.store.partitions(table, corpus))[0]

    def write_document(self, document_id: str, text: str | None = None) -> None:
        (self.folder / f"{document_id}.txt").write_text(text or text_of(document_id))

    def write_queries(self, queries: list[dict]) -> None:
        lines = "".join(json.dumps(query) + "\n" for query in queries)
        (self.folder / "queries.jsonl").write_text(lines)


def pytest_sessionfinish() -> None:
    """Keep pytest from five searches of all modules for garbage, just before the process ends."""
    gc.freeze()


@event.listens_for(Engine, "connect")
def wait_for_no_disk(connection: sqlite3.Connection, _: object) -> None:
    """Skip syncing to disk: files of a test need not survive a power failure."""
    if isinstance(connection, sqlite3.Connection):
        connection.execute("PRAGMA synchronous = OFF")


def keep_no_step_logs(home: Home) -> None:
    """Dagster captures the output of steps with four processes a run; no test reads it."""
    file = prepare(home) / CONFIG_FILE
    shipped = file.read_text()
    if _WITHOUT_STEP_LOGS not in shipped:
        file.write_text(shipped + _WITHOUT_STEP_LOGS)


@contextmanager
def tables_only() -> Iterator[None]:
    """Let runs of houses write tables and nothing else while the context lasts."""
    with without_records(), pytest.MonkeyPatch.context() as patch:
        patch.setattr(House, "presented", False)
        patch.setattr(build, "check_specs", lambda _: [])
        patch.setattr(build, "check_results", lambda *_: [])
        yield


@pytest.fixture(scope="module")
def only_tables() -> Iterator[None]:
    """For modules that read only tables: runs write nothing else."""
    with tables_only():
        yield


@pytest.fixture
def only_tables_here() -> Iterator[None]:
    """The same for one test."""
    with tables_only():
        yield


@pytest.fixture
def house(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> House:
    """An empty store and a corpus of nine documents and three questions."""
    monkeypatch.setenv("GSUM_HOME", str(tmp_path))
    for name in ("GSUM_WAREHOUSE", "DAGSTER_HOME"):
        monkeypatch.delenv(name, raising=False)
    written = House(Home.from_environment())
    written.folder.mkdir(parents=True)
    furnish(written)
    return written


def furnish(house: House) -> None:
    """Nine documents and three questions."""
    documents = [document_in(bucket) for bucket in range(N_BUCKETS)] + [document_in(0, 1)]
    for document_id in documents:
        house.write_document(document_id)
    house.write_queries(
        [
            {"query_id": "one", "text": "What happened to the boat?"}
            | {"document_id": documents[0], "references": ["The boat met the lamp."]},
            {"query_id": "two", "text": "What happened to the lamp and the river?"}
            | {"document_id": documents[3]}
            | {"references": ["The lamp met the river.", "The river met a clerk."]}
            | {"kind": "specific"},
            {"query_id": "all", "text": "Who met the clerk in winter?"}
            | {"references": ["The winter met the clerk."]}
            | {"relevant_document_ids": documents[:2]},
        ]
    )


def written_by(report: RunReport) -> dict[str, str]:
    """What each table was written for, `{"chunks": "2 of 8 buckets"}`."""
    return {asset: what for step in report.steps for asset, what in step.written.items()}


BROWSER_ARGUMENTS = [
    "--no-sandbox",  # tests may run as root
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    *("--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader"),  # in software
]


@pytest.fixture(scope="module")  # asyncio.run() fails while it is open
def browser() -> Iterator[Any]:
    """A headless browser; skips, saying so, where there is none."""
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if chromium is None:
        pytest.skip("no chromium on this machine: `apt-get install chromium` makes these tests run")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=BROWSER_ARGUMENTS)
        yield browser
        browser.close()
