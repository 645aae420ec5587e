"""Questions about a whole corpus, generated from a description: personas x tasks x questions.

After GraphRAG (arXiv 2404.16130, section 3.2): a model names n potential users of the corpus, n
tasks of each, and n questions for each user and task that need an understanding of the whole; n = 5
gives 125. The description is written by a person in `corpus.toml`: one derived from the documents
would change with them, and the questions with it. Ours: exact and near duplicates are dropped.
"""

from collections.abc import Iterator, Sequence
from typing import Annotated, Any, NamedTuple

import pyarrow as pa
from pydantic import BaseModel, Field, StringConstraints, model_validator

from gsum_assets.evaluation.question_prompts import PROMPTS
from gsum_assets.pipeline.prompts import Prompts
from gsum_assets.pipeline.result import Result
from gsum_assets.pipeline.tables import TABLES
from gsum_resources.protocols.models import Completion, LanguageModel, Request
from gsum_resources.settings.table import SettingsTable
from gsum_resources.store.content_hash import hash_texts
from gsum_resources.text.vocabulary import content_stems

# least Jaccard similarity of content words of two equivalent questions, as for the simulated
# questions of Graph of Records
NEAR_DUPLICATE = 0.7
_WORDS_EACH = 60  # for a persona with its description; tasks and questions are shorter

Text = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]


class QuestionsSettings(SettingsTable):
    """Table `[questions]` of `corpus.toml`: questions written about the corpus as a whole."""

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


def questions_skipped(model_identity: str) -> str | None:
    """Return why no question is written although some are requested, or None."""
    if model_identity.startswith("extractive"):
        return (
            "the model 'extractive' cannot write questions from a description; choose a language "
            "model that can in gsum.toml, table [llm]"
        )
    return None


def generate_questions(
    settings: QuestionsSettings, model: LanguageModel, prompts: Prompts = PROMPTS
) -> Result:
    """Generate personas, their tasks, and questions for each task, in three rounds.

    Raises
    ------
    QuestionError
        If no question could be written.
    """
    writer = _Writer(model, settings.description.strip(), settings.n, prompts)
    n_requested = settings.n**3
    written = list(_written(writer))
    if not written:
        raise QuestionError(
            f"none of {n_requested} questions was written; first: {writer.failures[0]}"
        )
    rows: list[dict] = []  # the first of each set of equivalent questions
    seen_texts: set[str] = set()
    contents: list[frozenset[str]] = []
    for row in written:
        text, content = row["text"].casefold(), frozenset(content_stems(row["text"]))
        if text in seen_texts or any(
            len(content & earlier) / len(content | earlier) >= NEAR_DUPLICATE
            for earlier in contents
            if content | earlier
        ):
            continue
        rows.append(row)
        seen_texts.add(text)
        contents.append(content)
    failures = list(writer.failures)
    if len(rows) < n_requested:
        failures.append(
            f"{len(rows)} of {n_requested} questions: {len(written) - len(rows)} repeated another, "
            f"{n_requested - len(written)} were not written"
        )
    rows.sort(key=lambda row: row["query_id"])
    schema = TABLES["generated_questions"].schema
    return Result(pa.Table.from_pylist(rows, schema), failures)


class _Reply(NamedTuple):
    items: list[Any]
    model: str


class _Writer:
    """A model that writes lists about one corpus, and the failures."""

    def __init__(self, model: LanguageModel, description: str, n: int, prompts: Prompts) -> None:
        self._model = model
        self._description = description
        self._n = n
        self._prompts = prompts
        self.failures: list[str] = []

    def lists(
        self, schema: type[BaseModel], prompt: str, contexts: Sequence[tuple[str, ...]]
    ) -> Iterator[_Reply]:
        """Yield at most n items for each context; none for a failed request."""
        (field,) = schema.model_fields
        replies = self._model.complete(
            [
                Request(
                    task="question",
                    instructions=self._prompts.text(prompt, n=self._n),
                    passages=(f"The collection: {self._description}", *context),
                    max_words=_WORDS_EACH * self._n,
                    schema=schema,
                )
                for context in contexts
            ]
        )
        for reply in replies:
            if isinstance(reply, Completion):
                yield _Reply(getattr(reply.parsed, field)[: self._n], reply.model)
            else:
                self.failures.append(f"no {field}: {reply.message}")
                yield _Reply([], reply.model)


def _written(writer: _Writer) -> Iterator[dict]:
    """Yield rows of `generated_questions`, including repetitions, in order of the requests."""
    (personas_reply,) = writer.lists(Personas, "personas", [()])
    personas = [f"{persona.name}: {persona.description}" for persona in personas_reply.items]
    contexts = [(f"The person: {persona}",) for persona in personas]
    tasks = [
        (persona, task)
        for persona, reply in zip(personas, writer.lists(Tasks, "tasks", contexts), strict=True)
        for task in reply.items
    ]
    contexts = [(f"The person: {persona}", f"The task: {task}") for persona, task in tasks]
    for (persona, task), reply in zip(
        tasks, writer.lists(Questions, "questions", contexts), strict=True
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
