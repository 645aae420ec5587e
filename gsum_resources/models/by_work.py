"""The models that serve each kind of work, created on first use."""

from collections.abc import Callable, Collection, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from gsum_resources.embedding.embedder import LocalEmbedder
from gsum_resources.embedding.memoized import MemoizedEmbedder
from gsum_resources.embedding.processor import PRECISIONS, Precision, fastest_precision
from gsum_resources.endpoint.budget import Amount, Budget, Reserve, Spending, free_of_charge
from gsum_resources.endpoint.connection import OnWords
from gsum_resources.engine.blocks import LOCAL, Engine, Movable, engine_of
from gsum_resources.llm.ledger import Ledger
from gsum_resources.llm.ledgered_model import LedgeredModel, OnProgress, ReserveRequests
from gsum_resources.llm.tokens import Window, most_tokens, window_of
from gsum_resources.protocols.models import Embedder, LanguageModel, PassageScorer, Request
from gsum_resources.scoring.memoized import MemoizedScorer
from gsum_resources.settings.schema import (
    EmbeddingSettings,
    LlmSettings,
    Settings,
    WorkSettings,
)
from gsum_resources.state.database import state_of
from gsum_resources.state.server_facts import ServerFacts
from gsum_resources.store.locked_property import locked_property
from gsum_resources.store.memo import Memo
from gsum_resources.store.parquet_store import ParquetStore
from gsum_resources.store.table import Table

if TYPE_CHECKING:
    from gsum_resources.endpoint import Endpoint


LANGUAGE_MODELS = ("language_model", "judge_model")  # names of their assets
WORK = tuple(WorkSettings.model_fields)  # kinds of work that may have a language model of their own
_LANGUAGE_MODELS = (*LANGUAGE_MODELS, *WORK)
MODEL_NAMES = (*_LANGUAGE_MODELS, "embedding_model", "passage_scorer")
ServerSettings = LlmSettings | EmbeddingSettings


class ModelError(ValueError):
    """A model name that is unknown; the message names it."""


