"""Questions that are generated: of activities, and of data.

Of activities after GraphRAG (arXiv 2404.16130, section 3.2): a model names n potential users of the
corpus, n tasks of each, and n questions for each user and task that need an understanding of the
whole; n = 5 gives 125. The description is written by a person in `corpus.toml`: one derived from
the documents would change with them, and the questions with it. Questions of data, and local ones
of activities, are written from passages, see `data_questions.py`. Ours: exact and near duplicates
are dropped.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import cycle
from typing import Any, NamedTuple

import pyarrow as pa
from pydantic import BaseModel, Field, model_validator

from gsum_assets.evaluation.data_questions import Asked, Text, Written, by_model, by_template
from gsum_assets.evaluation.question_prompts import PROMPTS
from gsum_assets.evaluation.question_topics import Topic, distinct_topics
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
_MOST = 500
_WORDS_EACH = 60  # for a persona with its description; tasks and questions are shorter


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
    activity_local: int = Field(
        default=0,
        ge=0,
        le=_MOST,
        description="questions of these personas and tasks about one place of a document; needs n",
    )
    data_local: int = Field(
        default=0, ge=0, le=_MOST, description="questions from one place of a document"
    )
    data_global: int = Field(
        default=0,
        ge=0,
        le=_MOST,
        description="questions from passages of several documents, or of distant parts of one",
    )

    @model_validator(mode="after")
    def _is_described(self) -> "QuestionsSettings":
        if self.n and not self.description.strip():
            raise ValueError(
                f"n is {self.n}, but description is empty: write a few sentences on what the "
                "corpus holds, by hand so that the questions stay as it grows, or set n to 0"
            )
        if self.activity_local and not self.n:
            raise ValueError(
                f"activity_local is {self.activity_local}, but n is 0, so that there are no "
                "personas and tasks: set n to 1 or more"
            )
        return self

    @property
    def n_from_passages(self) -> int:
        """Number of questions that are built from passages."""
        return self.activity_local + self.data_local + self.data_global


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
    settings: QuestionsSettings,
    model: LanguageModel,
    prompts: Prompts = PROMPTS,
    topics: Sequence[Topic] = (),
    texts: Mapping[str, str] | None = None,
) -> Result:
    """Generate the questions of `generated_questions`, with the rows of `assertions` beside them.

    Of activities a model writes personas, their tasks, and questions for each task, in three
    rounds; local questions and those of data are written from topics.

    Parameters
    ----------
    topics : see `find_topics`.
    texts : of all passages, by chunk id.

    Raises
    ------
    QuestionError
        If no question could be written.
    """
    n_requested = settings.n**3 + settings.n_from_passages
    skipped = questions_skipped(model.identity) if settings.n else None
    failures = [skipped] if skipped else []
    rows: list[dict] = []
    tasks: list[tuple[str, str]] = []
    if settings.n and not skipped:
        writer = _Writer(model, settings.description.strip(), settings.n, prompts)
        tasks = _tasks(writer)
        rows = list(_of_tasks(writer, tasks))
        failures += writer.failures
    wanted = list(_wanted(settings, topics, tasks))
    if model.identity.startswith("extractive"):
        written = [by_template(asked) for asked in wanted]
    else:
        written, lost = by_model(wanted, texts or {}, model, prompts)
        failures += lost
    rows += [_row(question) for question in written]
    if not rows and not skipped:
        first = failures[0] if failures else "no phrase of the documents is a topic to ask about"
        raise QuestionError(f"none of {n_requested} questions was written; first: {first}")
    kept = _distinct(rows)
    if len(kept) < n_requested and not skipped:
        failures.append(
            f"{len(kept)} of {n_requested} questions: {len(rows) - len(kept)} repeated another, "
            f"{n_requested - len(rows)} were not written"
        )
    of_query = {_row(question)["query_id"]: question.assertions for question in reversed(written)}
    assertions = [
        {"query_id": row["query_id"], "number": i, "text": a.text, "chunk_ids": list(a.chunk_ids)}
        for row in kept
        for i, a in enumerate(of_query.get(row["query_id"], ()), 1)
    ]
    schema, beside = TABLES["generated_questions"].schema, TABLES["assertions"].schema
    return Result(
        pa.Table.from_pylist(kept, schema),
        failures,
        {"assertions": pa.Table.from_pylist(assertions, beside)},
    )


def _distinct(rows: Sequence[dict]) -> list[dict]:
    """Return the first row of each set of equivalent questions, in order of their ids."""
    kept: list[dict] = []
    seen_texts: set[str] = set()
    contents: list[frozenset[str]] = []
    for row in rows:
        text, content = row["text"].casefold(), frozenset(content_stems(row["text"]))
        if text in seen_texts or any(
            len(content & earlier) / len(content | earlier) >= NEAR_DUPLICATE
            for earlier in contents
            if content | earlier
        ):
            continue
        kept.append(row)
        seen_texts.add(text)
        contents.append(content)
    return sorted(kept, key=lambda row: row["query_id"])


def _wanted(
    settings: QuestionsSettings, topics: Sequence[Topic], tasks: Sequence[tuple[str, str]]
) -> Iterator[Asked]:
    """Yield the questions to write from topics; each topic is asked about once."""
    n_local = settings.data_local + (settings.activity_local if tasks else 0)
    local = distinct_topics(topics, is_global=False, n=n_local)
    for topic in local[: settings.data_local]:
        yield Asked("data-local", topic)
    for topic, (persona, task) in zip(local[settings.data_local :], cycle(tasks), strict=False):
        yield Asked("activity-local", topic, persona, task)
    for topic in distinct_topics(topics, is_global=True, n=settings.data_global):
        yield Asked("data-global", topic)


def _row(question: Written) -> dict:
    asked = question.asked
    return {
        "query_id": hash_texts([question.text]),
        "kind": asked.kind,
        "persona": asked.persona,
        "task": asked.task,
        "text": question.text,
        "model": question.model,
    }


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


def _tasks(writer: _Writer) -> list[tuple[str, str]]:
    """Return personas with a task of theirs, in order of the requests."""
    (personas_reply,) = writer.lists(Personas, "personas", [()])
    personas = [f"{persona.name}: {persona.description}" for persona in personas_reply.items]
    contexts = [(f"The person: {persona}",) for persona in personas]
    return [
        (persona, task)
        for persona, reply in zip(personas, writer.lists(Tasks, "tasks", contexts), strict=True)
        for task in reply.items
    ]


def _of_tasks(writer: _Writer, tasks: Sequence[tuple[str, str]]) -> Iterator[dict]:
    """Yield rows of `generated_questions`, including repetitions, in order of the requests."""
    contexts = [(f"The person: {persona}", f"The task: {task}") for persona, task in tasks]
    for (persona, task), reply in zip(
        tasks, writer.lists(Questions, "questions", contexts), strict=True
    ):
        for item in reply.items:
            text = " ".join(item.split())
            yield {
                "query_id": hash_texts([text]),
                "kind": "general",
                "persona": persona,
                "task": task,
                "text": text,
                "model": reply.model,
            }
