"""All steps with the assets that they write and read, independent of Dagster.

`dagster_assets/build.py` turns them into Dagster assets, `refresh/step.py` executes them.
"""

from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from graphlib import TopologicalSorter
from typing import Any

import pyarrow as pa

from gsum_assets.corpus.index import CORPUS
from gsum_assets.evaluation.answer_steps import answer_steps
from gsum_assets.evaluation.comparisons import as_table
from gsum_assets.evaluation.generate_questions import GENERATED_QUESTIONS
from gsum_assets.evaluation.judges.judgements import judging
from gsum_assets.evaluation.leaderboard_step import uniting
from gsum_assets.evaluation.score import scores_step
from gsum_assets.pipeline.columns import DOCUMENT_LEVEL, RESULT
from gsum_assets.pipeline.family import Family
from gsum_assets.pipeline.result import Result
from gsum_assets.pipeline.step import MODELS, SETTINGS, Inputs, Step
from gsum_assets.pipeline.tables import RESULT_TABLES, table_of
from gsum_assets.registry.families import FAMILIES
from gsum_assets.retrieval.answerability import ANSWERABILITY
from gsum_resources.engine.garbage import collected_rarely
from gsum_resources.store.parquet_store import ParquetStore, Partition
from gsum_resources.store.partition import StoreError
from gsum_resources.store.table import Table


class _OnlyDeclared(dict[str, Any]):
    """What a step reads, by name; any other name is an error that says what to declare."""

    def __init__(self, step: str, read: Mapping[str, Any]) -> None:
        super().__init__(read)
        self._step = step

    def __missing__(self, name: str) -> Any:
        raise StoreError(
            f"step '{self._step}' reads '{name}', which it does not declare; add it to its `reads`"
        )


@dataclass(frozen=True)
class Declared:
    """A step with the assets of its tables.

    Attributes
    ----------
    step : the step.
    group : asset group in the UI.
    path : returns the asset path of a table by the name that the step uses for it.
    reads : all tables, models and settings that it may read, by that name.
    methods : methods of the family that the step belongs to.
    needed_by : methods that need its tables; None: every corpus has them.
    by_index : for a question step, the tables of its family's index, which one asset represents.
    for_questions : whether it is computed for questions; a corpus without any does not need it.
    prepare : changes the inputs before the step runs.
    """

    step: Step
    group: str
    path: Callable[[str], list[str]]
    reads: Sequence[str]
    methods: Sequence[str] = ()
    needed_by: frozenset[str] | None = None
    by_index: Sequence[str] = ()
    for_questions: bool = False
    prepare: Callable[[Inputs], Inputs] = lambda inputs: inputs

    def table(self, name: str) -> Table:
        """Return a table that the step reads or writes."""
        return table_of(self.path(name))

    def takes_what_exists(self, name: str) -> bool:
        """Return whether the step takes of a table what exists of all methods."""
        return self.step.aggregates_methods and self.table(name).dimensions == RESULT

    def is_needed(self, methods: Collection[str]) -> bool:
        """Return whether a corpus needs the step for some methods."""
        if self.step.aggregates_methods and not methods:
            return False
        return self.needed_by is None or not self.needed_by.isdisjoint(methods)

    @cached_property
    def name(self) -> str:
        """The step's name in ledger and progress lines: "gor/record_nodes"."""
        return "/".join(self.path(self.step.table))

    @cached_property
    def assets(self) -> Sequence[str]:
        """The assets that it writes: "gor/record_nodes"."""
        return ["/".join(self.path(name)) for name in self.step.writes]

    @cached_property
    def read_tables(self) -> Sequence[str]:
        """Those of `reads` that are tables."""
        return [name for name in self.reads if name not in (*MODELS, SETTINGS)]

    @cached_property
    def read_assets(self) -> Sequence[str]:
        """The assets of tables on which it depends; what it takes as it is, is none."""
        names = [name for name in self.read_tables if name not in self.step.optional]
        return ["/".join(self.path(name)) for name in names]

    @cached_property
    def tables(self) -> frozenset[str]:
        """Names of the tables that it reads or writes."""
        return frozenset(self.table(name).name for name in (*self.read_tables, *self.step.writes))

    @property
    def level(self) -> tuple[str, ...]:
        """Partition dimensions of the tables that it writes."""
        return self.table(self.step.table).dimensions

    def run(
        self, read: Mapping[str, Any], partitions: Sequence[Partition], around: Inputs
    ) -> tuple[Inputs, Result]:
        """Compute some partitions of one corpus; return the inputs and the result.

        A step by bucket does not run if there are no rows of the first table that it reads.

        Parameters `read`: tables, models and settings by name; `around`: the other fields of the
        inputs, such as store, log and buckets.
        """
        corpus, method = partitions[0].corpus, partitions[0].method or ""
        if self.step.aggregates_methods and around.store:
            self._require_a_method(around.store, corpus)
        inputs = replace(
            around,
            tables=_OnlyDeclared(self.name, {name: read[name] for name in self.reads}),
            corpus=corpus,
            method=method,
            step=self.name,
            code_version=self.step.code_version,
        )
        if self.level == DOCUMENT_LEVEL and not inputs.table(self.step.reads[0]).num_rows:
            empty = {name: self.table(name).empty() for name in self.step.writes}
            return inputs, Result(empty.pop(self.step.table), beside=empty)
        with collected_rarely():
            return inputs, self.step.result(self.prepare(inputs))

    def _require_a_method(self, store: ParquetStore, corpus: str) -> None:
        """Raise `StoreError` if no method has results that the step could unite."""
        names = [name for name in self.read_tables if self.takes_what_exists(name)]
        tables = {self.table(name).name: self.table(name) for name in names}
        shared = [name for name in tables if name in RESULT_TABLES]
        missing = [name for name in shared if not store.partitions(tables[name], corpus)]
        if missing:
            raise StoreError(
                f"{' and '.join(missing)} of '{corpus}' were never made for any method; "
                f"materialize those of a method first, or `gsum run {corpus}`"
            )


