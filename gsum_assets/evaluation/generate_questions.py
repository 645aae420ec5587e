"""Questions about a corpus as a whole, from its description: personas x tasks x questions.

After GraphRAG (arXiv 2404.16130, section 3.2): a model names n potential users of the corpus, n
tasks of each, and n questions for each user and task that need an understanding of the whole; n = 5
gives 125. The description stands in `corpus.toml` and is written by a person: one made from the
documents would change as they grow, and the questions with it. Ours: exact and near duplicates,
which different users ask, are dropped.
"""

from collections.abc import Iterator, Sequence
from typing import Annotated, Any, NamedTuple

import pyarrow as pa
from pydantic import BaseModel, ConfigDict, Field, StringConstraints, model_validator

from gsum_assets.corpus.prompts import Prompts
from gsum_assets.evaluation.question_prompts import PROMPTS
from gsum_assets.result import Result
from gsum_assets.tables import TABLES
from gsum_resources.content_hash import hash_texts
from gsum_resources.llm.classical.vocabulary import content_stems
from gsum_resources.protocols import Completion, LanguageModel, Request

# Jaccard similarity of content words from which two questions count as the same, as for the
# simulated questions of Graph of Records
NEAR_DUPLICATE = 0.7
_WORDS_EACH = 60  # of a persona with its description; tasks and questions are shorter

Text = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]


class QuestionsSettings(BaseModel):
    """Table `[questions]` of `corpus.toml`: questions written about the corpus as a whole."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    description: str = Field(
        default="", description="what the corpus holds, in a few sentences that a person wrote"
    )
    n: int = Field(
        default=0,
        ge=0,
        le=10,
        description="personas, tasks of each, questions of each task (GraphRAG: 5); 0: none",
    )

    @model_validator(mode="after")
    def _is_described(self) -> "QuestionsSettings":
        if self.n and not self.description.strip():
            raise ValueError(
                f"n is {self.n}, but description is empty: write a few sentences on what the "
                "corpus holds, by hand so that the questions stay as it grows, or set n to 0"
            )
        return self


class Persona(BaseModel):
    """Somebody who would use the corpus."""

    name: Text = Field(description="A role or profession, in a few words.")
    description: Text = Field(description="Who they are and what they want, in 1 or 2 sentences.")


class Personas(BaseModel):
    """Users of the corpus."""

    personas: list[Persona] = Field(min_length=1)


class Tasks(BaseModel):
    """What one persona would do."""

    tasks: list[Text] = Field(min_length=1, description="One sentence each.")


class Questions(BaseModel):
    """What one persona would ask for one task."""

    questions: list[Text] = Field(min_length=1, description="One sentence each, ending in '?'.")


class QuestionError(ValueError):
    """No question could be written; the message names the first cause."""


def questions_skipped(model_identity: str) -> str | None:
    """Why no question is written, though some are wanted; None if they are."""
    if model_identity.startswith("extractive"):
        return (
            "the model 'extractive' cannot write questions from a description; choose a language "
            "model that can in gsum.toml, table [llm]"
        )
    return None


def generate_questions(
    settings: QuestionsSettings, model: LanguageModel, prompts: Prompts = PROMPTS
) -> Result:
    """Ask `model` for personas, their tasks, and the questions of each, in three rounds.

    Returns
    -------
    Result
        Rows of `generated_questions` ordered by id.

    Raises
    ------
    QuestionError
        If it wrote not a single question.
    """
    writer = _Writer(model, settings.description.strip(), settings.n, prompts)
    wanted = settings.n**3
    written = list(_written(writer))
    if not written:
        raise QuestionError(f"none of {wanted} questions was written; first: {writer.failures[0]}")
    rows = _distinct(written)
    failures = list(writer.failures)
    if len(rows) < wanted:
        failures.append(
            f"{len(rows)} of {wanted} questions: {len(written) - len(rows)} repeated another, "
            f"{wanted - len(written)} were not written"
        )
    rows.sort(key=lambda row: row["query_id"])
    schema = TABLES["generated_questions"].schema
    return Result(pa.Table.from_pylist(rows, schema), failures)


class _Reply(NamedTuple):
    items: list[Any]
    model: str


class _Writer:
    """A model that writes lists about one corpus, and what it failed to write."""

    def __init__(self, model: LanguageModel, description: str, n: int, prompts: Prompts) -> None:
        self._model = model
        self._description = description
        self._n = n
        self._prompts = prompts
        self.failures: list[str] = []

    def lists(
        self, schema: type[BaseModel], prompt: str, about: Sequence[tuple[str, ...]]
    ) -> Iterator[_Reply]:
        """At most n items for each thing that is told beside the corpus; none where it fails."""
        (field,) = schema.model_fields
        replies = self._model.complete(
            [
                Request(
                    task="question",
                    instructions=self._prompts.text(prompt, n=self._n),
                    passages=(f"The collection: {self._description}", *told),
                    max_words=_WORDS_EACH * self._n,
                    schema=schema,
                )
                for told in about
            ]
        )
        for reply in replies:
            if isinstance(reply, Completion):
                yield _Reply(getattr(reply.parsed, field)[: self._n], reply.model)
            else:
                self.failures.append(f"no {field}: {reply.message}")
                yield _Reply([], reply.model)


def _written(writer: _Writer) -> Iterator[dict]:
    """Rows of `generated_questions`, repetitions included, in the order of asking."""
    (found,) = writer.lists(Personas, "personas", [()])
    personas = [f"{persona.name}: {persona.description}" for persona in found.items]
    told = [(f"The person: {persona}",) for persona in personas]
    tasks = [
        (persona, task)
        for persona, reply in zip(personas, writer.lists(Tasks, "tasks", told), strict=True)
        for task in reply.items
    ]
    told = [(f"The person: {persona}", f"The task: {task}") for persona, task in tasks]
    for (persona, task), reply in zip(
        tasks, writer.lists(Questions, "questions", told), strict=True
    ):
        for item in reply.items:
            text = " ".join(item.split())
            yield {
                "query_id": hash_texts([text]),
                "persona": persona,
                "task": task,
                "text": text,
                "model": reply.model,
            }


def _distinct(rows: Sequence[dict]) -> list[dict]:
    """The first of each set of rows that ask the same."""
    kept: list[dict] = []
    asked: set[str] = set()
    contents: list[frozenset[str]] = []
    for row in rows:
        text, content = row["text"].casefold(), frozenset(content_stems(row["text"]))
        if text in asked or any(
            _similarity(content, other) >= NEAR_DUPLICATE for other in contents
        ):
            continue
        kept.append(row)
        asked.add(text)
        contents.append(content)
    return kept


def _similarity(left: frozenset[str], right: frozenset[str]) -> float:
    """Shared members over all members; 0 where there is nothing to tell texts apart by."""
    return len(left & right) / len(left | right) if left | right else 0.0
