"""What a family of methods declares once: its methods, its steps, and what they may read.

Nothing here knows Dagster: `gsum ask` runs the steps of one question without it.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import pyarrow as pa
from pydantic import BaseModel

from gsum_assets.evaluation.answer import answer_questions, with_spent


@dataclass(frozen=True)
class Inputs:
    """What a method's step may read; what it does not read is no input of its result.

    `tables` holds tables, models and settings by asset name.
    """

    tables: Mapping[str, Any]
    corpus: str

    def table(self, name: str) -> pa.Table:
        """The rows of a table."""
        return self.tables[name].get()

    def model(self, name: str) -> Any:
        """`embedding_model`, `language_model` or `passage_scorer`."""
        return self.tables[name].get()

    def settings(self, section: str) -> Any:
        """A section of the corpus's `corpus.toml`."""
        return self.tables["corpus_settings"].section(self.corpus, section)


Step = Callable[[str, Inputs], pa.Table]
"""A method's step: variant and inputs in, rows out."""

Explain = Callable[[str, Inputs], str]
"""Variant and what every step made for one question in, text to read out."""


class Made(NamedTuple):
    """Rows of a table, and a line for each that is missing since a model gave no valid reply."""

    rows: pa.Table
    problems: Sequence[str]


class ModelStep(NamedTuple):
    """A step for each question that may ask the language model, beside the four of all families.

    Attributes
    ----------
    table : that it makes, as it is named in `Inputs`.
    make : makes its rows; reads what the family reads, and the steps before.
    purpose : as the UI shows it.
    reads_index : whether it reads more than questions, settings, model and the steps before.
    """

    table: str
    make: Callable[[str, Inputs], Made]
    purpose: str
    reads_index: bool = True


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
    context_models : that `contexts` may ask.
    preparations : steps before `rankings`, in order; what they make is read by all steps after.
    refinements : steps between `contexts` and `summaries`, in order; answers are written from the
        rows of the last one, whose columns are those of `contexts` at least.
    settings : checks the family's table of `corpus.toml`, whose tables a step reads one by one, as
        "gor.training"; None where the steps read and check the whole.
    explain : tells how an answer came about, from what all steps made for one question; None: the
        passages that it rests on say all.
    """

    name: str
    variants: Sequence[str]
    default: Sequence[str]
    rank: Step
    contexts: Step
    reads: Sequence[str]
    reads_by_corpus: Sequence[str] = ()
    reads_by_variant: Sequence[str] = ()
    models: Sequence[str] = ("embedding_model",)
    context_models: Sequence[str] = ()
    preparations: Sequence[ModelStep] = ()
    refinements: Sequence[ModelStep] = ()
    settings: type[BaseModel] | None = None
    explain: Explain | None = None


def answered(family: Family, inputs: Inputs) -> Made:
    """Rows of `summaries`; what the steps before took is added to what each answer took."""
    prepared = [inputs.table(step.table) for step in family.preparations]
    refined = [inputs.table(step.table) for step in family.refinements]
    answers = answer_questions(
        inputs.table("queries"),
        refined[-1] if refined else inputs.table("contexts"),
        inputs.model("language_model"),
        inputs.settings("answer")["max_words"],
    )
    return Made(with_spent(answers.rows, [*prepared, *refined]), answers.problems)
