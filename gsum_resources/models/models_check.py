"""Check of the configured models: each gets a tiny request, without memo.

The request also finds out anew how the server returns JSON, which later runs start from.
"""

import time
from collections.abc import Iterator
from dataclasses import dataclass, replace

from gsum_resources.embedding.embedder import LocalEmbedder
from gsum_resources.embedding.processor import fastest_precision
from gsum_resources.llm.openai_compatible import OpenAICompatibleModel
from gsum_resources.models.by_work import LANGUAGE_MODELS, WORK, Models
from gsum_resources.protocols.models import (
    CompletionError,
    ModelUnavailableError,
    Request,
)
from gsum_resources.protocols.results import Score
from gsum_resources.settings.schema import EmbeddingSettings, LlmSettings, ScorerSettings

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
    """Result of checking one model: its limits, its speed, or the failure to answer.

    `context_tokens` limits prompt and reply together; `tokens_per_s` is the speed of a short reply;
    `structure` says how it returns JSON; `usd` is the price per million tokens, in and out.
    """

    table: str
    backend: str
    model: str
    context_tokens: int | None = None
    tokens_per_s: float | None = None
    structure: str = ""
    usd: tuple[float, ...] = ()
    failure: str = ""
    hint: str = ""


def check_models(models: Models) -> Iterator[CheckedModel]:
    """Send a request to every configured model; those that share the model of [llm] are skipped."""
    for name in (*LANGUAGE_MODELS, *WORK):
        if name == "language_model" or models.settings_of(name) is not models.settings.llm:
            yield _language_model(models, name)
    yield _embedder(models, models.settings.embedding)
    yield _scorer(models, models.settings.scorer)


def _language_model(models: Models, name: str) -> CheckedModel:
    settings = models.settings_of(name)
    checked = CheckedModel(settings.table, settings.backend, settings.model, usd=_prices(settings))
    try:
        models.check([name])  # at once, and with the remedy; a request would be retried first
        model = models.bare(name)
        if isinstance(model, OpenAICompatibleModel):
            model.probe_again()
        (rated,) = model.complete([_RATED])  # first request, so that loading is not timed below
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


def _embedder(models: Models, settings: EmbeddingSettings) -> CheckedModel:
    checked = CheckedModel(settings.table, settings.backend, settings.model)
    if settings.backend == "openai_compatible":
        price = (settings.usd_per_million_tokens,)
        checked = replace(checked, context_tokens=settings.max_tokens, usd=price)
    try:
        models.check(["embedding_model"])
        model = models.bare("embedding_model")
        model.embed([_PASSAGE])
    except (ModelUnavailableError, ValueError, OSError) as error:
        return replace(checked, failure=str(error))
    return _with_precision(checked, model)


def _scorer(models: Models, settings: ScorerSettings) -> CheckedModel:
    checked = CheckedModel(settings.table, settings.backend, settings.model)
    try:
        models.bare("passage_scorer").score([_PASSAGE], [[_QUESTION]])
    except (ModelUnavailableError, ValueError, OSError) as error:
        return replace(checked, failure=str(error))
    return checked


def _with_precision(checked: CheckedModel, model: object) -> CheckedModel:
    """Add a local model's precision, and how to change it if another one is faster here."""
    if not isinstance(model, LocalEmbedder):
        return checked
    checked = replace(checked, model=f"{checked.model}, {model.precision}")
    faster = fastest_precision()
    if model.precision == faster:
        return checked
    hint = f"{faster} is faster on this processor; precision = '{faster}' embeds all texts again"
    return replace(checked, hint=hint)
