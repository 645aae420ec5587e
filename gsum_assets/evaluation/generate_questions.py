"""Questions that personas with tasks would ask of a whole corpus, without near duplicates.

After GraphRAG (arXiv 2404.16130, section 3.2), from a description by a person.
"""

from collections.abc import Iterator, Sequence
from typing import Annotated, Any, NamedTuple

import pyarrow as pa
from pydantic import BaseModel, Field, StringConstraints, model_validator

from gsum_assets.evaluation.question_prompts import PROMPTS
from gsum_assets.pipeline.corpus_settings import checked_section
from gsum_assets.pipeline.cost import Cost
from gsum_assets.pipeline.prompts import Prompts
from gsum_assets.pipeline.result import Result
from gsum_assets.pipeline.step import Inputs, Step
from gsum_assets.pipeline.tables import TABLES
from gsum_resources.protocols.models import Completion, LanguageModel, Request
from gsum_resources.settings.table import SettingsTable
from gsum_resources.store.content_hash import hash_texts
from gsum_resources.text.vocabulary import content_stems

# least Jaccard similarity of content words of two equivalent questions, as for the simulated
# questions of Graph of Records
_NEAR_DUPLICATE = 0.7
_WORDS_EACH = 60  # for a persona with its description; tasks and questions are shorter

Text = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]


class QuestionsSettings(SettingsTable):
    """Table `[questions]` of `corpus.toml`: questions that are generated."""

    description: str = Field(
        default="", description="contents of the corpus, in a few sentences written by a person"
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
    """Error raised if no question could be written; the message names the first cause."""


class Task(NamedTuple):
    """What a persona, with name and description, would do."""

    persona: str
    task: str


class Written(NamedTuple):
    """A question that somebody would ask for a task, and the model that wrote it."""

    task: Task
    text: str
    model: str


def generate_questions(
    settings: QuestionsSettings, model: LanguageModel, prompts: Prompts = PROMPTS
) -> Result:
    """Generate the rows of `generated_questions`.

    A model writes personas, their tasks, and questions for each task, in three rounds. Raises
    `QuestionError` if no question could be written.
    """
    if model.identity.startswith("extractive"):
        skipped = (
            "the model 'extractive' cannot write questions from a description; choose a language "
            "model that can in gsum.toml, table [llm]"
        )
        return Result(TABLES["generated_questions"].empty(), [skipped])
    n_requested, failures = settings.n**3, []
    written = _written(settings, model, prompts, failures)
    if not written:
        raise QuestionError(f"none of {n_requested} questions was written; first: {failures[0]}")
    questions = {hash_texts([question.text]): question for question in _distinct(written)}
    if len(questions) < n_requested:
        failures.append(
            f"{len(questions)} of {n_requested} questions: {len(written) - len(questions)} "
            f"repeated another, {n_requested - len(written)} were not written"
        )
    rows = [
        {"query_id": query_id, **q.task._asdict(), "text": q.text, "model": q.model}
        for query_id, q in sorted(questions.items())
    ]
    return Result(pa.Table.from_pylist(rows, TABLES["generated_questions"].schema), failures)


def _written(
    settings: QuestionsSettings, model: LanguageModel, prompts: Prompts, failures: list[str]
) -> list[Written]:
    """Return the questions in order of the requests."""

    def lists(
        schema: type[BaseModel], prompt: str, contexts: Sequence[tuple[str, ...]]
    ) -> Iterator[tuple[list[Any], str]]:
        """Yield at most n items for each context, and who wrote them; none if it failed."""
        (field,) = schema.model_fields
        description = f"The collection: {settings.description.strip()}"
        requests = [
            Request(
                task="question",
                instructions=prompts.text(prompt, n=settings.n),
                passages=(description, *context),
                max_words=_WORDS_EACH * settings.n,
                schema=schema,
            )
            for context in contexts
        ]
        for reply in model.complete(requests):
            items = []
            if isinstance(reply, Completion):
                items = getattr(reply.parsed, field)[: settings.n]
            else:
                failures.append(f"no {field}: {reply.message}")
            yield items, reply.model

    ((people, _),) = lists(Personas, "personas", [()])
    personas = [f"{person.name}: {person.description}" for person in people]
    replies = lists(Tasks, "tasks", [(f"The person: {persona}",) for persona in personas])
    tasks = [
        Task(persona, task)
        for persona, (items, _) in zip(personas, replies, strict=True)
        for task in items
    ]
    contexts = [(f"The person: {t.persona}", f"The task: {t.task}") for t in tasks]
    replies = lists(Questions, "questions", contexts)
    return [
        Written(task, " ".join(item.split()), name)
        for task, (items, name) in zip(tasks, replies, strict=True)
        for item in items
    ]


def _distinct(written: Sequence[Written]) -> Iterator[Written]:
    """Yield the first of each set of equivalent questions."""
    known: dict[str, frozenset[str]] = {}
    for question in written:
        text, stems = question.text.casefold(), frozenset(content_stems(question.text))
        is_near = any(
            len(stems & other) >= _NEAR_DUPLICATE * len(stems | other)
            for other in known.values()
            if stems | other
        )
        if text not in known and not is_near:
            known[text] = stems
            yield question


def _generated_questions(inputs: Inputs) -> Result:
    settings = checked_section(QuestionsSettings, "questions", inputs.settings("questions"))
    if not settings.n:
        return Result(TABLES["generated_questions"].empty())
    model = inputs.model("language_model")
    result = generate_questions(settings, model, inputs.prompts("questions"))
    shown = {} if result.rows.num_rows else {"generated_questions": {"skipped": result.failures[0]}}
    return result._replace(shown=lambda: shown)


GENERATED_QUESTIONS = Step(
    _generated_questions,
    {
        "generated_questions": "Questions about the whole corpus that [questions] of corpus.toml "
        "requests, of people with different interests; added to `queries` as split 'generated'."
    },
    ("corpus_settings", "language_model"),
    pool="llm",
    code_version="5",
    work="simulation",
    costs=[Cost("generated question", tokens_in=1000, tokens_out=100)],
)
