"""What a step may read: tables, models and settings, with a record of what it did read."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from gsum_assets.answering.workspace import Workspace
from gsum_assets.pipeline.columns import RESULT
from gsum_assets.pipeline.step import MODELS, SETTINGS, Inputs
from gsum_assets.pipeline.tables import TABLES
from gsum_assets.refresh.usage import CountingLedger, Usage
from gsum_assets.registry.declared import Declared, work_of
from gsum_assets.registry.families import METHODS
from gsum_resources.embedding.memoized import Batch, enter_batch
from gsum_resources.messages.progress import reporter
from gsum_resources.store.appended import APPENDED, read_appended
from gsum_resources.store.input_key import InputKey, section_version
from gsum_resources.store.lazy import Lazy, lazy_rows
from gsum_resources.store.lineage import Reads
from gsum_resources.store.parquet_store import Partition


@dataclass(frozen=True)
class Run:
    """How and for whom steps are executed.

    Attributes
    ----------
    run_id : the run of Dagster, "" for none.
    log, warn : called with progress lines, and with a line for each failure.
    force : whether files that are current are written again.
    retry_failures : whether requests are sent again that failed in a way that repeats.
    retrain : methods or families whose networks are trained again; "all": of every one.
    """

    run_id: str = ""
    log: Callable[[str], None] = lambda _: None
    warn: Callable[[str], None] = lambda _: None
    force: bool = False
    retry_failures: bool = False
    retrain: Collection[str] = ()


@dataclass(frozen=True)
class StepReader:
    """Gives a step its inputs for some files of one corpus.

    Attributes
    ----------
    files : the files that the step computes now.
    buckets : the names of all buckets of the corpus.
    reads : what the step has read so far.
    usage : of its models.
    """

    workspace: Workspace
    declared: Declared
    files: Sequence[Partition]
    buckets: Sequence[str]
    run: Run
    usage: Usage
    reads: Reads = field(default_factory=Reads)

    @property
    def corpus(self) -> str:
        """The corpus of the files."""
        return self.files[0].corpus

    def inputs(self) -> dict[str, Any]:
        """Return everything that the step may read, by name."""
        read: dict[str, Any] = {name: self._rows(name) for name in self.declared.read_tables}
        for name in {*MODELS}.intersection(self.declared.reads):
            read[name] = Lazy(partial(self._model, name))
        return {**read, SETTINGS: self} if SETTINGS in self.declared.reads else read

    def around(self) -> Inputs:
        """Return the inputs of the step without tables, models and settings."""
        of_step = [file.bucket for file in self.files if file.bucket is not None]
        return Inputs(
            {},
            self.corpus,
            log=self.run.log,
            note=self.reads.other,
            store=self.workspace.store,
            folder=self.workspace.home.corpora / self.corpus,
            buckets=of_step if len(of_step) < len(self.buckets) else (),
            versions=self.reads.tables,
            engine=self.workspace.models.engine,
        )

    def section(self, corpus: str, name: str) -> Any:
        """Return a section of `corpus.toml` as plain values, recorded as an input."""
        value = self.workspace.section(corpus, name)
        self.reads.other(InputKey("settings", name, corpus), section_version(value))
        return value

    def _rows(self, name: str) -> Lazy:
        """Return the rows of a table, recorded as an input when read unless it is untracked."""
        declared, store = self.declared, self.workspace.store
        table = declared.table(name)
        if name in declared.step.optional:
            if table.name in APPENDED:
                return Lazy(lambda: read_appended(store, table, self.corpus))
            return lazy_rows(store, table, store.partitions(table, self.corpus))
        # a table that several families share has partitions of each
        family = declared.path(name)[0] if "method" in table.dimensions else None

        def note(hashes: Mapping[Partition, str]) -> None:
            if name not in declared.step.untracked:
                self.reads.table(table, hashes, family)

        what_exists = declared.takes_what_exists(name)
        files = self._files_read(table.dimensions, family)
        if what_exists:
            files = [file for file in store.partitions(table, self.corpus) if file in files]
        columns = declared.step.dictionaries.get(name, ())
        return lazy_rows(store, table, files, columns, note, required=not what_exists)

    def _files_read(self, dimensions: Sequence[str], family: str | None) -> list[Partition]:
        """Return the files of a table that those of the step depend on."""
        if tuple(dimensions) == self.declared.level:
            return list(self.files)
        if "bucket" in dimensions:
            return [Partition(self.corpus, bucket) for bucket in self.buckets]
        if tuple(dimensions) != RESULT:
            return [Partition(self.corpus)]
        return [Partition(self.corpus, method=m) for m in METHODS.families[family or ""]]

    def _model(self, name: str) -> Any:
        """Return a model with memo and ledger, whose use is recorded."""
        models, reads, corpus = self.workspace.models, self.reads, self.corpus
        asset, log = self.declared.name, self.run.log
        model = work_of(asset) if name == "language_model" else name
        reads.other(InputKey("model", name), models.version(model))

        def enter(batch: Batch) -> None:
            enter_batch(models.store, TABLES["embedding_calls"], corpus, asset, batch)
            self.usage.batches = [*(self.usage.batches or ()), batch]

        if name == "embedding_model":
            embedded = reporter(f"{asset}: texts embedded", log)
            return models.embedder.reporting(embedded, enter, models.reserve(name, corpus))
        if name == "passage_scorer":
            scored = reporter(f"{asset}: passages scored", log)
            return models.scorer.reporting(scored, enter, reads.failures.append)
        ledger, run_id = models.ledger_table, self.run.run_id
        calls = CountingLedger(models.store, ledger, corpus, asset, run_id, self.usage)
        return models.language_model(
            calls,
            reporter(f"{asset}: requests answered", log),
            reads.failures.append,
            model,
            reads.filtered.append,
            self.run.retry_failures,
        )
