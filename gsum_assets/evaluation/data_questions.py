"""Questions built from passages, each with assertions: statements that a right answer makes.

As in BenchmarkQED (Microsoft, 2025) a local question is about one place of the corpus, a global one
about many, and every assertion has the passages that support it. A language model writes question
and assertions from the passages of a topic. The embedded model cannot: there the question is a
template about the topic's phrase, and the assertions are the statements that name it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated

from pydantic import BaseModel, Field, StringConstraints

from gsum_assets.evaluation.question_prompts import PROMPTS
from gsum_assets.evaluation.question_topics import Topic
from gsum_assets.evaluation.suggested_question import question_about
from gsum_assets.evaluation.token_usage import why
from gsum_assets.pipeline.prompts import Prompts
from gsum_resources.protocols.models import Completion, LanguageModel, Request

Text = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]

_N_PASSAGES = 8  # most passages of a request
_MAX_WORDS = 400  # of a reply, with all its points


class Point(BaseModel):
    """What a right answer says."""

    statement: Text = Field(description="One sentence.")
    references: list[int] = Field(description="Numbers of the passages that support it.")


class DataQuestion(BaseModel):
    """A question that passages answer."""

    question: Text
    points: list[Point] = Field(min_length=1, description="What a right answer says.")


@dataclass(frozen=True)
class Assertion:
    """A statement that a right answer makes, and the passages that support it."""

    text: str
    chunk_ids: Sequence[str]


@dataclass(frozen=True)
class Asked:
    """A question about a topic that is to be written.

    Attributes
    ----------
    kind : 'data-local', 'data-global' or 'activity-local'; names the prompt.
    persona, task : who asks it, and for what; "" for questions from data.
    """

    kind: str
    topic: Topic
    persona: str = ""
    task: str = ""


@dataclass(frozen=True)
class Written:
    """A question with its assertions, and the model that wrote it."""

    asked: Asked
    text: str
    assertions: Sequence[Assertion]
    model: str


def by_template(asked: Asked) -> Written:
    """Return a question about the phrase of a topic, with its statements as assertions."""
    topic = asked.topic
    assertions = [Assertion(s.text, s.chunk_ids) for s in topic.statements]
    text = question_about(topic.phrase, topic.is_spoken, topic.title)
    return Written(asked, text, assertions, "extractive")


def by_model(
    asked: Sequence[Asked],
    texts: Mapping[str, str],
    model: LanguageModel,
    prompts: Prompts = PROMPTS,
) -> tuple[list[Written], list[str]]:
    """Return the questions that a language model writes, and a line for each failure.

    Points without the number of a passage are left out.

    Parameters
    ----------
    texts : of all passages, by chunk id.
    """
    requests = [_request(each, texts, prompts) for each in asked]
    written, failures = [], []
    for number, (each, reply) in enumerate(zip(asked, model.complete(requests), strict=True), 1):
        which = f"no {each.kind} question about topic {number} of {len(asked)}"
        if not isinstance(reply, Completion) or not isinstance(reply.parsed, DataQuestion):
            failures.append(f"{which}: {why(reply)}")
            continue
        ids = _shown(each.topic)
        assertions = [
            Assertion(" ".join(point.statement.split()), supporting)
            for point in reply.parsed.points
            if (supporting := [ids[n - 1] for n in point.references if 1 <= n <= len(ids)])
        ]
        if assertions:
            text = " ".join(reply.parsed.question.split())
            written.append(Written(each, text, assertions, reply.model))
        else:
            failures.append(f"{which}: no point has the number of a passage")
    return written, failures


def _request(asked: Asked, texts: Mapping[str, str], prompts: Prompts) -> Request:
    ending = f"The subject: {asked.topic.phrase}"
    if asked.persona:
        ending = f"The person: {asked.persona}\n\nThe task: {asked.task}"
    return Request(
        task="question",
        instructions=prompts.text(asked.kind.replace("-", "_")),
        passages=tuple(texts[chunk_id] for chunk_id in _shown(asked.topic)),
        max_words=_MAX_WORDS,
        schema=DataQuestion,
        ending=ending,
    )


def _shown(topic: Topic) -> list[str]:
    """Return the ids of the passages that a model is shown: one of each statement."""
    return list(dict.fromkeys(s.chunk_ids[0] for s in topic.statements))[:_N_PASSAGES]
