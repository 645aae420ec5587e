"""What a family of methods declares once: its methods, its steps, and what they may read.

Nothing here knows Dagster: `gsum ask` and the sweep over K run the steps without it.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any, NamedTuple

import pyarrow as pa
from pydantic import BaseModel

from gsum_assets.corpus.embed import embed_questions
from gsum_assets.corpus.prompts import Prompts, prompts_of
from gsum_assets.evaluation.answer import answer_questions, with_spent
from gsum_assets.result import Result
from gsum_resources.arrow import pc
from gsum_resources.lazy import Lazy


@dataclass(frozen=True)
class Inputs:
    """What a method's step may read; what it does not read is no input of its result.

    `tables` holds tables, models and settings by asset name; `overrides` holds keys by section
    that replace those of `corpus.toml`.
    """

    tables: Mapping[str, Any]
    corpus: str
    overrides: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    def table(self, name: str) -> pa.Table:
        """The rows of a table."""
        return self.tables[name].get()

    def model(self, name: str) -> Any:
        """`embedding_model`, `language_model` or `passage_scorer`."""
        return self.tables[name].get()

    def settings(self, section: str) -> Any:
        """A section of the corpus's `corpus.toml`."""
        value = self.tables["corpus_settings"].section(self.corpus, section)
        return {**value, **self.overrides[section]} if section in self.overrides else value

    def prompts(self, family: str) -> Prompts:
        """The prompts of a family as the corpus has them."""
        return prompts_of(self.tables["corpus_settings"], self.corpus, family)

    def with_questions(self, queries: pa.Table) -> "Inputs":
        """The same with other questions, which are embedded once a step reads their vectors."""
        embedded = cache(lambda: embed_questions(queries, self.model("embedding_model")))
        made = {"queries": Lazy(lambda: queries), "query_embeddings": Lazy(embedded)}
        return replace(self, tables={**self.tables, **made})

    def with_made(self, made: Mapping[str, Any]) -> "Inputs":
        """The same, and rows that steps have made meanwhile."""
        added = {name: Lazy(lambda one=one: one) for name, one in made.items()}
        return replace(self, tables={**self.tables, **added})


Explain = Callable[[str, Inputs], str]
"""Variant and what every step made for one question in, text to read out."""


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


class Step(NamedTuple):
    """A step of the way from questions to answers; it may read what the steps before it made.

    Attributes
    ----------
    table : that it makes, as it is named in `Inputs`.
    make : variant and inputs in, rows out.
    purpose : as the UI shows it.
    reads_index : whether it may read what the family reads, and the questions' vectors, besides
        questions, settings, models and the steps before.
    models : that it may ask.
    pool : that bounds how many such steps run at once; None: not bounded.
    code_version : changes with what it makes of the same inputs.
    """

    table: str
    make: Callable[[str, Inputs], Result]
    purpose: str
    reads_index: bool = True
    models: Sequence[str] = ("language_model",)
    pool: str | None = "llm"
    code_version: str = "1"


