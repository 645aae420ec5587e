"""Configuration of an asset for one run: what the launchpad may ask of a step."""

from collections.abc import Mapping
from typing import Any

import dagster as dg
from pydantic import Field

from gsum_assets.registry.declared import Declared
from gsum_resources.dagster_io.overrides import Overrides
from gsum_resources.messages.suggest import did_you_mean
from gsum_resources.models.by_work import LANGUAGE_MODELS
from gsum_resources.store.content_hash import hash_texts
from gsum_resources.store.input_key import InputKey
from gsum_resources.store.lazy import Lazy
from gsum_resources.store.lineage import Step

ALL = "all"
"""Version of the questions that a table should have, for the lineage."""
QUESTIONS = InputKey("run", "query_ids")


class QuestionError(ValueError):
    """A run names a question that its corpus does not have."""


class OfLanguageModel(dg.Config):
    """Configuration of a step with a language model."""

    retry_failures: bool = Field(
        default=False,
        description="send requests again that failed in a way that repeats, such as replies that "
        "could not be read or that a content filter rejected. Other failures are always tried "
        "again",
    )


class OfQuestions(dg.Config):
    """Configuration of a step that works question by question."""

    query_ids: list[str] = Field(
        default=[],
        description="ids of the questions to compute, as in the table queries; empty: all. The "
        "tables then have rows of these alone, and are out of date afterwards: the next refresh "
        "computes all",
    )


class OfAnswers(OfQuestions, OfLanguageModel):
    """Configuration of a step that asks a language model question by question."""


def config_of(declared: Declared) -> type[dg.Config] | None:
    """Return what a run may configure of a step; None: nothing."""
    asks = not {*LANGUAGE_MODELS}.isdisjoint(declared.reads)
    if declared.by_question:
        return OfAnswers if asks else OfQuestions
    return OfLanguageModel if asks else None


def chosen_questions(
    declared: Declared,
    config: Mapping[str, Any],
    read: Mapping[str, Any],
    step: Step,
    overrides: Overrides,
) -> Mapping[str, Any]:
    """Return the tables that a step reads with the rows of the chosen questions alone; {}: all.

    Raises
    ------
    QuestionError
        If there is no such question.
    """
    chosen = sorted(set(config.get("query_ids") or ()))
    if not chosen:
        return {}
    known = read["queries"].get()["query_id"].to_pylist()
    for query_id in chosen:
        if query_id not in known:
            near = did_you_mean(query_id, known)
            raise QuestionError(f"{declared.name}: no question has the id '{query_id}'{near}")
    overrides.note(step, declared.name, QUESTIONS, hash_texts(chosen), ALL)
    overrides.reads.other(step, QUESTIONS, hash_texts(chosen))

    def rows(of: Lazy) -> Lazy:
        return Lazy(lambda: of.rows_with("query_id", chosen))

    return {
        name: rows(read[name])
        for name in declared.by_question
        if "query_id" in declared.table(name).schema.names
    }
