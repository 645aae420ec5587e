"""Declaration of a step and its inputs, independent of Dagster.

A step computes tables from tables. `refresh/step.py` executes it on a store, which Dagster's assets
and `gsum.run` do; `run` runs steps in memory, for `gsum ask`.
"""

from collections.abc import Callable, Collection, Hashable, Mapping, MutableMapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any, Literal, TypeVar

import pyarrow as pa

from gsum_assets.pipeline.cost import Cost
from gsum_assets.pipeline.embed import embed_questions
from gsum_assets.pipeline.prompts import Prompts, prompts_of
from gsum_assets.pipeline.result import Check, Result
from gsum_assets.pipeline.tables import TABLES
from gsum_resources.engine.blocks import LOCAL, Engine
from gsum_resources.messages.progress import Report, reporter
from gsum_resources.store.array_cache import ArrayCache
from gsum_resources.store.input_key import InputKey
from gsum_resources.store.lazy import Kept, Lazy, lazy_rows
from gsum_resources.store.lineage import code_version_of
from gsum_resources.store.memo import Memo
from gsum_resources.store.parquet_store import ParquetStore, Partition

MODELS = ("language_model", "judge_model", "embedding_model", "passage_scorer")
SETTINGS = "corpus_settings"
RANKINGS = {"rankings": "What the method finds, best first."}
CONTEXTS = {
    "contexts": "All passages that the answer may use, in the order in which the model reads them."
}

Value = TypeVar("Value")
Work = Literal["answers", "extraction", "reports", "simulation"]
"""Kinds of work that may have a language model of their own: `[models.*]` in `gsum.toml`."""


@dataclass(frozen=True)
class Inputs:
    """Everything that a step may read; what it does not read is no input of its result.

    Attributes
    ----------
    tables : tables, models and settings, by name.
    corpus : the corpus that the step runs for.
    method : the method whose results the step computes; "" for other steps.
    step : name of the step, "gor/node_rankings", for progress lines.
    code_version : that of the step.
    log : called with each progress line.
    note : called with key and version of an input that is neither table, model nor setting.
    store : the store of memos and checkpoints; None if only tables are available.
    folder : folder of the corpus; None if only tables are available.
    buckets : buckets of documents that the step runs for; empty: all.
    versions : versions of the partitions read so far, by table; a step that finds one changed
        corrects it.
    engine : where blocks of heavy work are computed.
    kept : what a process that answers many questions keeps; None: nothing.
    explains : whether columns are filled that only an explanation of an answer shows.
    on_passages : called with the texts of the chunks, by id, from which answers will be written.
    """

    tables: Mapping[str, Any]
    corpus: str
    method: str = ""
    step: str = ""
    code_version: str = ""
    log: Callable[[str], None] = lambda _: None
    note: Callable[[InputKey, str], None] = lambda *_: None
    store: ParquetStore | None = None
    folder: Path | None = None
    buckets: Sequence[str] = ()
    versions: Mapping[str, MutableMapping[Partition, str]] = field(default_factory=dict)
    engine: Engine = LOCAL
    kept: Kept | None = None
    explains: bool = True
    on_passages: Callable[[Mapping[str, str]], None] = lambda _: None

    def table(self, name: str) -> pa.Table:
        """Return the rows of a table."""
        return self.tables[name].get()

    def column(self, name: str, column: str) -> list[Any]:
        """Return the values of one column of a table, without reading the others."""
        return self.tables[name].columns([column])[column].to_pylist()

    def model(self, name: str) -> Any:
        """Return one of `MODELS`."""
        return self.tables[name].get()

    def settings(self, section: str) -> Any:
        """Return a section of the corpus's `corpus.toml`."""
        return self.tables[SETTINGS].section(self.corpus, section)

    def prompts(self, family: str) -> Prompts:
        """Return the prompts of a family, with the overrides of the corpus."""
        return prompts_of(self.tables[SETTINGS].section, self.corpus, family)

    def progress(self, what: str) -> Report:
        """Return a function that reports how many of `what` are done: "documents scored"."""
        return reporter(f"{self.step}: {what}", self.log)

    @property
    def warehouse(self) -> ParquetStore:
        """The store of memos and checkpoints; raise `ValueError` if the inputs have none."""
        if self.store is None:
            raise ValueError(f"{self.step}: these inputs have no store of memos; set Inputs.store")
        return self.store

    @property
    def array_cache(self) -> ArrayCache | None:
        """Arrays derived from the texts of the corpus; None if the inputs have no store."""
        return ArrayCache(self.store, self.corpus) if self.store else None

    def memo(self, kind: str, identity: str) -> Memo:
        """Return the results computed earlier by a model of this identity."""
        return Memo(self.warehouse, kind, identity)

    def earlier_rows(self, table: str, models: Sequence[str] = ()) -> Lazy:
        """Return the rows of a table of the step that an earlier run of it wrote.

        Parameter `models`: models on which each row depends; they and the code must be as then.
        """
        written = TABLES[table]
        if self.store is None:
            return Lazy.of(written.empty())
        code_version = code_version_of(written, self.code_version)
        versions = {str(InputKey("model", name)): self.model(name).identity for name in models}
        files = [
            file
            for file in self.store.partitions(written, self.corpus)
            if not self.buckets or file.bucket in self.buckets
        ]
        valid = [
            file
            for file, footer in self.store.footers(written, files).items()
            if footer.code_version == code_version and versions.items() <= footer.inputs.items()
        ]
        return lazy_rows(self.store, written, valid)

    def derived(self, name: Hashable, tables: Sequence[str], make: Callable[[], Value]) -> Value:
        """Return what is computed from some tables alone, by a resident process once a version.

        Parameter `name`: of the value; it includes all settings on which the value depends.
        """
        if self.kept is None:
            return make()
        versions = tuple(self.tables[table].version() for table in tables)
        if None in versions:
            return make()
        return self.kept.get((self.corpus, name, *tables), versions, make)

    def count(self, table: str) -> int:
        """Return the number of rows of a table of the corpus, and note it as an input."""
        n = self.warehouse.count(TABLES[table], self.corpus)
        self.note(InputKey("rows", table, self.corpus), str(n))
        return n

    def size(self, table: str) -> int:
        """Return the binary digits of the number of rows of a table, and note it as an input."""
        n = self.warehouse.count(TABLES[table], self.corpus).bit_length()
        self.note(InputKey("size", table, self.corpus), str(n))
        return n

    def with_questions(self, queries: pa.Table) -> "Inputs":
        """Return the inputs with other questions, which are embedded when first read."""
        embedded = cache(lambda: embed_questions(queries, self.model("embedding_model")))
        added = {"queries": Lazy.of(queries), "query_embeddings": Lazy(embedded)}
        return replace(self, tables={**self.tables, **added})

    def with_tables(self, tables: Mapping[str, Any]) -> "Inputs":
        """Return the inputs with further tables, by name."""
        added = {name: Lazy.of(rows) for name, rows in tables.items()}
        return replace(self, tables={**self.tables, **added})


