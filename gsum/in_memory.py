"""The tables of one method over given texts: each is made in memory when it is first read.

The steps are those of the pipeline, with the same inputs in the same order, so that they give the
same rows. Nothing here knows Dagster, and nothing is written to disk.
"""

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property, partial
from typing import Any

import pyarrow as pa

from gsum.progress import Progress
from gsum.wording import naming_arguments
from gsum_assets.answering.ask import Sections
from gsum_assets.answering.workspace import section_of
from gsum_assets.corpus.evidence import query_rows
from gsum_assets.corpus.load import N_BUCKETS, Taken, bucket_of
from gsum_assets.corpus.queries import Query, as_queries
from gsum_assets.corpus.rows import rows_of
from gsum_assets.pipeline.columns import DOCUMENT_LEVEL, RESULT
from gsum_assets.pipeline.corpus_settings import CorpusSettings
from gsum_assets.pipeline.family import Family
from gsum_assets.pipeline.result import Result
from gsum_assets.pipeline.step import MODELS, SETTINGS, Inputs
from gsum_assets.pipeline.tables import TABLES
from gsum_assets.registry.declared import (
    CORPUS_STEPS,
    EVALUATION_STEPS,
    Declared,
    with_indexes_read,
    work_of,
)
from gsum_resources.llm.ledger import Ledger
from gsum_resources.messages.progress import reporter
from gsum_resources.models.by_work import Models
from gsum_resources.store.lazy import Lazy
from gsum_resources.store.parquet_store import Partition, conform
from gsum_resources.store.table import Table

CORPUS = "texts"
"""Name of the corpus that the given texts make up."""

_GIVEN = ("documents", "queries")  # steps that read files, and are made of what is given here
_OF_CORPUS = ("generated_questions",)  # of the steps of evaluation those before the questions
_LOG = logging.getLogger("gsum")


