"""A home that grows: brought up to date in several ways, and what it must then equal."""

import os
import re
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import dagster as dg

from gsum_assets.corpus import observe
from gsum_assets.forgetting.deletions import Deletions
from gsum_assets.pipeline.tables import TABLES
from gsum_assets.refresh.forget import forget_corpus
from gsum_assets.refresh.inputs import Run
from gsum_assets.refresh.staleness import Staleness
from gsum_assets.refresh.step import refresh_step
from gsum_assets.registry.families import METHODS
from gsum_assets.retrieval.answerability import PACKAGED
from gsum_assets.runner.run import Pipeline, pipeline_for, refresh
from gsum_resources.llm.extractive import ExtractiveModel
from gsum_resources.models.by_work import Models
from gsum_resources.protocols.models import CompletionError, OnReply, Reply, Request
from gsum_resources.scoring.unigram import UnigramScorer
from gsum_resources.settings.home import Home
from gsum_resources.settings.schema import SETTINGS_FILE, Settings
from gsum_resources.state import database as state
from gsum_resources.store.content_hash import content_hash
from gsum_resources.store.parquet_store import ParquetStore, Partition
from gsum_resources.store.table import Table
from tests.conftest import keep_no_step_logs
from tests.fast_runs import keep_plans
from tests.models import HashEmbedder
from tests.pipeline.homes import LEDGERS

GIVEN = (
    "gor.model",
    "gor.training_log",
    "lightpal.walk_trust",
)
"""Trained state, which does not follow every document: a rebuild copies it."""


class Chosen(NamedTuple):
    """Which models are in use, by name."""

    embedder: str = "hash"
    language_model: str = "one"
    scorer: str = "1000"


class Faltering(ExtractiveModel):
    """Refuses every request whose passages hold the word `refuses`, unless that is empty."""

    refuses = ""

    def complete(self, requests: Sequence[Request], on_reply: OnReply | None = None) -> list[Reply]:
        replies: list[Reply] = []
        for request in requests:
            if self.refuses and self.refuses in " ".join(request.passages):
                reply: Reply = CompletionError(f"refused: {self.refuses}", self.identity)
            else:
                (reply,) = super().complete([request])
            if on_reply:
                on_reply(len(replies), reply)
            replies.append(reply)
        return replies


class MisfitError(AssertionError):
    """The home differs from a rebuild, or is not up to date after a run."""


@dataclass(frozen=True)
class HomeFolder:
    """A folder for a home, and pipelines over it that remember nothing between two uses."""

    root: Path

    def __post_init__(self) -> None:
        object.__setattr__(self, "_pipelines", {})

    @property
    def home(self) -> Home:
        return Home(self.root, str(self.root / "warehouse"))

    @property
    def store(self) -> ParquetStore:
        return ParquetStore(self.home.warehouse)

    def pipeline(self, chosen: Chosen) -> Pipeline:
        """The pipeline of a process that has just begun."""
        known: dict[Chosen, Pipeline] = vars(self)["_pipelines"]
        if chosen not in known:
            dimension = 8 if chosen.embedder == "hash" else 12
            overrides = {
                # with the digest of the packaged embedder, of which answerability is judged
                "embedding_model": HashEmbedder(f"{chosen.embedder} {PACKAGED}", dimension),
                "language_model": Faltering(HashEmbedder(chosen.language_model)),
                "passage_scorer": UnigramScorer(float(chosen.scorer)),
            }
            models = Models(Settings(), self.store, TABLES["llm_calls"], overrides)  # type: ignore[arg-type]
            known[chosen] = keep_plans(pipeline_for(self.home, models, presented=False))
        pipeline = known[chosen]
        for name in ("embedder", "scorer"):  # with their memos
            vars(pipeline.workspace.models).pop(name, None)
        pipeline.workspace.models._bare.clear()
        pipeline.store._footers.clear()
        state._states.clear()
        return pipeline

    def wipe(self) -> None:
        """Leave nothing but settings, by which deleted corpora are forgotten at once."""
        shutil.rmtree(self.root, ignore_errors=True)
        self.root.mkdir(parents=True)
        (self.root / SETTINGS_FILE).write_text("[automation]\nforget_after_h = 0\n")

    @contextmanager
    def instance(self) -> Iterator[dg.DagsterInstance]:
        """Dagster's instance of this home, closed afterwards."""
        os.environ["DAGSTER_HOME"] = str(self.root / "dagster")
        keep_no_step_logs(self.home)
        with dg.DagsterInstance.from_config(str(self.home.dagster)) as instance:
            yield instance


