"""Questions that are generated, without near duplicates: of activities, and of data.

Of activities after GraphRAG (arXiv 2404.16130, section 3.2), from a description by a person. Of
data as in BenchmarkQED (Microsoft, 2025), with assertions: by a language model from the passages of
a topic, or by a template from its phrase and statements.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import cycle
from typing import Annotated, Any, NamedTuple

import pyarrow as pa
from pydantic import BaseModel, Field, StringConstraints, model_validator

from gsum_assets.evaluation.question_prompts import PROMPTS
from gsum_assets.evaluation.question_topics import (
    Topic,
    distinct_topics,
    find_topics,
    question_about,
)
from gsum_assets.evaluation.token_usage import why
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
_MOST = 500
_WORDS_EACH = 60  # for a persona with its description; tasks and questions are shorter
_N_PASSAGES = 8  # most passages of a request
_MAX_WORDS = 400  # of a reply with all its points

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


class Point(BaseModel):
    """What a right answer says."""

    statement: Text = Field(description="One sentence.")
    references: list[int] = Field(description="Numbers of the passages that support it.")


class DataQuestion(BaseModel):
    """A question that passages answer."""

    question: Text
    points: list[Point] = Field(min_length=1, description="What a right answer says.")


class QuestionError(ValueError):
    """Error raised if no question could be written; the message names the first cause."""


class Assertion(NamedTuple):
    """A statement that a right answer makes, and the passages that support it."""

    text: str
    chunk_ids: Sequence[str]


class Asked(NamedTuple):
    """A question that is to be written.

    Attributes
    ----------
    kind : 'general', 'data-local', 'data-global' or 'activity-local'; the last three name a prompt.
    persona, task : who asks it, and for what; "" for questions from data.
    """

    kind: str
    persona: str = ""
    task: str = ""


class Written(NamedTuple):
    """A question with its assertions, and the model that wrote it."""

    asked: Asked
    text: str
    model: str
    assertions: Sequence[Assertion] = ()


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

    Parameters `topics`: see `find_topics`; `texts`: of all passages, by chunk id.

    Raises `QuestionError` if no question could be written.
    """
    n_requested = settings.n**3 + settings.n_from_passages
    skipped = questions_skipped(model.identity) if settings.n else None
    failures = [skipped] if skipped else []
    tasks: list[Asked] = []
    written: list[Written] = []
    if settings.n and not skipped:
        tasks, written = _of_activities(settings, model, prompts, failures)
    wanted = list(_wanted(settings, topics, tasks))
    if questions_skipped(model.identity):
        written += [
            Written(
                asked,
                question_about(topic.phrase, topic.is_spoken, topic.title),
                "extractive",
                [Assertion(statement.text, statement.chunk_ids) for statement in topic.statements],
            )
            for asked, topic in wanted
        ]
    else:
        written += _by_model(wanted, texts or {}, model, prompts, failures)
    if not written and not skipped:
        first = failures[0] if failures else "no phrase of the documents is a topic to ask about"
        raise QuestionError(f"none of {n_requested} questions was written; first: {first}")
    questions = {hash_texts([question.text]): question for question in _distinct(written)}
    if len(questions) < n_requested and not skipped:
        failures.append(
            f"{len(questions)} of {n_requested} questions: {len(written) - len(questions)} "
            f"repeated another, {n_requested - len(written)} were not written"
        )
    rows = [
        {"query_id": query_id, **q.asked._asdict(), "text": q.text, "model": q.model}
        for query_id, q in sorted(questions.items())
    ]
    assertions = [
        {"query_id": query_id, "number": i, "text": a.text, "chunk_ids": list(a.chunk_ids)}
        for query_id, question in sorted(questions.items())
        for i, a in enumerate(question.assertions, 1)
    ]
    return Result(
        pa.Table.from_pylist(rows, TABLES["generated_questions"].schema),
        failures,
        {"assertions": pa.Table.from_pylist(assertions, TABLES["assertions"].schema)},
    )


