"""All families, methods, prompts and views. `registered.py` lists the folders."""

from importlib import import_module

from pydantic import BaseModel

from gsum_assets.corpus.methods import Methods
from gsum_assets.evaluation import prompts as answers
from gsum_assets.evaluation import question_prompts as questions
from gsum_assets.evaluation.generate_questions import QuestionsSettings
from gsum_assets.evaluation.judges import prompts as judges
from gsum_assets.evaluation.judges.settings import JudgesSettings
from gsum_assets.evaluation.score import ScoreSettings
from gsum_assets.pipeline.family import Family
from gsum_assets.pipeline.prompts import Prompts
from gsum_assets.pipeline.registered import FOLDERS
from gsum_assets.pipeline.tables import TABLES, table_of
from gsum_assets.registry.macros import analysis
from gsum_assets.retrieval import follow_up as conversation
from gsum_assets.retrieval.methods import DEFAULT_METHOD
from gsum_resources.store.table import Macro, Table, View

FAMILIES: tuple[Family, ...] = tuple(import_module(f"{name}.family").FAMILY for name in FOLDERS)

METHODS = Methods(FAMILIES, without_questions=(DEFAULT_METHOD,))
"""All methods by name."""

SETTINGS_TABLES: dict[str, type[BaseModel]] = {
    "scores": ScoreSettings,
    "judges": JudgesSettings,
    "questions": QuestionsSettings,
    **{family.name: family.settings for family in FAMILIES if family.settings},
}
"""The tables of `corpus.toml` that evaluation and methods read, by name."""

PROMPTS: dict[str, Prompts] = {
    "answers": answers.PROMPTS,
    "conversation": conversation.PROMPTS,
    "judges": judges.PROMPTS,
    "questions": questions.PROMPTS,
    **{family.name: family.prompts for family in FAMILIES if family.prompts},
}
"""All prompts, by family: of answers, conversations, judges, questions and methods."""


def views() -> tuple[View | Macro, ...]:
    """Return all views and macros of the DuckDB file besides a view for each table."""
    of_methods = (view for method in FAMILIES for view in method.views())
    return (*analysis(TABLES.values(), trained_tables()), *of_methods)


def trained_tables() -> list[Table]:
    """Return the tables of networks, which new documents do not make out of date."""
    return [
        table_of(family.path(step.table))
        for family in FAMILIES
        for step in family.index
        if step.trains
    ]