@dataclass(frozen=True)
class Family:
    """A family of methods.

    Attributes
    ----------
    name : its key, which is its folder, its asset prefix and its group.
    variants : names of its methods; each is a partition and a row of the leaderboard.
    default : those that a new corpus starts.
    rank : makes the rows of `rankings`.
    contexts : makes the rows of `contexts`.
    reads : document-level assets that `rank` and `contexts` may read, `chunks`,
        `gor/record_nodes`; the last part is the table's name in `Inputs`.
    reads_by_corpus : the family's own assets by corpus that they may read. These and `reads` are
        the index, for which the asset `<family>/index` stands.
    reads_by_variant : the family's own assets by corpus and variant that they may read.
    models : that `rank` may ask.
    preparations : steps before `rankings`, in order; what they make is read by all steps after.
    refinements : steps between `contexts` and `summaries`, in order; answers are written from the
        rows of the last one, whose columns are those of `contexts` at least.
    settings : checks the family's table of `corpus.toml`, whose tables a step reads one by one, as
        "gor.training"; None where the steps read and check the whole.
    prompts : of the family's requests to a language model; None: it makes none of its own.
    explain : tells how an answer came about, from what all steps made for one question; None: the
        passages that it rests on say all.
    k : setting that says how many passages are read, section and key, as "gor.contexts.k"; empty
        where the family has none.
    without_k : methods to which that setting means nothing.
    asked : the questions that a method can be asked; None: all. An upper bound that reads the
        marked evidence has no answer where none is marked.
    read : the texts that answers rest on; None: the rows that answers are written from.
    """

    name: str
    variants: Sequence[str]
    default: Sequence[str]
    rank: Callable[[str, Inputs], pa.Table]
    contexts: Callable[[str, Inputs], pa.Table]
    reads: Sequence[str]
    reads_by_corpus: Sequence[str] = ()
    reads_by_variant: Sequence[str] = ()
    models: Sequence[str] = ()
    preparations: Sequence[Step] = ()
    refinements: Sequence[Step] = ()
    settings: type[BaseModel] | None = None
    prompts: Prompts | None = None
    explain: Explain | None = None
    k: str = ""
    without_k: Collection[str] = ()
    asked: Callable[[str, pa.Table], pa.Table] | None = None
    read: Callable[[str, Inputs], Read] | None = None

    @property
    def retrieval_steps(self) -> Sequence[Step]:
        """The steps from questions to contexts, in order."""
        return (
            *self.preparations,
            Step(
                "rankings",
                lambda variant, inputs: Result(self.rank(variant, inputs)),
                "What the method finds, best first.",
                models=self.models,
                pool="compute",
                code_version="2",
            ),
            Step(
                "contexts",
                lambda variant, inputs: Result(self.contexts(variant, inputs)),
                "All that the answer may rest on, in the order in which the model reads it.",
                models=(),
                pool=None,
            ),
        )

    @property
    def answer_steps(self) -> Sequence[Step]:
        """The steps from contexts to answers, in order."""
        return (
            *self.refinements,
            Step(
                "summaries",
                lambda _, inputs: answered(self, inputs),
                "The answer, and what it cost in calls, tokens and seconds.",
                reads_index=False,
                code_version="3",
            ),
        )

    @property
    def answered_from(self) -> str:
        """The table whose rows answers are written from."""
        return self.refinements[-1].table if self.refinements else "contexts"

    def questions(self, variant: str, inputs: Inputs) -> Inputs:
        """The inputs with those questions alone that the method can be asked."""
        if self.asked is None:
            return inputs
        asked, queries = self.asked, inputs.tables["queries"]
        return replace(
            inputs,
            tables={**inputs.tables, "queries": Lazy(lambda: asked(variant, queries.get()))},
        )

    def sweep(self, variant: str, inputs: Inputs) -> Sequence[int]:
        """The numbers of passages that the method's curve is drawn over."""
        if not self.k or variant in self.without_k:
            return ()
        return inputs.settings("retrieval.sweep")

    def made_with(self, variant: str, inputs: Inputs, k: int) -> Inputs:
        """The inputs, and what all steps make in memory with `k` passages to read."""
        section, _, key = self.k.rpartition(".")
        inputs = replace(inputs, overrides={section: {key: k}})
        return inputs.with_made(run((*self.retrieval_steps, *self.answer_steps), variant, inputs))

    def texts_read(self, variant: str, inputs: Inputs) -> Read:
        """The texts that answers rest on; what was dropped is not among them."""
        rows, held = (
            self.read(variant, inputs) if self.read else Read(inputs.table(self.answered_from), {})
        )
        return Read(rows.filter(pc.not_equal(rows["text"], "")), held)


def run(steps: Sequence[Step], variant: str, inputs: Inputs) -> dict[str, pa.Table]:
    """What steps make in memory, one after the other, by table."""
    made: dict[str, pa.Table] = {}
    for step in steps:
        made[step.table] = step.make(variant, inputs.with_made(made)).rows
    return made


def answered(family: Family, inputs: Inputs) -> Result:
    """Rows of `summaries`; what the steps before took is added to what each answer took."""
    prepared = [inputs.table(step.table) for step in family.preparations]
    refined = [inputs.table(step.table) for step in family.refinements]
    answers = answer_questions(
        inputs.table("queries"),
        inputs.table(family.answered_from),
        inputs.model("language_model"),
        inputs.settings("answer")["max_words"],
        inputs.prompts("answers"),
    )
    return Result(with_spent(answers.rows, [*prepared, *refined]), answers.problems)
