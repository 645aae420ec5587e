"""What a run would ask of models and what that would cost, told before anything is spent.

The run is rehearsed in a copy of the home, with understudies in place of the models that cost
money or hours. What these are asked is entered in the ledgers of the copy, and added up.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import dagster as dg

from gsum_assets.automation.currency import Requests
from gsum_assets.checks.finding import count
from gsum_assets.corpus.settings import CorpusError
from gsum_assets.definitions import METHODS, Pipeline, pipeline_for
from gsum_assets.execute import OnStart
from gsum_assets.models.assets import model_assets
from gsum_assets.models.work import work_of
from gsum_assets.plan_lines import (
    ENOUGH,
    Line,
    Spoken,
    call_line,
    earlier_replies,
    embedding_lines,
    model_name,
)
from gsum_assets.run import DriveError, OnStep, RunReport, drive
from gsum_assets.tables import TABLES
from gsum_resources.appended import read_appended
from gsum_resources.dagster_private import AssetGraph
from gsum_resources.home import Home
from gsum_resources.llm.rehearsal import Recalled
from gsum_resources.models import Models
from gsum_resources.parquet_store import ParquetStore
from gsum_resources.rehearsal import (
    RehearsedModels,
    rehearsal_home,
    rehearsal_instance,
    rehearsed,
)
from gsum_resources.settings import LlmSettings

_LEDGERS = ("llm_calls", "embedding_calls")
_QUESTIONS = dg.AssetKey("queries")
_JUDGE = dg.AssetKey("judge_model")


class PlanError(ValueError):
    """A rehearsal that failed; the message says where."""


@dataclass(frozen=True)
class Plan:
    """What a run would ask and cost.

    Attributes
    ----------
    n_questions : that the corpus has.
    is_current : whether nothing is due that asks a model or leads to one that does.
    notes : a line for each thing that the plan does not know.
    """

    corpus: str
    lines: Sequence[Line]
    n_questions: int
    is_current: bool
    notes: Sequence[str] = ()

    def total(self, stage: str | None = None) -> Line:
        """Calls, tokens and price of a stage; None: of both."""
        chosen = [line for line in self.lines if stage in (None, line.stage)]
        calls = [line for line in chosen if line.unit == "calls"]
        return Line(
            "total",
            stage or "",
            "calls",
            sum(line.n for line in calls),
            sum(line.from_memo for line in calls),
            sum(line.tokens_in for line in chosen),
            sum(line.tokens_out for line in chosen),
            sum(line.usd for line in chosen),
        )


def plan(
    home: Home,
    corpus: str,
    methods: Collection[str] | None = None,
    on_start: OnStart = lambda *_: None,
    models: Models | None = None,
    on_step: OnStep = lambda *_: None,
) -> Plan:
    """What `gsum run` with these methods would ask and cost now; nothing of the home is written.

    Parameters
    ----------
    methods : as `drive` takes them.
    on_start : called before each run of the rehearsal.
    models : those of the home, unless given.
    on_step : called before each step of it.

    Raises
    ------
    CorpusError
        If the corpus cannot be read, or a method is unknown.
    PlanError
        If a step of the rehearsal failed.
    """
    METHODS.wanted(home.corpora, corpus, methods or ["default"])
    store = home.open_store()
    models = models or Models(home.settings(), store, TABLES["llm_calls"])
    tables = [name for name in TABLES if name not in _LEDGERS]
    with rehearsal_home(home, corpus, tables) as copy:
        understudies = rehearsed(models, copy.open_store())
        pipeline = pipeline_for(copy, understudies, is_rehearsal=True)
        if (asked := Requests(store).of(corpus)) is not None:
            pipeline.requests.add(corpus, asked)
        try:
            report = _rehearse(pipeline, corpus, methods, on_start, on_step)
        except (CorpusError, DriveError) as error:
            raise type(error)(str(error).replace(str(copy.root), str(home.root))) from error
        if report.errors:
            said = report.errors[0].replace(str(copy.root), str(home.root))
            raise PlanError(f"corpus '{corpus}' cannot be planned: a rehearsal failed: {said}")
        return _added_up(pipeline, understudies, corpus, store, is_current=not report.made)


def _rehearse(
    pipeline: Pipeline,
    corpus: str,
    methods: Collection[str] | None,
    on_start: OnStart,
    on_step: OnStep,
) -> RunReport:
    only = _leading_to_models(pipeline.definitions.resolve_asset_graph())
    with rehearsal_instance(pipeline.home) as instance:
        return drive(pipeline, instance, corpus, methods, on_start, only=only, on_step=on_step)


def _leading_to_models(graph: AssetGraph) -> set[dg.AssetKey]:
    """The assets that ask a model, and what those rest on."""
    models = {asset.key for asset in model_assets}
    leading: set[dg.AssetKey] = set()
    for key in reversed(graph.toposorted_asset_keys):
        node = graph.get(key)
        if node.parent_keys & models or node.child_keys & leading:
            leading |= node.execution_set_asset_keys  # what one step makes comes together
    return leading


def _stages(graph: AssetGraph) -> dict[str, str]:
    """ "query" or "index" by asset."""
    reached = {_QUESTIONS}
    for key in graph.toposorted_asset_keys:
        if graph.get(key).parent_keys & reached:
            reached.add(key)
    reached.remove(_QUESTIONS)
    return {
        key.to_user_string(): "query" if key in reached else "index"
        for key in graph.toposorted_asset_keys
    }


def _added_up(
    pipeline: Pipeline,
    models: RehearsedModels,
    corpus: str,
    store: ParquetStore,
    is_current: bool,
) -> Plan:
    """The ledgers of a rehearsal as a plan; `store` is that of the real home."""
    graph = pipeline.definitions.resolve_asset_graph()
    stages, settings = _stages(graph), models.settings
    calls: dict[str, list[dict]] = {}
    for row in read_appended(pipeline.store, TABLES["llm_calls"], corpus).to_pylist():
        calls.setdefault(row["asset"], []).append(row)
    judging = {key.to_user_string() for key in graph.get(_JUDGE).child_keys}

    def model_of(asset: str) -> LlmSettings:
        return models.settings_of("judge_model" if asset in judging else work_of(asset))

    earlier = earlier_replies(store)
    lines = []
    for asset, rows in sorted(calls.items()):
        model = model_of(asset)
        peers = [one for one in models.recalled if model_of(one) == model]
        recalled = _recalled(models, asset, peers)
        spoken = earlier.get((asset, model_name(model)), Spoken())
        lines.append(call_line(asset, stages[asset], rows, recalled, spoken, model))
    units = {}
    if settings.embedding.backend == "openai_compatible":
        units[models.identity("embedding_model")] = "texts"
    if settings.scorer.backend == "openai_compatible":
        units[models.identity("passage_scorer")] = "pairs"
    embedded = read_appended(pipeline.store, TABLES["embedding_calls"], corpus)
    lines += embedding_lines(embedded, units, stages)
    n_questions = pipeline.store.count(TABLES["queries"], corpus)
    notes = _notes(calls, {asset: model_of(asset) for asset in calls})
    return Plan(corpus, lines, n_questions, is_current, notes)


def _recalled(models: RehearsedModels, asset: str, peers: Collection[str]) -> Recalled:
    """What the memo had for an asset, or where that is little for all that ask the same model."""
    own = models.recalled.get(asset, Recalled())
    return own if own.n >= ENOUGH else sum((models.recalled[one] for one in peers), Recalled())


def _notes(
    calls: Mapping[str, Sequence[Mapping]], settings: Mapping[str, LlmSettings]
) -> list[str]:
    """What the plan does not know; `settings` are those of the model that each asset asks."""
    notes = []
    for asset, rows in sorted(calls.items()):
        if failed := [row["error"] for row in rows if row["error"] and not row["cached"]]:
            notes.append(
                f"{asset}: {count(len(failed), 'request')} could not be rehearsed, and what rests "
                f"on the replies is not in the plan (first: {failed[0].partition(';')[0]})"
            )
    for table in sorted({own.table for own in settings.values() if _has_no_price(own)}):
        notes.append(
            "no price is known: set usd_per_million_tokens_in and usd_per_million_tokens_out in "
            f"[{table}] of gsum.toml"
        )
    return notes


def _has_no_price(model: LlmSettings) -> bool:
    prices = model.usd_per_million_tokens_in + model.usd_per_million_tokens_out
    return model.backend == "openai_compatible" and not prices
