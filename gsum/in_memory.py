"""The tables of one method over given texts: each is made in memory when it is first read.

The steps are those of the pipeline, executed by the same function on a store in memory, so that
they give the same rows. Nothing here knows Dagster, and nothing is written to disk.
"""

import logging
import os
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import pyarrow as pa

from gsum.names import naming_arguments
from gsum.progress import Progress
from gsum_assets.answering.ask import SECTIONS
from gsum_assets.answering.workspace import Workspace, section_of
from gsum_assets.corpus.load import Loaded, bucket_of
from gsum_assets.corpus.queries import Query, as_queries, query_rows
from gsum_assets.corpus.rows import rows_of
from gsum_assets.pipeline.columns import DOCUMENT_LEVEL
from gsum_assets.pipeline.corpus_settings import CorpusSettings
from gsum_assets.pipeline.family import Family
from gsum_assets.pipeline.step import MODELS, SETTINGS, Inputs
from gsum_assets.pipeline.tables import TABLES
from gsum_assets.refresh.inputs import Run, StepReader
from gsum_assets.refresh.step import refresh_step
from gsum_assets.refresh.usage import Usage
from gsum_assets.registry.declared import INDEX, STEPS, Declared, of_family
from gsum_assets.registry.families import FAMILIES
from gsum_resources.models.by_work import Models
from gsum_resources.settings.home import Home
from gsum_resources.state.database import BUCKETS, MemoryStore, insert_new, state_of
from gsum_resources.store.arrow import pc
from gsum_resources.store.parquet_store import Partition, Provenance
from gsum_resources.store.table import Table

CORPUS = "texts"
"""Name of the corpus that the given texts make up."""

_BUCKET = "00"  # the only one, so that each table is one piece
_NO_HOME = Home(Path(os.devnull), "")  # no file is in it: settings and texts are given
_LOG = logging.getLogger("gsum")


class LazyStore(MemoryStore):
    """A store in memory whose tables are made when they are first read.

    Attributes
    ----------
    make : makes a table by its name, unless it is made already.
    """

    def __init__(self) -> None:
        super().__init__()
        self.make: Callable[[str], None] = lambda _: None

    def write(
        self, table: Table, partition: Partition, rows: pa.Table, provenance: Provenance
    ) -> Provenance:
        """Write rows of a table in the order in which a home with its buckets has them."""
        if partition.bucket is not None:
            buckets = pa.array(map(bucket_of, rows["document_id"].to_pylist()), pa.string())
            rows = rows.take(pc.sort_indices(buckets))
        return super().write(table, partition, rows, provenance)

    def read(
        self,
        table: Table,
        partitions: Sequence[Partition],
        columns: Sequence[str] | None = None,
        as_dictionaries: Sequence[str] = (),
    ) -> tuple[pa.Table, dict[Partition, str]]:
        """Return rows of a table, see `ParquetStore.read`."""
        self.make(table.name)
        return super().read(table, partitions, columns, as_dictionaries)

    def footers(
        self, table: Table, partitions: Collection[Partition] | Mapping[Partition, object]
    ) -> dict[Partition, Provenance]:
        """Return the footers of files of a table, see `ParquetStore.footers`."""
        self.make(table.name)
        return super().footers(table, partitions)

    def counts(self, tables: Sequence[Table], corpus: str) -> dict[str, int]:
        """Return the number of rows in each of some tables, by name."""
        for table in tables:
            self.make(table.name)
        return super().counts(tables, corpus)


@dataclass(frozen=True)
class _GivenSettings(Workspace):
    """A workspace whose corpus has given settings, instead of a `corpus.toml`."""

    settings: CorpusSettings = field(default_factory=CorpusSettings)

    def sections(self, corpus: str) -> Callable[[str], Any]:
        """Return what gives a section of the settings, see `Workspace.sections`."""
        return partial(section_of, self.settings)