INDEX = "index"
"""Name of the asset that represents a family's index."""


def _index_step(family: Family) -> Step:
    """Return the step of an asset between a family's index and its question steps.

    Question steps read the tables and record which, so that a new row here makes none of them
    stale. A table that no requested method needs is left out.
    """
    names = index_of(family)
    of_some_methods = {n for step in family.index if step.methods for n in step.writes}

    def index(inputs: Inputs) -> pa.Table:
        rows = []
        for name in names:
            table, lazy = family.table(name), inputs.tables[name]
            n_files = len(inputs.warehouse.partitions(table, inputs.corpus))
            if not n_files and name in of_some_methods:
                continue
            version = lazy.version() or ""
            rows.append((table.name, inputs.warehouse.count(table, inputs.corpus), version))
        return as_table(f"{family.name}.{INDEX}", rows)

    purpose = "Represents all tables that questions are answered from; each method reads some."
    return Step(index, {INDEX: purpose}, names, pool=None)


def of_family(family: Family) -> list[Declared]:
    """Return the steps of a family, from its index to the scores of its answers."""
    declare = partial(Declared, group=family.name, path=family.path, methods=family.methods)
    needed_by = frozenset(family.methods)
    declared = []
    for step in family.index:
        readers = set().union(*(_READERS[family.table(name).name] for name in step.writes))
        of_step = frozenset(step.methods or needed_by) | (readers - needed_by)
        declared.append(declare(step=step, reads=step.reads, needed_by=of_step))
    by_index = index_of(family)
    index = _index_step(family)
    declared.append(declare(step=index, reads=index.reads, needed_by=needed_by))
    before: list[str] = []
    for step in (*family.retrieval_steps, *answer_steps(family), scores_step(family)):
        reads = list(dict.fromkeys([*before, "queries", SETTINGS, *step.reads]))
        declared.append(
            declare(
                step=step,
                reads=reads,
                needed_by=needed_by,
                by_index=by_index,
                for_questions=True,
                prepare=family.questions,
            )
        )
        before += step.writes
    return declared


_WRITERS = {
    family.table(name).name: (family, step)
    for family in FAMILIES
    for step in family.index
    for name in step.writes
}


def _tables_read(family: Family) -> set[str]:
    """Return the names of the tables that a family reads, and of those that these depend on."""
    steps = (*family.index, *family.question, *answer_steps(family), scores_step(family))
    left, read = [(family, step) for step in steps], set[str]()
    while left:
        reader, step = left.pop()
        names = {n for n in step.reads if n not in (*MODELS, SETTINGS, *step.optional)}
        new = {reader.table(name).name for name in names} - read
        read |= new
        left += [_WRITERS[name] for name in new if name in _WRITERS]
    return read


_READERS: dict[str, set[str]] = defaultdict(set)
"""The methods of the families that depend on a table, by its name."""
for _family in FAMILIES:
    for _name in _tables_read(_family):
        _READERS[_name].update(_family.methods)


def index_of(family: Family) -> list[str]:
    """Return the tables that questions are answered from, except those by method."""
    return [n for n in family.read_by_questions if family.table(n).dimensions != RESULT]


# generated questions become rows of `queries`: of the corpus, so that groups form no cycle
_SHARED = {
    "corpus": (*CORPUS, GENERATED_QUESTIONS),
    "evaluation": (ANSWERABILITY, judging(FAMILIES), uniting(FAMILIES)),
}
STEPS: Sequence[Declared] = (
    *(
        Declared(
            step,
            group,
            lambda name: name.split("/"),
            step.reads,
            for_questions=step.aggregates_methods,
        )
        for group, steps in _SHARED.items()
        for step in steps
    ),
    *(declared for family in FAMILIES for declared in of_family(family)),
)
"""All steps."""

_BY_ASSET = {asset: declared for declared in STEPS for asset in declared.assets}
_DEPENDENCIES = {
    declared.name: [_BY_ASSET[a].name for a in declared.read_assets if a in _BY_ASSET]
    for declared in STEPS
}
ORDERED: Sequence[Declared] = [
    _BY_ASSET[name] for name in TopologicalSorter(_DEPENDENCIES).static_order()
]
"""All steps, each behind those that it depends on."""


def work_of(asset: str) -> str:
    """Return the kind of work that the language model of an asset's step does."""
    return _BY_ASSET[asset].step.work if asset in _BY_ASSET else "answers"
