"""Which model serves what, built when first used, and handed to assets with memo and ledger."""

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import cast

import dagster as dg

from gsum_resources.lineage import Reads
from gsum_resources.llm.ledger import Ledger, LedgeredModel
from gsum_resources.memo import MemoizedEmbedder
from gsum_resources.parquet_store import ParquetStore
from gsum_resources.progress import reporter
from gsum_resources.protocols import Embedder, LanguageModel
from gsum_resources.table import Table
from gsum_resources.warehouse_io import Lazy, partition_of, step_of


class ModelError(ValueError):
    """A model setting that cannot be met; the message names setting, value and remedy."""


@dataclass(frozen=True)
class ModelSettings:
    """Each with the environment variable that sets it.

    Attributes
    ----------
    language_model : `GSUM_LANGUAGE_MODEL`: `extractive`.
    embedding_model : `GSUM_EMBEDDING_MODEL`: `packaged`, or a sentence-transformers or
        transformers model by path or hub id.
    embedding_precision : `GSUM_EMBEDDING_PRECISION`: `float32` or `bfloat16`.
    """

    language_model: str = "extractive"
    embedding_model: str = "packaged"
    embedding_precision: str = "float32"

    @classmethod
    def from_environment(cls) -> "ModelSettings":
        """Read the variables; empty counts as unset."""
        names = ("language_model", "embedding_model", "embedding_precision")
        found = {name: os.environ.get(f"GSUM_{name.upper()}") for name in names}
        return cls(**{name: value for name, value in found.items() if value})


@dataclass(frozen=True)
class Models:
    """The language model, the embedder and the passage scorer of one process.

    `overrides` replaces a model by its asset name, for tests and notebooks.
    """

    settings: ModelSettings
    store: ParquetStore
    ledger_table: Table
    overrides: dict[str, LanguageModel | Embedder] = field(default_factory=dict)

    def identity(self, name: str) -> str:
        """The present identity of `language_model`, `embedding_model` or `passage_scorer`."""
        if name == "language_model":
            return self._language_model.identity
        if name == "embedding_model":
            return self.embedder.identity
        if name == "passage_scorer":
            return "unigram/mu=1000"  # the only scorer so far; it is fitted to each corpus
        raise ModelError(f"no model is called '{name}'")

    @cached_property
    def embedder(self) -> MemoizedEmbedder:
        """The embedder of chunks and queries."""
        given = self.overrides.get("embedding_model")
        if given is None:
            wanted = self.settings
            given = _local_embedder(wanted.embedding_model, wanted.embedding_precision)
        return MemoizedEmbedder(given, self.store)  # type: ignore[arg-type]

    def language_model(
        self, ledger: Ledger, on_progress: Callable[[int, int], None] | None = None
    ) -> LedgeredModel:
        """The language model, entering its calls in `ledger`."""
        return LedgeredModel(self._language_model, self.store, ledger, on_progress)

    @cached_property
    def _language_model(self) -> LanguageModel:
        given = self.overrides.get("language_model")
        if given is not None:
            return given  # type: ignore[return-value]
        if self.settings.language_model != "extractive":
            raise ModelError(
                f"GSUM_LANGUAGE_MODEL is '{self.settings.language_model}'; this version serves "
                "'extractive' only"
            )
        from gsum_resources.llm.extractive import ExtractiveModel

        # always the same embedder: its answers do not change with the corpus's embedding model
        embedder = _local_embedder("packaged", "float32")
        return ExtractiveModel(MemoizedEmbedder(embedder, self.store))


def _local_embedder(model: str, precision: str) -> Embedder:
    from gsum_resources.embedder import LocalEmbedder

    if precision not in ("float32", "bfloat16"):
        raise ModelError(
            f"GSUM_EMBEDDING_PRECISION is '{precision}'; choose 'float32' or 'bfloat16'"
        )
    return cast(Embedder, LocalEmbedder(model, precision=precision))


class ModelsIO(dg.IOManager):
    """Hands the observed model assets to those that use them, and notes that they did."""

    def __init__(self, models: Models, reads: Reads) -> None:
        self.models = models
        self._reads = reads

    def load_input(self, context: dg.InputContext) -> Lazy:
        """A `Lazy` whose `get` gives a `LedgeredModel` or a `MemoizedEmbedder`."""
        name = context.asset_key.path[-1]
        step = step_of(context)
        asset = context.step_context.step.key
        corpus = _corpus_of(context)

        def read() -> LedgeredModel | MemoizedEmbedder:
            self._reads.other(step, f"model:{name}", self.models.identity(name))
            info = context.log.info if context.log else print
            if name == "embedding_model":
                return self.models.embedder.reporting(reporter(f"{asset}: texts embedded", info))
            ledger = Ledger(self.models.store, self.models.ledger_table, corpus, asset)
            answered = reporter(f"{asset}: requests answered", info)
            return self.models.language_model(ledger, answered)

        return Lazy(read)

    def handle_output(self, context: dg.OutputContext, obj: object) -> None:
        """Models are observed, never written."""
        raise NotImplementedError(f"{context.asset_key}: a model is observed, not materialized")


def _corpus_of(context: dg.InputContext) -> str:
    """The corpus whose partition the step makes."""
    step = context.step_context
    return partition_of(step.partition_key_range.start).corpus
