"""Protocols of the models that methods use, independent of Dagster and of the backend."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, runtime_checkable

import numpy as np
from pydantic import BaseModel

_BREAKS = r"\n\r\v\f\x85\u2028\u2029"
# a line of a document that looks like the number before a passage, or like the question
_MARK = re.compile(rf"(\A|[{_BREAKS}])([^\S{_BREAKS}]*)\[(\d+)\]")
_QUESTION = re.compile(rf"([{_BREAKS}][^\S{_BREAKS}]*Question):", re.IGNORECASE)

Task = Literal["answer", "question", "synopsis", "entities", "facts", "topic", "score"]


@dataclass(frozen=True)
class Request:
    """A request to a language model.

    Attributes
    ----------
    task : kind of work; not sent to chat models.
    instructions : what to do, from the method's `prompts.py`.
    question : question to answer, or "" where the task has none.
    passages : texts to work on, best first.
    max_words : length of the requested text, in words.
    temperature : 0 is greedy.
    seed : sampling seed, derived from a stable id.
    schema : pydantic model that the reply must satisfy, or None for free text.
    document_id : recorded in the ledger; "" where the request concerns a whole corpus.
    ending : text after passages and question, such as intermediate results: text from documents,
        which does not belong in the instructions, or that differs between requests.
    labels : where each passage comes from, shown behind its number, `(n_passages,)`.
    weights : probability that each passage holds evidence for the question, `(n_passages,)`; empty
        if unknown. Only models with `reads_weights` read it; a chat model never sees it.
    is_brief : whether to answer by what bears on the question alone, instead of filling
        `max_words`; only a model that reads no instructions needs it.
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
    weights: tuple[float, ...] = ()
    labels: tuple[str, ...] = ()
    is_brief: bool = False

    @property
    def described(self) -> str:
        """The request as messages name it: its task, and the document if it is about one."""
        document = f" for document '{self.document_id}'" if self.document_id else ""
        return f"the {self.task} request{document}"

    @property
    def marks(self) -> tuple[str, ...]:
        """What stands before each passage: its number, and where it comes from."""
        labels = self.labels or ("",) * len(self.passages)
        return tuple(f"[{i}] {label}".rstrip() for i, label in enumerate(labels, start=1))

    def render(self) -> str:
        """Return the user message: numbered passages, then the question, then the ending.

        No line of a passage can be taken for the number of another passage, or for the question:
        `[3]` at its beginning is written `(3)`, and `Question:` is `Question.`.
        """
        sections = [
            f"{mark}\n{_as_material(passage)}"
            for mark, passage in zip(self.marks, self.passages, strict=True)
        ]
        if self.question:
            sections.append(f"Question: {self.question}")
        if self.ending:
            sections.append(self.ending)
        return "\n\n".join(sections)


def _as_material(passage: str) -> str:
    marked = _MARK.sub(r"\1\2(\3)", passage) if "[" in passage else passage
    return _QUESTION.sub(r"\1.", marked)


@dataclass(frozen=True)
class Completion:
    """A model's valid reply to one `Request`; `tokens_*` in tokens, `latency_s` in seconds.

    `calls` counts answers, re-asks included; `retries` counts attempts without an answer. `slips`
    has one line for each kind of invalid item that was left out of the lists in `parsed`.
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
        """Number of items left out: a line of `slips` may begin with a count ("3 of …")."""
        return sum(
            int(n) if (n := slip.partition(" of ")[0]).isdigit() else 1 for slip in self.slips
        )


@dataclass(frozen=True)
class CompletionError:
    """The reason why a `Request` got no valid reply, with its cost.

    `text` is the model's last reply, which may be partly usable; empty if there was none.
    `repeats`: the model would fail again in the same way; only such failures are memoized.
    `is_filtered`: a content filter, or the model itself, refuses the request, so that its row is a
    known gap and no later run repeats it.
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
    is_filtered: bool = False


class ModelUnavailableError(RuntimeError):
    """A model is unavailable: its key is refused, or its server does not answer.

    The message never contains a key. The subclasses exist because Dagster preserves only an error's
    class and message.
    """


class JudgeUnavailableError(ModelUnavailableError):
    """The judge is unavailable."""


class EmbedderUnavailableError(ModelUnavailableError):
    """The embedder is unavailable."""


class ScorerUnavailableError(ModelUnavailableError):
    """The passage scorer is unavailable."""


Reply = Completion | CompletionError
OnReply = Callable[[int, Reply], None]
"""Callback with the index of a request and its reply, as soon as the reply is available."""


@runtime_checkable
class LanguageModel(Protocol):
    """Completes batches of requests.

    A model whose failures can be reproducible (`repeats`) has a `failure_scope`: what they depend
    on besides identity and request, such as `max_repairs`.
    """

    @property
    def identity(self) -> str:
        """Identity of the model's replies: backend, name, version, settings."""
        ...

    def complete(self, requests: Sequence[Request], on_reply: OnReply | None = None) -> list[Reply]:
        """Return one completion or error for each request, in order.

        `on_reply` is called for each as it arrives, in any order and from any thread, before this
        returns or raises.

        Raises `ModelUnavailableError` if further requests are useless. Replies received before were
        passed to `on_reply`.
        """
        ...


@runtime_checkable
class Embedder(Protocol):
    """Computes unit vectors of texts.

    The methods of one with `takes_progress` take `on_progress`, called with (texts done, texts in
    total).
    """

    @property
    def identity(self) -> str:
        """Identity of the vectors: weights, precision, pooling, window."""
        ...

    @property
    def dimension(self) -> int:
        """Length of a vector."""
        ...

    def embed(self, texts: Sequence[str]) -> np.ndarray:
        """Return float32 unit vectors of passages of any length, `(n_texts, dimension)`."""
        ...

    def embed_queries(self, texts: Sequence[str]) -> np.ndarray:
        """Return vectors of queries; differs from `embed` for two-encoder models such as DPR."""
        ...


@runtime_checkable
class Metered(Protocol):
    """An embedder whose server counts tokens."""

    @property
    def tokens_read(self) -> int:
        """Number of tokens that the server has processed so far."""
        ...

    @property
    def usd_per_million_tokens(self) -> float:
        """Price in US dollars."""
        ...


@runtime_checkable
class Streaming(Protocol):
    """An embedder with one encoder, on a server, that reports each vector as it arrives."""

    def embed_streaming(
        self, texts: Sequence[str], on_vector: Callable[[int, np.ndarray], None]
    ) -> np.ndarray:
        """Return vectors as `Embedder.embed`, each passed with its index to `on_vector`, too."""
        ...


OnRow = Callable[[int, np.ndarray], None]
"""Callback with the index of a passage and its candidates' scores, as soon as available."""


@runtime_checkable
class PassageScorer(Protocol):
    """Scores how well a passage predicts each of its candidates."""

    @property
    def identity(self) -> str:
        """Identity of the scorer's values."""
        ...

    @property
    def is_pairwise(self) -> bool:
        """Whether the score of a pair is independent of the passage's other candidates."""
        ...

    def score(
        self,
        contexts: Sequence[str],
        candidates: Sequence[Sequence[str]],
        on_row: OnRow | None = None,
    ) -> list[np.ndarray]:
        """Return log P(candidate | context) per token, in nats, for each context `(n_candidates,)`.

        NaN for a pair without a score. `on_row` is called with each row as it arrives, in any order
        and from any thread.

        Raises `ModelUnavailableError` if further requests are useless. Rows scored before were
        passed to `on_row`.
        """
        ...