class MemoryTables:
    """The tables of a method over given texts, each made when it is first read.

    Parameters
    ----------
    store : receives the tables; `models` have the same one.
    progress : shows the steps that take long.

    Attributes
    ----------
    failures : a sentence for each row that is missing or not as it should be.
    """

    def __init__(
        self,
        family: Family,
        method: str,
        loaded: Loaded,
        questions: Sequence[Query],
        settings: CorpusSettings,
        store: LazyStore,
        models: Models,
        progress: Progress,
    ) -> None:
        self.family, self.method = family, method
        self.failures: list[str] = []
        self._questions, self._progress = questions, progress
        self._store, store.make = store, self._make
        self._workspace = _GivenSettings(_NO_HOME, self._store, models, settings)
        self._run = Run(log=_LOG.info, force=True)  # each step once: no file can be stale
        self._made: set[str] = set()
        with state_of(self._store).writing() as connection:
            insert_new(connection, BUCKETS, [{"corpus": CORPUS, "n": 1}])
        given: dict[str, Sequence[Any]] = {
            "source_documents": loaded.listing,
            "documents": loaded.documents,
            "rejected_documents": loaded.rejected,
            "document_sections": loaded.sections,
            "converted_documents": (),
            "source_queries": (),
            "source_graph": (),
        }
        for name, rows in given.items():
            self._write(TABLES[name], rows_of(TABLES[name], rows))
        own = () if family in FAMILIES else of_family(family)
        self._makers = {
            declared.table(name).name: declared
            for declared in (*STEPS, *own)
            if declared.group != "evaluation"
            and declared.is_needed([method])
            and declared.step.table != INDEX
            for name in declared.step.writes
        }

    @property
    def names(self) -> list[str]:
        """Every table that there is or that can be made."""
        return list(dict.fromkeys([*self._made, *self._makers]))

    def get(self, name: str) -> pa.Table:
        """Return the rows of a table, as the store of a home gives them."""
        with self.working([name]):
            self._make(name)
        return self._stored(name)

    @contextmanager
    def working(self, names: Sequence[str]) -> Iterator[None]:
        """Show the progress of making these tables; errors name arguments instead of files."""
        left, steps = list(names), set[str]()  # those that may be read on the way
        while left:
            name = left.pop()
            if name in self._made or name not in self._makers:
                continue
            declared = self._makers[name]
            if declared.name not in steps:
                steps.add(declared.name)
                left += [declared.table(read).name for read in declared.read_tables]
        with naming_arguments(), self._progress.working(len(steps)):
            yield

    def scores(self, bertscore: bool) -> pa.Table:
        """Return the scores of the answers, those of BERTScore only where they are wanted."""
        if bertscore or "scores" in self._made:
            return self.get("scores")
        return self._scores_without_bertscore

    @cached_property
    def _scores_without_bertscore(self) -> pa.Table:
        settings = self._workspace.settings
        without = {"scores": {**settings.scores, "bertscore": False}}
        workspace = replace(self._workspace, settings=settings.model_copy(update=without))
        with self.working(["scores"]):
            self._execute(self._makers["scores"], workspace)
        return self._stored("scores")

    def inputs(self) -> Inputs:
        """Return what the question half of the method reads, for a question on the side."""
        reads = [*self.family.read_by_questions, SECTIONS, *MODELS, SETTINGS]
        answering = replace(self._makers["summaries"], reads=reads)
        files = [Partition(CORPUS, method=self.method)]
        reader = StepReader(self._workspace, answering, files, [_BUCKET], self._run, Usage())
        return Inputs(reader.inputs(), CORPUS, self.method)

    def _make(self, name: str) -> None:
        """Make a table unless it is made, or is being made."""
        if name in self._made or name not in self._makers:
            return
        if name == "queries":
            with self._progress.step(name):
                self._write(TABLES[name], self._queries())
            return
        declared = self._makers[name]
        self._made |= {declared.table(written).name for written in declared.step.writes}
        self._execute(declared, self._workspace)

    def _execute(self, declared: Declared, workspace: Workspace) -> None:
        if declared.for_questions:
            self._make("queries")
        _LOG.info("%s", declared.name)
        with self._progress.step(declared.name):
            done = refresh_step(workspace, declared, CORPUS, [self.method], self._run)
        done.raise_failed()
        self.failures += [f"{declared.name}: {failure}" for failure in done.failures]
        table = declared.table(declared.step.table)
        n_failed = sum(
            footer.failed for footer in self._store.footers(table, done.written).values()
        )
        if n_failed:
            self.failures.append(f"{declared.name}: {n_failed} requests got no valid reply")

    def _queries(self) -> pa.Table:
        generated = as_queries(self.get("generated_questions"))
        is_marked = any(question.relevant_spans for question in self._questions)
        passages = self.get("chunks") if is_marked else TABLES["chunks"].empty()
        rows, failures = query_rows([*self._questions, *generated], passages)
        self.failures += failures
        return rows

    def _write(self, table: Table, rows: pa.Table) -> None:
        """Write rows that are given, and not computed by a step."""
        self._made.add(table.name)
        file = Partition(CORPUS, _BUCKET if table.dimensions == DOCUMENT_LEVEL else None)
        self._store.write(table, file, rows, Provenance("", ""))

    def _stored(self, name: str) -> pa.Table:
        return self._store.read(TABLES[name], self._store.partitions(TABLES[name], CORPUS))[0]
