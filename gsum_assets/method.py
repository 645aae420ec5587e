"""One declaration of a step, and of a method: nothing here knows Dagster.

A step makes tables from tables. `build.py` turns steps into Dagster assets; `run` makes them in
memory, for `gsum ask`, the sweep over K and whoever has the tables at hand.
"""

from collections.abc import Callable, Collection, Mapping, MutableMapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
from pydantic import BaseModel

from gsum_assets.corpus.embed import embed_questions
from gsum_assets.corpus.prompts import Prompts, prompts_of
from gsum_assets.evaluation.answer import answer_questions, with_spent
from gsum_assets.result import Result
from gsum_assets.tables import RESULT_TABLES, TABLES, table_of
from gsum_resources.arrow import pc
from gsum_resources.lazy import Lazy
from gsum_resources.memo import Memo
from gsum_resources.parquet_store import ParquetStore, Partition
from gsum_resources.progress import Report, reporter
from gsum_resources.table import Table

MODELS = ("language_model", "judge_model", "embedding_model", "passage_scorer")
SETTINGS = "corpus_settings"
RANKINGS = {"rankings": "What the method finds, best first."}
CONTEXTS = {
    "contexts": "All that the answer may rest on, in the order in which the model reads it."
}
_FOR_QUESTIONS = ("queries", SETTINGS)  # what every step of the question half may read


@dataclass(frozen=True)
class Inputs:
    """What a step may read; what it does not read is no input of its result.

    Attributes
    ----------
    tables : tables, models and settings, by name.
    corpus : that the step is for.
    variant : name of the method, where the step makes the results of one.
    overrides : keys by section that replace those of `corpus.toml`.
    step : its name, "gor/node_rankings", for lines about its progress.
    log : takes such a line.
    note : takes name and version of an input that is neither table, model nor setting.
    store : that has the memos and checkpoints; None where only tables are at hand.
    folder : of the corpus; None where only tables are at hand.
    buckets : of the documents that the step is for; empty: all.
    versions : of the partitions read so far, by table; a step that finds one changed corrects it.
    """

    tables: Mapping[str, Any]
    corpus: str
    variant: str = ""
    overrides: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    step: str = ""
    log: Callable[[str], None] = lambda _: None
    note: Callable[[str, str], None] = lambda *_: None
    store: ParquetStore | None = None
    folder: Path | None = None
    buckets: Sequence[str] = ()
    versions: Mapping[str, MutableMapping[Partition, str]] = field(default_factory=dict)

    def table(self, name: str) -> pa.Table:
        """The rows of a table."""
        return self.tables[name].get()

    def model(self, name: str) -> Any:
        """One of `MODELS`."""
        return self.tables[name].get()

    def settings(self, section: str) -> Any:
        """A section of the corpus's `corpus.toml`."""
        value = self.tables[SETTINGS].section(self.corpus, section)
        return {**value, **self.overrides[section]} if section in self.overrides else value

    def prompts(self, family: str) -> Prompts:
        """The prompts of a family as the corpus has them."""
        return prompts_of(self.tables[SETTINGS], self.corpus, family)

    def progress(self, what: str) -> Report:
        """Shows how many of `what` are done: "documents scored"."""
        return reporter(f"{self.step}: {what}", self.log)

    @property
    def warehouse(self) -> ParquetStore:
        """The store of memos and checkpoints.

        Raises
        ------
        ValueError
            If the step runs where there is none.
        """
        if self.store is None:
            raise ValueError(
                f"{self.step}: there is no store here that remembers what was computed"
            )
        return self.store

    def memo(self, kind: str, identity: str) -> Memo:
        """What was computed before by a model of this identity."""
        return Memo(self.warehouse, kind, identity)

    def count(self, table: str) -> int:
        """Rows that a table of the corpus has; an input, though its rows are not."""
        n = self.warehouse.count(TABLES[table], self.corpus)
        self.note(f"rows:{table}/corpus={self.corpus}", str(n))
        return n

    @property
    def title(self) -> str:
        """What the step is for, as the title of a plot."""
        if not self.buckets:
            return f"{self.corpus}, {self.variant}" if self.variant else self.corpus
        return f"{self.corpus}, bucket {', '.join(self.buckets)}"

    def with_questions(self, queries: pa.Table) -> "Inputs":
        """The same with other questions, which are embedded once a step reads their vectors."""
        embedded = cache(lambda: embed_questions(queries, self.model("embedding_model")))
        made = {"queries": Lazy(lambda: queries), "query_embeddings": Lazy(embedded)}
        return replace(self, tables={**self.tables, **made})

    def with_made(self, made: Mapping[str, Any]) -> "Inputs":
        """The same, and rows that steps have made meanwhile."""
        added = {name: Lazy(lambda one=one: one) for name, one in made.items()}
        return replace(self, tables={**self.tables, **added})


