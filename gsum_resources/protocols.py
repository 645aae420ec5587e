"""What a method may ask of a model: three small protocols, free of Dagster.

Methods take these protocols as arguments and never see which backend serves them.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, runtime_checkable

import numpy as np
from pydantic import BaseModel

Task = Literal["answer", "question", "synopsis", "entities", "facts", "topic", "score"]


@dataclass(frozen=True)
class Request:
    """One thing asked of a language model.

    The parts stay apart so that a model without instructions (`extractive`) can work on the
    passages themselves, and a chat model gets them rendered by `render`.

    Attributes
    ----------
    task : which kind of work this is; chat models do not see it.
    instructions : what to do, written in the method's `prompts.py`.
    question : the question to answer, or "" where the task has none.
    passages : the texts to work on, best first.
    max_words : length of the wanted text, in words.
    temperature : 0 is greedy.
    seed : sampling seed, derived from a stable id.
    schema : a pydantic model that the reply must satisfy, or None for free text.
    document_id : for the ledger; "" where the request concerns a whole corpus.
    ending : further words after passages and question, such as what is known so far. What stems
        from documents belongs here and not into the instructions, and so do the words in which
        requests about the same passages differ: what they share is then a common prefix.
    """

    task: Task
    instructions: str
    question: str = ""
    passages: tuple[str, ...] = ()
    max_words: int = 120
    temperature: float = 0.0
    seed: int = 0
    schema: type[BaseModel] | None = None
    document_id: str = ""
    ending: str = ""

    def render(self) -> str:
        """Return the user message: numbered passages, then the question, then the ending."""
        parts = [f"[{i}]\n{passage}" for i, passage in enumerate(self.passages, start=1)]
        if self.question:
            parts.append(f"Question: {self.question}")
        if self.ending:
            parts.append(self.ending)
        return "\n\n".join(parts)


@dataclass(frozen=True)
class Completion:
    """A model's valid reply to one `Request`; `tokens_*` in tokens, `latency_s` in seconds.

    `calls` counts the answers it took, re-asks included; `retries` the attempts that got none.
    `slips` has a line for each kind of invalid item that was left out of the lists in `parsed`.
    """

    text: str
    model: str
    tokens_in: int
    tokens_out: int
    latency_s: float
    parsed: BaseModel | None = None
    calls: int = 1
    retries: int = 0
    cached: bool = False
    cost_usd: float = 0.0
    slips: tuple[str, ...] = ()

    @property
    def left_out(self) -> int:
        """Number of items that `slips` stand for: a line may begin with how many ("3 of …")."""
        return sum(
            int(n) if (n := slip.partition(" of ")[0]).isdigit() else 1 for slip in self.slips
        )


@dataclass(frozen=True)
class CompletionError:
    """Why one `Request` got no valid reply. It may have cost something.

    `text` is what the model said last, of which a part may be of use; empty where it said nothing.
    `repeats`: the model would say the same again; such a failure alone is memoized.
    """

    message: str
    model: str
    calls: int = 1
    retries: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    latency_s: float = 0.0
    cost_usd: float = 0.0
    text: str = ""
    repeats: bool = False


class ModelUnavailableError(RuntimeError):
    """Nothing more can be had from a model now: a refused key, a server that stays away.

    The message names the server and the remedy, and never holds a key. Other models than the
    language model have a class each: Dagster hands on an error's class and message, nothing else.
    """


class JudgeUnavailableError(ModelUnavailableError):
    """The judge is away."""


class EmbedderUnavailableError(ModelUnavailableError):
    """The embedder is away."""


class ScorerUnavailableError(ModelUnavailableError):
    """The passage scorer is away."""


Reply = Completion | CompletionError
OnReply = Callable[[int, Reply], None]
"""Called with the place of a request and its reply, as soon as the reply is there."""


@runtime_checkable
class LanguageModel(Protocol):
    """Completes batches of requests."""

    @property
    def identity(self) -> str:
        """What distinguishes this model's replies: backend, name, version, settings."""
        ...

    def complete(self, requests: Sequence[Request], on_reply: OnReply | None = None) -> list[Reply]:
        """Return one result or one error for each request, in order.

        `on_reply` hears of each as it comes, in any order and from any thread, before the call
        returns or raises.

        Raises
        ------
        ModelUnavailableError
            If asking on is of no use. What was answered before has gone to `on_reply`.
        """
        ...


@runtime_checkable
class Repeating(Protocol):
    """A language model that fails again, for sure, at what it failed at (`repeats`)."""

    @property
    def failure_scope(self) -> str:
        """What a failure depends on beside identity and request, such as the number of re-asks."""
        ...


@runtime_checkable
class Embedder(Protocol):
    """Turns texts into unit-length vectors."""

    @property
    def identity(self) -> str:
        """What distinguishes this model's vectors: weights, precision, pooling, window."""
        ...

    @property
    def dimension(self) -> int:
        """Length of a vector."""
        ...

    def embed(self, texts: Sequence[str]) -> np.ndarray:
        """Passages to float32 unit vectors, `(n_texts, dimension)`; long texts by windows."""
        ...

    def embed_queries(self, texts: Sequence[str]) -> np.ndarray:
        """Queries likewise; differs from `embed` for two-encoder models such as DPR."""
        ...


@runtime_checkable
class Gradual(Protocol):
    """An embedder whose methods also take `on_progress`, called with texts done and in total."""

    takes_progress: bool


@runtime_checkable
class Metered(Protocol):
    """An embedder or scorer whose server counts tokens."""

    @property
    def tokens_read(self) -> int:
        """Tokens that the server has read for it so far."""
        ...

    @property
    def usd_per_million_tokens(self) -> float:
        """Price, US dollars."""
        ...


@runtime_checkable
class Telling(Protocol):
    """An embedder with one encoder, at a server, that tells each vector as it comes."""

    def embed_telling(
        self, texts: Sequence[str], on_vector: Callable[[int, np.ndarray], None]
    ) -> np.ndarray:
        """As `Embedder.embed`; `on_vector` hears of a text's place and vector.

        Raises
        ------
        ModelUnavailableError
            If asking on is of no use. What was embedded before has gone to `on_vector`.
        """
        ...


OnRow = Callable[[int, np.ndarray], None]
"""Called with the place of a passage and its candidates' scores, as soon as they are there."""


@runtime_checkable
class PassageScorer(Protocol):
    """Scores how well a passage predicts each of its candidates."""

    @property
    def identity(self) -> str:
        """What distinguishes this scorer's values."""
        ...

    @property
    def is_pairwise(self) -> bool:
        """Whether a pair's score is the same whatever the passage's other candidates are."""
        ...

    def score(
        self,
        contexts: Sequence[str],
        candidates: Sequence[Sequence[str]],
        on_row: OnRow | None = None,
    ) -> list[np.ndarray]:
        """log P(candidate | context) per token, in nats, float64.

        Returns
        -------
        For each context the scores of its candidates, `(n_candidates,)`; NaN for a pair that no
        score could be had of. `on_row` hears of each row as it comes, in any order and from any
        thread.

        Raises
        ------
        ModelUnavailableError
            If asking on is of no use. What was scored before has gone to `on_row`.
        """
        ...
