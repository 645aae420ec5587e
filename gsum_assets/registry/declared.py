"""All steps with the assets that they write and read, independent of Dagster.

`build.py` turns them into Dagster assets, `plan.py` computes what is due in memory.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import Any

import pyarrow as pa

from gsum_assets.corpus.buckets import Buckets
from gsum_assets.corpus.index import CORPUS
from gsum_assets.corpus.load import N_BUCKETS
from gsum_assets.evaluation.answer_steps import answer_steps
from gsum_assets.evaluation.judge_steps import GENERATED_QUESTIONS, judging
from gsum_assets.evaluation.leaderboard_step import uniting
from gsum_assets.evaluation.scores_step import scores_step
from gsum_assets.pipeline.columns import DOCUMENT_LEVEL, RESULT
from gsum_assets.pipeline.family import Family
from gsum_assets.pipeline.result import Result
from gsum_assets.pipeline.step import MODELS, SETTINGS, Inputs, Step
from gsum_assets.pipeline.tables import RESULT_TABLES, by_corpus, table_of
from gsum_assets.registry.families import FAMILIES
from gsum_assets.retrieval.answerability_step import ANSWERABILITY
from gsum_resources.engine.garbage import collected_rarely
from gsum_resources.store.lazy import Lazy
from gsum_resources.store.parquet_store import ParquetStore, Partition
from gsum_resources.store.partition import StoreError
from gsum_resources.store.step_store import StepStore, undeclared
from gsum_resources.store.table import Table


class _OnlyDeclared(dict[str, Any]):
    """What a step reads, by name; any other name is an error that says what to declare."""

    def __init__(self, step: str, read: Mapping[str, Any]) -> None:
        super().__init__(read)
        self._step = step

    def __missing__(self, name: str) -> Any:
        raise StoreError(undeclared(self._step, name))


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
    by_index : for a question step, the tables of its family's index, which one asset represents.
    by_question : for a question step, those of `reads` that have rows of each question.
    prepare : changes the inputs before the step runs.
    """

    step: Step
    group: str
    path: Callable[[str], list[str]]
    reads: Sequence[str]
    methods: Sequence[str] = ()
    by_index: Sequence[str] = ()
    by_question: Sequence[str] = ()
    prepare: Callable[[Inputs], Inputs] = lambda inputs: inputs

    def table(self, name: str) -> Table:
        """Return a table that the step reads or writes."""
        return table_of(self.path(name))

    def takes_what_exists(self, name: str) -> bool:
        """Return whether the step takes of a table what exists of all methods."""
        return self.step.unites and self.table(name).dimensions == RESULT

    @property
    def name(self) -> str:
        """The step's name in ledger and progress lines: "gor/record_nodes"."""
        return "/".join(self.path(self.step.table))

    @property
    def tables(self) -> frozenset[str]:
        """Names of the tables that it reads or writes."""
        read = (name for name in self.reads if name not in (*MODELS, SETTINGS))
        return frozenset(self.table(name).name for name in (*read, *self.step.writes))

    @property
    def level(self) -> tuple[str, ...]:
        """Partition dimensions of the tables that it writes."""
        return self.table(self.step.table).dimensions

    def make(
        self, read: Mapping[str, Any], partitions: Sequence[Partition], around: Inputs
    ) -> Iterator[tuple[Inputs, Result]]:
        """Yield inputs and result for some partitions; a step by bucket runs corpus by corpus.

        Parameters
        ----------
        read : tables, models and settings by name.
        around : the other fields of the inputs, such as store and log; `folder` is the folder of
            all corpora.
        """
        if self.step.unites and around.store:
            self._require_a_method(around.store, partitions[0].corpus)
        for inputs in self._inputs(read, partitions, around):
            with collected_rarely():
                result = self.step.result(self.prepare(inputs))
            yield inputs, result

    def _require_a_method(self, store: ParquetStore, corpus: str) -> None:
        """Raise `StoreError` if no method has results that the step could unite."""
        names = [
            n for n in self.reads if n not in (*MODELS, SETTINGS) and self.takes_what_exists(n)
        ]
        tables = {self.table(name).name: self.table(name) for name in names}
        shared = [name for name in tables if name in RESULT_TABLES]
        missing = [name for name in shared if not store.partitions(tables[name], corpus)]
        if missing:
            raise StoreError(
                f"{' and '.join(missing)} of '{corpus}' were never made for any method; "
                f"materialize those of a method first, or `gsum run {corpus}`"
            )

    def _inputs(
        self, read: Mapping[str, Any], partitions: Sequence[Partition], around: Inputs
    ) -> Iterator[Inputs]:
        def n_buckets(corpus: str) -> int:
            return Buckets(around.store).of(corpus) if around.store else N_BUCKETS

        store = StepStore(around.store, self.name, self.tables) if around.store else None

        def inputs_of(corpus: str, tables: Mapping[str, Any], buckets: Sequence[str]) -> Inputs:
            return replace(
                around,
                tables=_OnlyDeclared(self.name, {name: tables[name] for name in self.reads}),
                corpus=corpus,
                store=store,
                method=partitions[0].method or "",
                step=self.name,
                code_version=self.step.code_version,
                folder=around.folder / corpus if around.folder else None,
                buckets=buckets if len(buckets) < n_buckets(corpus) else (),
            )

        if self.level != DOCUMENT_LEVEL:
            yield inputs_of(partitions[0].corpus, read, ())
            return
        tables = {n: read[n] for n in self.reads if n not in (*MODELS, SETTINGS)}
        split = {
            n: cache(lambda table=table: dict(by_corpus(table.get())))
            for n, table in tables.items()
        }

        def share(name: str, corpus: str) -> pa.Table:
            if corpus in split[name]():
                return split[name]()[corpus]
            return self.table(name).empty().append_column("corpus", pa.array([], pa.string()))

        for corpus in split[self.step.reads[0]]():
            shared = {n: Lazy(lambda n=n, corpus=corpus: share(n, corpus)) for n in tables}
            buckets = [p.bucket or "" for p in partitions if p.corpus == corpus]
            yield inputs_of(corpus, {**read, **shared}, buckets)

    def joined(self, results: Sequence[tuple[Inputs, Result]]) -> dict[str, pa.Table]:
        """Return the rows of each table that the step writes, of all corpora."""
        joined: dict[str, list[pa.Table]] = {name: [] for name in self.step.writes}
        for inputs, result in results:
            for name, rows in {self.step.table: result.rows, **result.beside}.items():
                if self.level == DOCUMENT_LEVEL and "corpus" not in rows.column_names:
                    # the store separates partitions by it
                    corpora = pa.repeat(pa.scalar(inputs.corpus), rows.num_rows)
                    rows = rows.append_column("corpus", corpora)
                joined[name].append(rows)
        return {
            name: pa.concat_tables(tables) if tables else self.table(name).empty()
            for name, tables in joined.items()
        }