def _of_activities(
    settings: QuestionsSettings, model: LanguageModel, prompts: Prompts, failures: list[str]
) -> tuple[list[Asked], list[Written]]:
    """Return personas with a task of theirs, and their questions, in order of the requests."""

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
        Asked("general", persona, task)
        for persona, (items, _) in zip(personas, replies, strict=True)
        for task in items
    ]
    contexts = [(f"The person: {t.persona}", f"The task: {t.task}") for t in tasks]
    replies = lists(Questions, "questions", contexts)
    return tasks, [
        Written(task, " ".join(item.split()), name)
        for task, (items, name) in zip(tasks, replies, strict=True)
        for item in items
    ]


def _wanted(
    settings: QuestionsSettings, topics: Sequence[Topic], tasks: Sequence[Asked]
) -> Iterator[tuple[Asked, Topic]]:
    """Yield the questions to write, with their topics; each topic is asked about once."""
    n_local = settings.data_local + (settings.activity_local if tasks else 0)
    local = distinct_topics(topics, is_global=False, n=n_local)
    for topic in local[: settings.data_local]:
        yield Asked("data-local"), topic
    for topic, of_task in zip(local[settings.data_local :], cycle(tasks), strict=False):
        yield of_task._replace(kind="activity-local"), topic
    for topic in distinct_topics(topics, is_global=True, n=settings.data_global):
        yield Asked("data-global"), topic


def _by_model(
    wanted: Sequence[tuple[Asked, Topic]],
    texts: Mapping[str, str],
    model: LanguageModel,
    prompts: Prompts,
    failures: list[str],
) -> Iterator[Written]:
    """Yield the questions that a language model writes, without points that name no passage."""
    shown = [  # of each statement a passage that has it
        list(dict.fromkeys(s.chunk_ids[0] for s in topic.statements))[:_N_PASSAGES]
        for _, topic in wanted
    ]
    requests = [
        Request(
            task="question",
            instructions=prompts.text(asked.kind.replace("-", "_")),
            passages=tuple(texts[chunk_id] for chunk_id in ids),
            max_words=_MAX_WORDS,
            schema=DataQuestion,
            ending=f"The person: {asked.persona}\n\nThe task: {asked.task}"
            if asked.persona
            else f"The subject: {topic.phrase}",
        )
        for (asked, topic), ids in zip(wanted, shown, strict=True)
    ]
    replies = zip(wanted, shown, model.complete(requests), strict=True)
    for number, ((asked, _), ids, reply) in enumerate(replies, 1):
        which = f"no {asked.kind} question about topic {number} of {len(wanted)}"
        if not isinstance(reply, Completion) or not isinstance(reply.parsed, DataQuestion):
            failures.append(f"{which}: {why(reply)}")
            continue
        assertions = [
            Assertion(" ".join(point.statement.split()), supporting)
            for point in reply.parsed.points
            if (supporting := [ids[n - 1] for n in point.references if 1 <= n <= len(ids)])
        ]
        if assertions:
            text = " ".join(reply.parsed.question.split())
            yield Written(asked, text, reply.model, assertions)
        else:
            failures.append(f"{which}: no point has the number of a passage")


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
    empty, beside = (TABLES[name].empty() for name in ("generated_questions", "assertions"))
    if not settings.n + settings.n_from_passages:
        return Result(empty, beside={"assertions": beside})
    model = inputs.model("language_model")
    topics, texts = [], {}
    if settings.n_from_passages:
        chunks = inputs.table("chunks")
        ids, titles = (inputs.column("documents", name) for name in ("document_id", "title"))
        topics = find_topics(dict(zip(ids, titles, strict=True)), chunks)
        columns = (chunks[name].to_pylist() for name in ("chunk_id", "text"))
        texts = dict(zip(*columns, strict=True))
    result = generate_questions(settings, model, inputs.prompts("questions"), topics, texts)
    shown = {} if result.rows.num_rows else {"generated_questions": {"skipped": result.failures[0]}}
    return result._replace(shown=lambda: shown)


GENERATED_QUESTIONS = Step(
    _generated_questions,
    {
        "generated_questions": "Questions generated as [questions] of corpus.toml requests: global "
        "ones of people with different interests from its description, local and global ones from "
        "the passages; added to `queries` as split 'generated'.",
        "assertions": "What a right answer to a question from passages says, with the passages "
        "that support it.",
    },
    ("documents", "chunks", "corpus_settings", "language_model"),
    pool="llm",
    code_version="4",
    work="simulation",
    costs=[Cost("generated question", tokens_in=1000, tokens_out=100)],
)
