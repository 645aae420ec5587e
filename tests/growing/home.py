"""A home that grows: brought up to date in several ways, and what it must then equal."""

import os
import re
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import NamedTuple

import dagster as dg

from gsum_assets.automation.corpora import forget_tables
from gsum_assets.automation.staleness import Snapshot
from gsum_assets.definitions import Pipeline, pipeline_for
from gsum_assets.pipeline.tables import TABLES, table_of
from gsum_assets.retrieval.answerability import PACKAGED
from gsum_assets.runner.run import refresh
from gsum_resources.llm.extractive import ExtractiveModel
from gsum_resources.models.by_work import Models
from gsum_resources.protocols.models import CompletionError, OnReply, Reply, Request
from gsum_resources.scoring.unigram import UnigramScorer
from gsum_resources.settings.home import Home
from gsum_resources.settings.schema import Settings
from gsum_resources.state import database as state
from gsum_resources.store.content_hash import content_hash
from gsum_resources.store.parquet_store import ParquetStore, Partition
from gsum_resources.store.table import Table
from tests.conftest import keep_no_step_logs
from tests.fast_runs import keep_plans
from tests.growing.by_hand import Workshop, observe_folder
from tests.models import HashEmbedder
from tests.pipeline.homes import LEDGERS

GIVEN = (
    "gor.model",
    "gor.training_log",
    "evidence.model",
    "evidence.training_log",
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
    """The home differs from a rebuild."""


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
            vars(pipeline.models).pop(name, None)
        pipeline.models._bare.clear()
        pipeline.store._footers.clear()
        state._states.clear()
        return pipeline

    def wipe(self) -> None:
        """Leave nothing."""
        shutil.rmtree(self.root, ignore_errors=True)
        self.root.mkdir(parents=True)

    @contextmanager
    def instance(self) -> Iterator[dg.DagsterInstance]:
        """Dagster's instance of this home, closed afterwards."""
        os.environ["DAGSTER_HOME"] = str(self.root / "dagster")
        keep_no_step_logs(self.home)
        with dg.DagsterInstance.from_config(str(self.home.dagster)) as instance:
            yield instance


def materialize_due(pipeline: Pipeline, corpus: str, together: bool = True) -> int:
    """Bring a corpus up to date without Dagster; how many calls of assets it took.

    Parameters
    ----------
    together : buckets that are due at once are materialized in one call.
    """
    observe_folder(pipeline, corpus)
    workshop = Workshop(pipeline)
    n_calls = 0
    for asset in workshop.assets():
        snapshot = _snapshot(pipeline)
        due = sorted(
            {
                partition
                for key in asset.keys
                for partition in workshop.nodes[key].partitions(corpus)
                if snapshot.is_due(key, partition)
            }
        )
        if due and due[0].bucket and together:
            workshop.materialize(asset, due)
            n_calls += 1
        else:
            for partition in due:
                workshop.materialize(asset, [partition])
                n_calls += 1
    return n_calls


def _snapshot(pipeline: Pipeline) -> Snapshot:
    """Return a snapshot in which every failure is due again."""
    snapshot = pipeline.new_snapshot(None)  # type: ignore[arg-type]
    snapshot.attempts = SimpleNamespace(try_again_at=lambda _: float("inf"))  # type: ignore[assignment]
    return snapshot


def due_assets(pipeline: Pipeline, corpus: str) -> list[str]:
    """Every asset partition that is not current, with what changed."""
    snapshot = _snapshot(pipeline)
    return [
        f"{key.to_user_string()} {partition.path}: {snapshot.changes(key, partition) or 'missing'}"
        for key, node in snapshot.nodes.items()
        for partition in node.partitions(corpus)
        if snapshot.is_due(key, partition)
    ]


def refresh_once(
    target: HomeFolder, chosen: Chosen, corpus: str, methods: Sequence[str] = ()
) -> int:
    """Refresh as `gsum run` does, and return the number of runs."""
    with target.instance() as instance:
        report = refresh(target.pipeline(chosen), instance, corpus, methods)
    if not report.is_complete:
        raise MisfitError("; ".join([*report.errors, *report.gaps, *report.not_materialized]))
    return len(report.results)


def rebuild(target: HomeFolder, grown: HomeFolder, chosen: Chosen, corpus: str) -> None:
    """Empty `target` and rebuild the requested tables of a corpus of `grown` there."""
    target.wipe()
    shutil.copytree(grown.home.corpora / corpus, target.home.corpora / corpus)
    copy_given(target, grown, corpus)
    pipeline, requested = target.pipeline(chosen), grown.pipeline(chosen).requests.of(corpus)
    pipeline.requests.add(corpus, requested or ())
    observe_folder(pipeline, corpus)
    workshop = Workshop(pipeline)
    for asset in workshop.assets():
        node = workshop.nodes[min(asset.keys)]
        snapshot = _snapshot(pipeline)  # once `queries` exists, results are due
        wanted = [p for p in node.partitions(corpus) if snapshot.is_wanted(node.key, p)]
        if wanted and table_of(node.key.path).name not in GIVEN:
            for partitions in [wanted] if wanted[0].bucket else [[one] for one in wanted]:
                workshop.materialize(asset, partitions)


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
            digest = content_hash(rows.sort_by(keys).combine_chunks(), table.measured)
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
    pipeline = target.pipeline(chosen)
    forget_tables(pipeline.warehouse, pipeline.requests, corpus)