def staleness_of(pipeline: Pipeline, corpus: str) -> Staleness:
    """Return what is stale now for the methods that a corpus keeps."""
    methods = frozenset(METHODS.wanted(pipeline.home.corpora, corpus))
    return Staleness(pipeline.workspace, corpus, methods)


def refresh_steps(pipeline: Pipeline, corpus: str) -> int:
    """Bring a corpus up to date without Dagster; return the number of written files."""
    workspace, n = pipeline.workspace, 0
    Deletions(pipeline.store).observe(corpus)
    observe.sources(pipeline.store, pipeline.home.corpora, corpus)
    for declared in staleness_of(pipeline, corpus).due():
        methods = METHODS.wanted(pipeline.home.corpora, corpus)
        done = refresh_step(workspace, declared, corpus, methods, Run())
        done.raise_failed()
        n += len(done.written)
    return n


def due_steps(pipeline: Pipeline, corpus: str) -> list[str]:
    """Return every step that is due, with its stale files."""
    staleness = staleness_of(pipeline, corpus)
    return [
        f"{declared.name}: {[file.path for file in staleness.stale(declared)]}"
        for declared in staleness.due()
    ]


def refresh_once(target: HomeFolder, chosen: Chosen, corpus: str) -> None:
    """Refresh as `gsum run` does.

    Raises
    ------
    MisfitError
        If something is left to do.
    """
    with target.instance() as instance:
        report = refresh(target.pipeline(chosen), instance, corpus)
        again = refresh(target.pipeline(chosen), instance, corpus)
    if not report.is_complete:
        raise MisfitError("; ".join([*report.errors, *report.gaps, *report.missing]))
    if again.steps:
        raise MisfitError(f"something was due after a run: {again.steps}")


def rebuild(target: HomeFolder, grown: HomeFolder, chosen: Chosen, corpus: str) -> None:
    """Empty `target` and build the tables of a corpus of `grown` there."""
    target.wipe()
    shutil.copytree(grown.home.corpora / corpus, target.home.corpora / corpus)
    copy_given(target, grown, corpus)
    refresh_steps(target.pipeline(chosen), corpus)


def copy_given(target: HomeFolder, grown: HomeFolder, corpus: str) -> None:
    """Copy the trained state of a corpus of `grown`."""
    for name in GIVEN:
        given = Path(grown.home.warehouse, name, f"corpus={corpus}")
        if given.exists():
            shutil.copytree(given, Path(target.home.warehouse, name, given.name))


def contents(target: HomeFolder, corpus: str) -> dict[str, str]:
    """Content hash of every table of a corpus and the partitions that it has, rows in order.

    Of a corpus without questions, the partitions that have rows: results that were written while it
    had some stay as empty ones.
    """
    found, store = {}, target.store
    has_questions = store.count(TABLES["queries"], corpus)
    for name, table in TABLES.items():
        if name not in LEDGERS:
            partitions = store.partitions(table, corpus)
            rows = store.read(table, partitions)[0]
            keys = [(key, "ascending") for key in (*table.dimensions, *table.key)]
            digest = content_hash(rows.sort_by(keys).combine_chunks(), table.ignored_by_hash)
            kept = [p for p in partitions if has_questions or _n_rows(store, table, p)]
            found[name] = " ".join([digest, *(p.path for p in kept)])
    return found


def _n_rows(store: ParquetStore, table: Table, partition: Partition) -> int:
    footer = store.provenance(table, partition)
    return footer.rows if footer else 0


def tables_that_mention(target: HomeFolder, corpus: str, ids: Sequence[str]) -> list[str]:
    """Return the tables of a corpus that contain one of these ids."""
    pattern = re.compile(rf"\b({'|'.join(map(re.escape, ids))})(?!\d)")
    store = target.store
    return [
        name
        for name, table in TABLES.items()
        if name not in LEDGERS
        and pattern.search(str(store.read(table, store.partitions(table, corpus))[0].to_pylist()))
    ]


def forget(target: HomeFolder, chosen: Chosen, corpus: str) -> None:
    """Forget a corpus whose folder is deleted."""
    forget_corpus(target.pipeline(chosen).workspace, corpus)