class MemoryTables:
    """The tables of a method over given texts, each made when it is first read.

    Parameters
    ----------
    family : the family of the method.
    method : the method that makes the results.
    loaded : the documents.
    questions : with references where there are any.
    settings : as of a `corpus.toml`.
    models : whose store keeps memos and replies.
    progress : shows the steps that take long.

    Attributes
    ----------
    failures : a sentence for each row that is missing or not as it should be.
    """

    def __init__(
        self,
        family: Family,
        method: str,
        loaded: Taken,
        questions: Sequence[Query],
        settings: CorpusSettings,
        models: Models,
        progress: Progress,
    ) -> None:
        self.family, self.method, self.models = family, method, models
        self._progress = progress
        self.failures: list[str] = []
        self._questions = questions
        self._settings = settings
        steps = [declared for declared in CORPUS_STEPS if declared.name not in _GIVEN]
        steps += [declared for declared in EVALUATION_STEPS if declared.name in _OF_CORPUS]
        self._makers = {
            declared.table(name).name: declared
            for declared in (*steps, *with_indexes_read(family))
            for name in declared.step.writes
        }
        self._made: dict[str, pa.Table] = {}
        for name, rows in {
            "source_documents": loaded.listing,
            "documents": loaded.documents,
            "rejected_documents": loaded.rejected,
            "document_sections": loaded.sections,
            "converted_documents": (),
            "source_queries": (),
            "source_graph": (),
        }.items():
            self._keep(TABLES[name], rows_of(TABLES[name], rows))

    @property
    def names(self) -> list[str]:
        """Every table that there is or that can be made."""
        return list(dict.fromkeys([*self._made, "queries", *self._makers]))

    def get(self, name: str) -> pa.Table:
        """Return the rows of a table, as the store of a home gives them."""
        if name not in self._made:
            with self.working([name]):
                if name == "queries":
                    self._keep(TABLES[name], self._queries())
                else:
                    self._make(self._makers[name])
        return self._made[name]

    @contextmanager
    def working(self, names: Sequence[str]) -> Iterator[None]:
        """Show the progress of making these tables; errors name arguments instead of files."""
        with naming_arguments(), self._progress.working(self._n_steps(names)):
            yield

    def _n_steps(self, names: Sequence[str]) -> int:
        """Return how many steps are left to make tables, if each reads all that it may."""
        left, steps = list(names), dict[str, Declared]()
        while left:
            name = left.pop()
            maker = self._makers.get("generated_questions" if name == "queries" else name)
            if name in self._made or maker is None or maker.name in steps:
                continue
            steps[maker.name] = maker
            left += [maker.table(r).name for r in maker.reads if r not in (*MODELS, SETTINGS)]
        return len(steps)

    def read(self, name: str, columns: Sequence[str] | None = None) -> pa.Table:
        """Return some columns of a table."""
        return self.get(name) if columns is None else self.get(name).select(list(columns))

    def scores(self, bertscore: bool) -> pa.Table:
        """Return the scores of the answers, those of BERTScore only where they are wanted."""
        if bertscore or "scores" in self._made:
            return self.get("scores")
        return self._scores_without_bertscore

    @cached_property
    def _scores_without_bertscore(self) -> pa.Table:
        overrides = {"scores": {"bertscore": False}}
        with self.working(["scores"]), self._progress.step("scores"):
            return self._joined(self._makers["scores"], overrides)["scores"]

    def inputs(self, asset: str) -> Inputs:
        """Return what the question half of the method reads, for a question on the side."""
        tables: dict[str, Any] = {
            name: Lazy(partial(self.get, self.family.table(name).name))
            for name in self.family.read_by_questions
        }
        tables |= {name: Lazy(partial(self._model, name, asset)) for name in MODELS}
        return Inputs({**tables, SETTINGS: Sections(self._section)}, CORPUS, self.method)

    def _queries(self) -> pa.Table:
        generated = as_queries(self.get("generated_questions"), self.get("assertions"))
        is_marked = any(question.relevant_spans for question in self._questions)
        passages = self.get("chunks") if is_marked else TABLES["chunks"].empty()
        rows, failures = query_rows([*self._questions, *generated], passages)
        self.failures += failures
        return rows

    def _make(self, declared: Declared) -> None:
        _LOG.info("%s", declared.name)
        with self._progress.step(declared.name):
            for name, rows in self._joined(declared).items():
                self._keep(declared.table(name), rows)

    def _joined(
        self, declared: Declared, overrides: Mapping[str, Mapping[str, Any]] | None = None
    ) -> dict[str, pa.Table]:
        """Return the rows of each table that a step writes."""
        around = Inputs(
            {}, CORPUS, overrides=overrides or {}, log=_LOG.info, store=self.models.store
        )
        read = {name: self._input(declared, name) for name in declared.reads}
        made = []
        for inputs, result in declared.make(read, self._partitions(declared), around):
            self.failures += [f"{declared.name}: {failure}" for failure in result.failures]
            made.append((inputs, Result(result.rows, beside=result.beside)))
        return declared.joined(made)

    def _partitions(self, declared: Declared) -> list[Partition]:
        if declared.level == DOCUMENT_LEVEL:
            return [Partition(CORPUS, bucket=f"{i:02d}") for i in range(N_BUCKETS)]
        return [Partition(CORPUS, method=self.method if declared.level == RESULT else None)]

    def _input(self, declared: Declared, name: str) -> Any:
        if name in MODELS:
            return Lazy(partial(self._model, name, declared.name))
        if name == SETTINGS:
            return Sections(self._section)
        table, columns = declared.table(name), declared.step.dictionaries.get(name, ())
        if name in declared.step.optional:
            return Lazy.of(table.empty())
        return Lazy(lambda: _with_dictionaries(self.get(table.name), table, columns))

    def _model(self, name: str, asset: str) -> Any:
        report = reporter(f"{asset}: {name}", _LOG.info)
        failed = partial(self._failed, asset)
        if name == "embedding_model":
            return self.models.embedder.reporting(report, lambda _: None)
        if name == "passage_scorer":
            return self.models.scorer.reporting(report, lambda _: None, failed)
        ledger = Ledger(self.models.store, TABLES["llm_calls"], CORPUS, asset)
        work = work_of(asset) if name == "language_model" else name
        return self.models.language_model(ledger, report, failed, work)

    def _failed(self, asset: str, document_id: str) -> None:
        about = f" on document '{document_id}'" if document_id else ""
        self.failures.append(f"{asset}: a request{about} got no valid reply")

    def _section(self, _: str, name: str) -> Any:
        return section_of(self._settings, name)

    def _keep(self, table: Table, rows: pa.Table) -> None:
        """Keep rows as the store would give them back: in order of buckets, with dimensions."""
        rows = conform(table, rows, table.name)
        dimensions: dict[str, Callable[[], pa.Array]] = {
            "corpus": lambda: pa.repeat(CORPUS, rows.num_rows),
            "method": lambda: pa.repeat(self.method, rows.num_rows),
        }
        if table.dimensions == DOCUMENT_LEVEL:
            buckets = [bucket_of(document_id) for document_id in rows["document_id"].to_pylist()]
            order = sorted(range(len(buckets)), key=buckets.__getitem__)
            rows = rows.take(pa.array(order, pa.int64()))
            dimensions["bucket"] = lambda: pa.array(sorted(buckets), pa.string())
        for name in table.dimensions:
            rows = rows.append_column(name, dimensions[name]())
        self._made[table.name] = rows


def _with_dictionaries(rows: pa.Table, table: Table, columns: Sequence[str]) -> pa.Table:
    """Return rows with columns of texts as dictionaries, and with them the dimensions."""
    for name in (*columns, *table.dimensions) if columns else ():
        at = rows.column_names.index(name)
        rows = rows.set_column(at, name, rows[name].dictionary_encode())
    return rows
