"""Dagster IO manager of the models: gives them to assets with memo and ledger."""

from collections import defaultdict
from collections.abc import Callable
from functools import partial

import dagster as dg

from gsum_resources.dagster_io.failure import explained
from gsum_resources.dagster_io.overrides import Overrides
from gsum_resources.dagster_io.usage import CountingLedger, Usage
from gsum_resources.dagster_io.warehouse_io import partition_of, step_of
from gsum_resources.embedding.embedding_ledger import Batch, EmbeddingLedger
from gsum_resources.embedding.memoized import MemoizedEmbedder
from gsum_resources.llm.ledgered_model import LedgeredModel
from gsum_resources.messages.progress import reporter
from gsum_resources.models.by_work import MODEL_NAMES, Models
from gsum_resources.scoring.memoized import MemoizedScorer
from gsum_resources.store.input_key import InputKey
from gsum_resources.store.lazy import Lazy
from gsum_resources.store.lineage import Reads, Step
from gsum_resources.store.table import Table

RETRY_FAILURES = "retry_failures"
"""Key of a step's configuration: whether known failures of its language model are tried again."""


class ModelsIO(dg.IOManager):
    """Gives observed model assets to the assets that use them, and records that use.

    Parameters
    ----------
    work_of : returns the kind of work of an asset, which may have a language model of its own.
    usual : the models of the home; None: `models` are.

    Attributes
    ----------
    usage : of the models by each step that has read one.
    """

    def __init__(
        self,
        models: Models,
        reads: Reads,
        embedding_table: Table,
        work_of: Callable[[str], str] = lambda _: "language_model",
        usual: Models | None = None,
        overrides: Overrides | None = None,
    ) -> None:
        self.models, self.usual = models, usual or models
        self._overrides = overrides or Overrides(reads)
        self.usage: dict[Step, Usage] = defaultdict(Usage)
        self._work_of = work_of
        self._reads = reads
        self._embedding_table = embedding_table

    @property
    def replaced(self) -> list[str]:
        """Names of the models that the run's configuration replaces by others."""
        if self.models is self.usual:
            return []
        return [n for n in MODEL_NAMES if self.models.version(n) != self.usual.version(n)]

    @explained()
    def load_input(self, context: dg.InputContext) -> Lazy:
        """Return a `Lazy` of a `LedgeredModel`, `MemoizedEmbedder` or `MemoizedScorer`."""
        asset = context.step_context.step.key.replace("__", "/")  # as on the command line
        info = context.log.info if context.log else print
        name = context.asset_key.path[-1]
        corpus = partition_of(context.step_context.partition_key_range.start).corpus
        again = bool((context.step_context.op_config or {}).get(RETRY_FAILURES))
        return self.model(step_of(context), asset, name, corpus, info, again)

    def model(
        self,
        step: Step,
        asset: str,
        name: str,
        corpus: str,
        info: Callable[[str], None],
        retries_failures: bool = False,
    ) -> Lazy:
        """Return the same for a step, recording its calls for an asset and corpus."""

        def read() -> LedgeredModel | MemoizedEmbedder | MemoizedScorer:
            model = self._work_of(asset) if name == "language_model" else name
            key, version = InputKey("model", name), self.models.version(model)
            self._overrides.note(step, asset, key, version, self.usual.version(model))
            self._reads.other(step, key, version)
            batches = EmbeddingLedger(self.models.store, self._embedding_table, corpus, asset)
            failed = partial(self._reads.failure, step)
            usage = self.usage[step]
            reserve = self.models.reserve(model, corpus, step[0])

            def enter(batch: Batch) -> None:
                batches.enter(batch)
                usage.batches = [*(usage.batches or ()), batch]

            if name == "embedding_model":
                on_progress = reporter(f"{asset}: texts embedded", info)
                return self.models.embedder.reporting(on_progress, enter, reserve)
            if name == "passage_scorer":
                on_progress = reporter(f"{asset}: passages scored", info)
                return self.models.scorer.reporting(on_progress, enter, failed, reserve)
            store, table = self.models.store, self.models.ledger_table
            calls = CountingLedger(store, table, corpus, asset, step[0], usage)
            answered = reporter(f"{asset}: requests answered", info)
            filtered = partial(self._reads.filter, step)
            return self.models.language_model(
                calls, answered, failed, model, filtered, retries_failures
            )

        return Lazy(read)

    @explained()
    def handle_output(self, context: dg.OutputContext, obj: object) -> None:
        """Raise an error: models are observed, never written."""
        raise NotImplementedError(f"{context.asset_key}: a model is observed, not materialized")
