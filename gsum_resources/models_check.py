"""Whether the models that are set answer: each is asked a tiny question, past every memo."""

import time
from collections.abc import Iterator
from dataclasses import dataclass, replace

from gsum_resources.llm.results import Score
from gsum_resources.models import LANGUAGE_MODELS, WORK, Models
from gsum_resources.protocols import (
    CompletionError,
    ModelUnavailableError,
    PassageScorer,
    Request,
)
from gsum_resources.settings import EmbeddingSettings, LlmSettings, ScorerSettings

_PASSAGE = "The ferry to Halfway leaves at nine in the morning and takes forty minutes."
_QUESTION = "When does the ferry leave, and how long does it take?"
_RATED = Request(
    "score",
    "Rate from 1 (unrelated) to 10 (answers it) how much the passage helps to answer the question.",
    _QUESTION,
    (_PASSAGE,),
    max_words=5,
    schema=Score,
)
_ANSWERED = Request(
    "answer", "Answer the question in one short sentence.", _QUESTION, (_PASSAGE,), max_words=20
)


@dataclass(frozen=True)
class CheckedModel:
    """What is known of one model after it was asked.

    Attributes
    ----------
    table : of `gsum.toml` that sets it.
    context_tokens : most tokens of prompt and reply together; None: unknown or without limit.
    tokens_per_s : of a reply of a few words, prompt included; None: it writes no text.
    structure : how JSON is had of it; empty: not at all, or it writes no text.
    usd : price of a million tokens, in and out; empty: it costs nothing.
    failure : why it does not answer; empty if it does.
    """

    table: str
    backend: str
    model: str
    context_tokens: int | None = None
    tokens_per_s: float | None = None
    structure: str = ""
    usd: tuple[float, ...] = ()
    failure: str = ""


def check_models(models: Models) -> Iterator[CheckedModel]:
    """Ask every model that is set, each once; one that is the model of [llm] is left out."""
    for name in (*LANGUAGE_MODELS, *WORK):
        if name == "language_model" or models.settings_of(name) is not models.settings.llm:
            yield _language_model(models, name)
    yield _other(models, "embedding_model", models.settings.embedding)
    yield _other(models, "passage_scorer", models.settings.scorer)


def _language_model(models: Models, name: str) -> CheckedModel:
    settings = models.settings_of(name)
    checked = CheckedModel(settings.table, settings.backend, settings.model, usd=_prices(settings))
    try:
        model = models.bare(name)
        (rated,) = model.complete([_RATED])  # the first, so that loading is not timed below
        started = time.perf_counter()
        (answered,) = model.complete([_ANSWERED])
        seconds = time.perf_counter() - started
        context = models.window(name).context
    except (ModelUnavailableError, ValueError) as error:
        return replace(checked, failure=str(error))
    failures = [reply.message for reply in (rated, answered) if isinstance(reply, CompletionError)]
    return replace(
        checked,
        model=answered.model,
        context_tokens=context,
        tokens_per_s=answered.tokens_out / seconds if answered.tokens_out else None,
        structure="" if isinstance(rated, CompletionError) else getattr(model, "structure", ""),
        failure=failures[0] if failures else "",
    )


def _prices(settings: LlmSettings) -> tuple[float, ...]:
    if settings.backend != "openai_compatible":
        return ()
    return settings.usd_per_million_tokens_in, settings.usd_per_million_tokens_out


def _other(models: Models, name: str, settings: EmbeddingSettings | ScorerSettings) -> CheckedModel:
    checked = CheckedModel(settings.table, settings.backend, settings.model)
    if settings.backend == "openai_compatible":
        price = (settings.usd_per_million_tokens,)
        checked = replace(checked, context_tokens=settings.max_tokens, usd=price)
    try:
        model = models.bare(name)
        if isinstance(model, PassageScorer):
            model.score([_PASSAGE], [[_QUESTION]])
        else:
            model.embed([_PASSAGE])
    except (ModelUnavailableError, ValueError, OSError) as error:
        return replace(checked, failure=str(error))
    return checked