@dataclass(frozen=True)
class Step:
    """Makes one or more tables of the same partitions.

    Its level is that of its tables: made for a bucket of documents, a corpus, or a corpus and
    method (`Table.dimensions`). A step by bucket gets its inputs corpus by corpus.

    Attributes
    ----------
    make : inputs in, rows out: those of the first table, or a `Result`.
    writes : what each table is for, in a sentence, by its name; the first names the step.
    reads : tables and models, by name; a step of a method finds its method's tables first. A step
        by bucket is made for the corpora that have rows of the first. Settings, and of the question
        half questions and all that earlier steps made, may be read without being named.
    pool : that bounds how many such steps run at once; None: not bounded.
    code_version : changes with what it makes of the same inputs.
    untracked : of `reads`, those whose changes do not put out of date what was made.
    dictionaries : columns of texts that are wanted as dictionaries, by table.
    apart : whether each table can be requested alone in the UI, though all are made.
    """

    make: Callable[[Inputs], pa.Table | Result]
    writes: Mapping[str, str]
    reads: Sequence[str] = ()
    pool: str | None = "compute"
    code_version: str = "1"
    untracked: Collection[str] = ()
    dictionaries: Mapping[str, Sequence[str]] = field(default_factory=dict)
    apart: bool = False

    @property
    def table(self) -> str:
        """The first table that it writes, which names it."""
        return next(iter(self.writes))

    def result(self, inputs: Inputs) -> Result:
        """What it makes."""
        made = self.make(inputs)
        return made if isinstance(made, Result) else Result(made)


class Read(NamedTuple):
    """The texts that answers rest on.

    Attributes
    ----------
    rows : as of `contexts`, those with a text.
    held : chunks that a text holds or was written from, with their documents, by node id; a chunk
        holds itself.
    """

    rows: pa.Table
    held: Mapping[str, Collection[tuple[str, str]]]