@dataclass(frozen=True)
class Models:
    """The language model, the embedder and the passage scorer of one process.

    `overrides` replaces a model by its asset name, for tests and notebooks. `quick` embeds without
    torch where the local model supports it: for a process that answers one question and ends.
    `on_words` is called with the pieces of answers as they arrive, by models that stream.
    """

    settings: Settings
    store: ParquetStore
    ledger_table: Table
    overrides: dict[str, LanguageModel | Embedder | PassageScorer] = field(default_factory=dict)
    quick: bool = False
    on_words: OnWords | None = None

    _bare: dict[str, Any] = field(default_factory=dict, init=False, repr=False, compare=False)
    _windows: dict[str, Window] = field(default_factory=dict, init=False, repr=False, compare=False)
    _endpoints: dict[ServerSettings, "Endpoint"] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    def identity(self, name: str) -> str:
        """Return the identity of a model by the name of its asset or kind of work."""
        return self.bare(name).identity

    def version(self, name: str) -> str:
        """Return the version for lineage: the identity, and the settings that limit its prompts."""
        identity = self.identity(name)
        if name not in _LANGUAGE_MODELS:
            return identity
        settings = self.settings_of(name)
        context = f"context={settings.context_tokens}" if settings.context_tokens else ""
        filtered = f"filter={settings.filter_version}" if settings.filter_version else ""
        return "/".join(filter(None, [identity, context, settings.tokenizer, filtered]))

    def settings_of(self, name: str) -> LlmSettings:
        """Return the settings of a language model, its own or those of [llm]."""
        separate = self.settings.judge if name == "judge_model" else None
        if name in WORK:
            separate = getattr(self.settings.models, name)
        return self.settings.llm if separate is None or separate.backend == "same" else separate

    def window(self, name: str = "language_model") -> Window:
        """Return the context window of a language model, as far as it is known."""
        name = self._named(name)
        if name not in self._windows:
            self._windows[name] = self._new_window(name)
        return self._windows[name]

    def bare(self, name: str) -> Any:
        """Return a model without memo and ledger, by the name of its asset or kind of work."""
        name = self._named(name)
        if name not in self._bare:
            self._bare[name] = self.overrides.get(name) or self._new(name)
        return self._bare[name]

    def check(self, names: Collection[str] | None = None) -> None:
        """Send one cheap request to each server in use, so that a wrong key is reported early.

        Raises
        ------
        SettingsError
            If the environment variable of a key is not set.
        ModelUnavailableError
            If a server refuses the key or cannot be reached.
        """
        for name, settings in self._served.items():
            if name not in self.overrides and (names is None or name in names):
                self._endpoint(settings).check()

    @property
    def _served(self) -> dict[str, ServerSettings]:
        """Settings of the models that a server provides, by asset name."""
        all_models: dict[str, ServerSettings] = {
            "language_model": self.settings.llm,
            "judge_model": self.settings.judge,
            **{work: table for work in WORK if (table := getattr(self.settings.models, work))},
            "embedding_model": self.settings.embedding,
        }
        return {name: s for name, s in all_models.items() if s.backend == "openai_compatible"}

    @locked_property
    def embedder(self) -> MemoizedEmbedder:
        """The embedder of chunks and queries."""
        return self._memoized(self.bare("embedding_model"))

    @locked_property
    def scorer(self) -> MemoizedScorer:
        """The scorer of how well one passage predicts another."""
        return MemoizedScorer(self.bare("passage_scorer"), self.store, self.engine)

    @locked_property
    def engine(self) -> Engine:
        """Where blocks of heavy work are computed: for one question, in this process."""
        return LOCAL if self.quick else engine_of(self.settings.engine)

    def language_model(
        self,
        ledger: Ledger,
        on_progress: OnProgress | None = None,
        on_failure: Callable[[str], None] | None = None,
        name: str = "language_model",
        on_filtered: Callable[[str], None] | None = None,
        retries_failures: bool = False,
    ) -> LedgeredModel:
        """Return a language model that records its calls in `ledger`.

        `name` is `language_model`, `judge_model`, or a kind of work; for the others see
        `LedgeredModel`.
        """
        model, window = self.bare(name), partial(self.window, name)
        calls = on_progress, on_failure, window, on_filtered
        reserve = self._reserve_requests(name, self.reserve(name, ledger.corpus))
        return LedgeredModel(model, self.store, ledger, *calls, reserve, retries_failures)

    @locked_property
    def budget(self) -> Budget:
        """The budget of a day for served models."""
        return Budget(self.settings, lambda: state_of(self.store))

    def reserve(self, name: str, corpus: str) -> Reserve:
        """Return how batches of requests of a model are charged; a model without server is free."""
        if not self.is_served(name):
            return free_of_charge
        return lambda most: self.budget.batch(corpus, most)

    def is_served(self, name: str) -> bool:
        """Return whether a server provides a model, so that it may cost money."""
        is_embedder = name == "embedding_model"
        chosen = self.settings.embedding if is_embedder else self.settings_of(name)
        return self._named(name) not in self.overrides and chosen.backend == "openai_compatible"

    def _reserve_requests(self, name: str, reserve: Reserve) -> ReserveRequests:
        settings = self.settings_of(name)

        def of(requests: Sequence[Request]) -> AbstractContextManager[Spending]:
            from gsum_resources.llm.openai_compatible import most_spent

            return reserve(sum((most_spent(request, settings) for request in requests), Amount()))

        return of

    def _named(self, name: str) -> str:
        """Return the name of the model that serves `name`: itself, or "language_model"."""
        if name not in _LANGUAGE_MODELS or name in self.overrides:
            return name
        return "language_model" if self.settings_of(name) is self.settings.llm else name

    def _new(self, name: str) -> LanguageModel | Embedder | PassageScorer:
        if name in _LANGUAGE_MODELS:
            return self._new_language_model(name)
        if name == "passage_scorer":
            return self._new_scorer()
        if name == "embedding_model":
            settings = self.settings.embedding
            if settings.backend != "openai_compatible":
                return self._local_embedder(settings)
            from gsum_resources.embedding.openai_compatible import OpenAICompatibleEmbedder

            return OpenAICompatibleEmbedder(settings, self._endpoint(settings))
        raise ModelError(f"unknown model '{name}'; known: {', '.join(MODEL_NAMES)}")

    def _new_window(self, name: str) -> Window:
        settings = self.settings_of(name)
        if name in self.overrides or settings.backend == "extractive":
            return Window(settings.model, most_tokens)  # needs no server and has no limit
        if declared := getattr(self.bare(name), "window", None):
            return declared
        folder = Path(settings.model).expanduser()
        local = folder if settings.backend != "openai_compatible" and folder.is_dir() else None
        return window_of(settings, lambda: self._endpoint(settings), local)

    def _new_language_model(self, name: str) -> LanguageModel:
        settings = self.settings_of(name)
        if settings.backend == "openai_compatible":
            from gsum_resources.llm.openai_compatible import OpenAICompatibleModel

            window, endpoint = partial(self.window, name), self._endpoint(settings)
            facts = self._facts(settings)
            return OpenAICompatibleModel(settings, endpoint, window, facts, self.on_words)
        if settings.backend in ("transformers_local", "packaged"):
            from gsum_resources.llm.transformers_local import SpreadModel, TransformersModel

            model = TransformersModel(settings)
            spreads = self.engine.spreads
            return cast(LanguageModel, SpreadModel(model, self.engine) if spreads else model)
        from gsum_resources.llm.extractive import ExtractiveModel

        # a fixed embedder, so that its answers do not depend on the corpus's embedding model, nor
        # its identity on the precision; where this is the same one, a question is embedded once
        fixed = EmbeddingSettings(precision=self.settings.embedding.precision)
        is_same = self.settings.embedding == fixed and "embedding_model" not in self.overrides
        embedder = self.embedder if is_same else self._memoized(self._local_embedder(fixed))
        exact = LocalEmbedder(fixed.model)
        return ExtractiveModel(embedder, vectors=exact.identity)

    def _memoized(self, embedder: Embedder) -> MemoizedEmbedder:
        """Return an embedder that embeds each text once.

        A process that answers questions computes the vector of a question sooner than it stores it.
        """
        stores_queries = not (self.quick and isinstance(embedder, Movable))
        return MemoizedEmbedder(embedder, self.store, self.engine, stores_queries)

    def _local_embedder(self, settings: EmbeddingSettings) -> Embedder:
        embedder = LocalEmbedder(settings.model)
        if self.quick and embedder.runs_in_numpy:
            return cast(Embedder, replace(embedder, runtime="numpy"))
        precision = settings.precision
        if precision == "auto":
            precision = _precision_in_home(embedder, self.store)
        return cast(Embedder, replace(embedder, precision=precision))

    def _new_scorer(self) -> PassageScorer:
        settings = self.settings.scorer
        if settings.backend in ("transformers_local", "packaged"):
            from gsum_resources.scoring.causal_scorer import CausalScorer

            return CausalScorer(settings)
        from gsum_resources.scoring.unigram import UnigramScorer

        return UnigramScorer(settings.mu)

    def _endpoint(self, settings: ServerSettings) -> "Endpoint":
        """Return the client of a table of `gsum.toml`; each has its own limits."""
        if settings not in self._endpoints:
            from gsum_resources.endpoint import Endpoint

            self._endpoints[settings] = Endpoint(settings, self.store)
        return self._endpoints[settings]

    def _facts(self, settings: LlmSettings) -> ServerFacts:
        """Return what the server of a language model has shown of it in earlier runs."""
        served = f"{settings.model} at {settings.base_url}"
        version = f"version={settings.version}" if settings.version else ""
        form = settings.structured_output
        structured = f"structured={form}" if form != "auto" else ""
        return ServerFacts(self.store, "/".join(filter(None, [served, version, structured])))


def _precision_in_home(embedder: LocalEmbedder, store: ParquetStore) -> Precision:
    """Return the precision of a home's vectors, in a new home the faster one on this processor."""
    for precision in PRECISIONS:
        identity = replace(embedder, precision=precision).identity
        if Memo(store, "embeddings", identity).exists():
            return precision
    return fastest_precision()