@dataclass(frozen=True)
class Step:
    """A computation of one or more tables that have the same partitions.

    It runs for a bucket of documents, a corpus, or a corpus and method, as its tables are
    partitioned (`Table.dimensions`). A step by bucket gets its inputs corpus by corpus.

    Attributes
    ----------
    make : returns the rows of the first table, or a `Result`.
    writes : purpose of each table in a sentence, by the table's name; the first names the step.
    reads : tables and models, by name; a step of a method finds its method's tables first. A step
        by bucket runs for the corpora that have rows of the first. Settings may be read without
        being named; by question steps also questions and the tables of earlier question steps.
    pool : pool that limits how many such steps run at once; None: no limit.
    code_version : must change when the same inputs give another result.
    untracked : those of `reads` whose changes do not make the result out of date.
    optional : those of `reads` that it takes as they are, also without rows: it does not wait for
        them, and their changes do not make the result out of date.
    dictionaries : text columns to read dictionary-encoded, by table.
    methods : for a step of an index, the methods of its family that read its tables, which are not
        made for others; empty: all.
    work : kind of work that its language model does.
    costs : what it requests of its models, for `gsum plan`.
    aggregates_methods : whether it reads what exists of all methods, and does not wait for those
        that failed.
    trains : whether it trains a network, which new documents do not make out of date; the job
        `retrain` does.
    checks : checks of its tables, by name, besides those of every table.
    """

    make: Callable[[Inputs], pa.Table | Result]
    writes: Mapping[str, str]
    reads: Sequence[str] = ()
    pool: str | None = "compute"
    code_version: str = "1"
    untracked: Collection[str] = ()
    optional: Collection[str] = ()
    dictionaries: Mapping[str, Sequence[str]] = field(default_factory=dict)
    methods: Collection[str] = ()
    work: Work = "answers"
    costs: Sequence[Cost] = ()
    aggregates_methods: bool = False
    trains: bool = False
    checks: Mapping[str, Sequence[Check]] = field(default_factory=dict)

    @property
    def table(self) -> str:
        """The first table that the step writes, which names it."""
        return next(iter(self.writes))

    def result(self, inputs: Inputs) -> Result:
        """Run the step and return its result."""
        rows = self.make(inputs)
        return rows if isinstance(rows, Result) else Result(rows)


def run(steps: Sequence[Step], inputs: Inputs) -> dict[str, pa.Table]:
    """Run steps in memory one after the other; return their tables by name."""
    tables: dict[str, pa.Table] = {}
    for step in steps:
        result = step.result(inputs.with_tables(tables))
        tables |= {step.table: result.rows, **result.beside}
    return tables