@dataclass(frozen=True)
class Method:
    """A method with its variants: what it indexes, how it answers, and what may be set.

    Attributes
    ----------
    name : its key, which is its folder, its asset prefix and its group.
    variants : each is a partition and a row of the leaderboard.
    default : those that a new corpus starts.
    index : steps that make its tables from those of the corpus, in order.
    question : steps from questions to what answers are written from, in order; `rankings` and
        `contexts` are among them. Those after `contexts` refine it: answers are written from the
        rows of the last one, whose columns are those of `contexts` at least.
    settings : checks the method's table of `corpus.toml`, whose tables a step reads one by one, as
        "gor.training"; None where the steps read and check the whole.
    prompts : of its requests to a language model; None: it makes none of its own.
    explain : tells how an answer came about, from what all steps made for one question; None: the
        passages that it rests on say all.
    k : setting that says how many passages are read, section and key, as "gor.contexts.k"; empty
        where there is none.
    without_k : variants to which that setting means nothing.
    asked : the questions that a variant can be asked; None: all. An upper bound that reads the
        marked evidence has no answer where none is marked.
    read : the texts that answers rest on; None: the rows that answers are written from.
    """

    name: str
    variants: Sequence[str]
    question: Sequence[Step]
    index: Sequence[Step] = ()
    default: Sequence[str] = ()
    settings: type[BaseModel] | None = None
    prompts: Prompts | None = None
    explain: Callable[[Inputs], str] | None = None
    k: str = ""
    without_k: Collection[str] = ()
    asked: Callable[[str, pa.Table], pa.Table] | None = None
    read: Callable[[Inputs], Read] | None = None

    def path(self, table: str) -> list[str]:
        """The asset that has a table by the name that the method's steps have for it."""
        own = [self.name, table]
        return own if table in RESULT_TABLES or ".".join(own) in TABLES else [table]

    def table(self, name: str) -> Table:
        """A table by the name that the method's steps have for it."""
        return table_of(self.path(name))

    @property
    def read_by_questions(self) -> Sequence[str]:
        """Tables that the question half reads besides what is made for questions, and documents."""
        named = [name for step in self.question for name in step.reads]
        left = {*MODELS, *_FOR_QUESTIONS, "query_embeddings"}
        return list(dict.fromkeys(["documents", *(n for n in named if n not in left)]))

    @property
    def preparations(self) -> Sequence[Step]:
        """The steps before `rankings`."""
        return self.question[: self._place("rankings")]

    @property
    def retrieval_steps(self) -> Sequence[Step]:
        """The steps from questions to contexts, in order."""
        return self.question[: self._place("contexts") + 1]

    @property
    def refinements(self) -> Sequence[Step]:
        """The steps between `contexts` and `summaries`, in order."""
        return self.question[self._place("contexts") + 1 :]

    @property
    def answer_steps(self) -> Sequence[Step]:
        """The steps from contexts to answers, in order."""
        purpose = "The answer, and what it cost in calls, tokens and seconds."
        written = Step(
            self._answered, {"summaries": purpose}, ["language_model"], "llm", code_version="3"
        )
        return (*self.refinements, written)

    def _place(self, table: str) -> int:
        return [step.table for step in self.question].index(table)

    @property
    def answered_from(self) -> str:
        """The table whose rows answers are written from."""
        return self.question[-1].table

    def _answered(self, inputs: Inputs) -> Result:
        """Rows of `summaries`; what the steps before took is added to what each answer took."""
        asking = [*self.preparations, *self.refinements]
        answers = answer_questions(
            inputs.table("queries"),
            inputs.table(self.answered_from),
            inputs.model("language_model"),
            inputs.settings("answer")["max_words"],
            inputs.prompts("answers"),
        )
        spent = [inputs.table(step.table) for step in asking]
        return Result(with_spent(answers.rows, spent), answers.failures)

    def questions(self, inputs: Inputs) -> Inputs:
        """The inputs with those questions alone that the variant can be asked."""
        if self.asked is None:
            return inputs
        asked, queries = self.asked, inputs.tables["queries"]
        left = Lazy(lambda: asked(inputs.variant, queries.get()))
        return replace(inputs, tables={**inputs.tables, "queries": left})

    def sweep(self, inputs: Inputs) -> Sequence[int]:
        """The numbers of passages that the variant's curve is drawn over."""
        if not self.k or inputs.variant in self.without_k:
            return ()
        return inputs.settings("retrieval.sweep")

    def made_with(self, inputs: Inputs, k: int) -> Inputs:
        """The inputs, and what all steps make in memory with `k` passages to read."""
        section, _, key = self.k.rpartition(".")
        inputs = replace(inputs, overrides={section: {key: k}})
        return inputs.with_made(run((*self.retrieval_steps, *self.answer_steps), inputs))

    def texts_read(self, inputs: Inputs) -> Read:
        """The texts that answers rest on; what was dropped is not among them."""
        rows, held = self.read(inputs) if self.read else Read(inputs.table(self.answered_from), {})
        return Read(rows.filter(pc.not_equal(rows["text"], "")), held)


def run(steps: Sequence[Step], inputs: Inputs) -> dict[str, pa.Table]:
    """What steps make in memory, one after the other, by table."""
    made: dict[str, pa.Table] = {}
    for step in steps:
        found = step.result(inputs.with_made(made))
        made |= {step.table: found.rows, **found.beside}
    return made