_QUESTIONS = ("queries", "query_embeddings")


def of_family(family: Family) -> list[Declared]:
    """Return the steps of a family, from its index to the scores of its answers."""
    declare = partial(Declared, group=family.name, path=family.path, methods=family.methods)
    declared = [declare(step=step, reads=step.reads) for step in family.index]
    by_index = index_of(family)
    before: list[str] = []
    for step in (*family.retrieval_steps, *answer_steps(family), scores_step(family)):
        reads = list(dict.fromkeys([*before, "queries", SETTINGS, *step.reads]))
        asked = [] if step.retraining else [n for n in reads if n in (*before, *_QUESTIONS)]
        declared.append(
            declare(
                step=step,
                reads=reads,
                by_index=by_index,
                by_question=asked,
                prepare=family.questions,
            )
        )
        before += step.writes
    return declared


def with_indexes_read(family: Family) -> list[Declared]:
    """Return the steps of a family, and those of other families whose tables they read."""
    steps, names = of_family(family), set[str]()
    makers = {
        declared.table(name).name: declared
        for other in FAMILIES
        if other.name != family.name
        for declared in of_family(other)[: len(other.index)]
        for name in declared.step.writes
    }
    for declared in steps:  # grows
        read = (n for n in declared.reads if n not in (*MODELS, SETTINGS, *declared.step.optional))
        for name in (declared.table(n).name for n in read):
            maker = makers.get(name)
            if maker is not None and maker.name not in names:
                names.add(maker.name)
                steps.append(maker)
    return steps


def index_of(family: Family) -> list[str]:
    """Return the tables that questions are answered from, except those by method."""
    return [n for n in family.read_by_questions if family.table(n).dimensions != RESULT]


def _as_named(step: Step, group: str) -> Declared:
    return Declared(step, group, lambda table: table.split("/"), step.reads)


# generated questions become rows of `queries`: of the corpus, so that groups form no cycle
CORPUS_STEPS = [_as_named(step, "corpus") for step in (*CORPUS, GENERATED_QUESTIONS)]
EVALUATION_STEPS = [
    _as_named(step, "evaluation") for step in (ANSWERABILITY, judging(FAMILIES), uniting(FAMILIES))
]
STEPS: Sequence[Declared] = (
    *CORPUS_STEPS,
    *EVALUATION_STEPS,
    *(declared for family in FAMILIES for declared in of_family(family)),
)
"""All steps."""

STEP_OF: Mapping[str, Step] = {
    "/".join(declared.path(table)): declared.step
    for declared in STEPS
    for table in declared.step.writes
}
"""The step that writes each asset, `gor/record_edges`."""


def work_of(asset: str) -> str:
    """Return the kind of work that the language model of an asset's step does."""
    return STEP_OF[asset].work if asset in STEP_OF else "answers"
