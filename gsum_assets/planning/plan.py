"""Plan of the requests that a run would send to models, with their cost.

What is due is computed in memory from the tables of the home, with stub models for those that cost
money or hours. The requests to the stub models are recorded in separate ledgers and added up.
"""

import logging
import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import dagster as dg
from gsum_resources.dagster_io.models_io import ModelsIO
from gsum_resources.dagster_io.settings_io import SettingsReader
from gsum_resources.dagster_io.warehouse_io import family_of
from gsum_resources.state.requests import Requests

from gsum_assets.automation.staleness import Snapshot
from gsum_assets.corpus import observe
from gsum_assets.dagster_assets.model_assets import model_assets
from gsum_assets.definitions import METHODS, pipeline_for
from gsum_assets.pipeline.columns import DOCUMENT_LEVEL
from gsum_assets.pipeline.finding import count
from gsum_assets.pipeline.step import MODELS, SETTINGS, Inputs
from gsum_assets.pipeline.tables import TABLES
from gsum_assets.planning.plan_lines import (
    ENOUGH,
    Line,
    Spoken,
    call_line,
    earlier_replies,
    embedding_lines,
    model_name,
)
from gsum_assets.registry.declared import STEPS, Declared, work_of
from gsum_assets.runner.pipeline import Pipeline
from gsum_assets.runner.report import OnStep
from gsum_resources.dagster_io.dagster_private import AssetGraph
from gsum_resources.endpoint.budget import Amount, Budget, in_unit
from gsum_resources.llm.stub_model import Recalled
from gsum_resources.models.by_work import Models
from gsum_resources.models.stub_models import DryRunModels, stub_models
from gsum_resources.settings.home import Home
from gsum_resources.settings.schema import LlmSettings
from gsum_resources.state.database import MEMORY
from gsum_resources.state.layered import store_over
from gsum_resources.store.appended import APPENDED, read_appended
from gsum_resources.store.lineage import feeds
from gsum_resources.store.parquet_store import ParquetStore, Partition

_QUESTIONS = dg.AssetKey("queries")
_JUDGE = dg.AssetKey("judge_model")
_WITHOUT_BERTSCORE = {"scores": {"bertscore": False}}  # calls no language model, so a plan skips it
_NO_INSTANCE: Any = None  # a plan reads no run log
_log = logging.getLogger(__name__)


class PlanError(ValueError):
    """A dry run failed; the message says in which step."""


@dataclass(frozen=True)
class Plan:
    """Requests and cost of a run.

    Attributes
    ----------
    n_questions : number of questions of the corpus.
    is_current : whether nothing is due that calls a model or that such a step depends on.
    notes : a line for each unknown of the plan.
    requests : which methods it is for, and why.
    """

    corpus: str
    lines: Sequence[Line]
    n_questions: int
    is_current: bool
    notes: Sequence[str] = ()
    requests: str = ""

    def total(self, stage: str | None = None) -> Line:
        """Return calls, tokens and price of a stage; None: of both."""
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
    models: Models | None = None,
    on_step: OnStep = lambda *_: None,
) -> Plan:
    """Return what `gsum run` with these methods would request and cost; the home is not changed.

    Parameters
    ----------
    methods : methods or families, see `refresh`.
    models : models to use; None: those of the home.
    on_step : called before each step of the dry run.

    Raises
    ------
    CorpusError
        If the corpus cannot be read, or a method is unknown.
    PlanError
        If a step of the dry run failed.
    """
    store = home.open_store()
    has_state = home.settings().state.url or home.state.exists()
    if not has_state and not store.fs.exists(store.root):
        store = ParquetStore(home.warehouse, MEMORY)  # reading a new home creates no database
    models = models or Models(home.settings(), store, TABLES["llm_calls"])
    with store_over(store, APPENDED) as above:
        stubs = stub_models(models, above)
        pipeline = pipeline_for(home, stubs, presented=False, store=above)
        earlier = Requests(store).of(corpus)
        names = methods or ([] if earlier else ["default"])
        requested = METHODS.wanted(home.corpora, corpus, names)
        pipeline.requests.add(corpus, {*(earlier or ()), *requested})
        requests = pipeline.withdrawal.described(corpus)
        n_steps = _DryRun(pipeline, corpus, on_step).run()
        added_up = _added_up(pipeline, stubs, corpus, store, is_current=not n_steps)
        return replace(added_up, requests=requests)


class _NothingFailed:
    """Attempts at the start of a run, which retries everything that failed earlier."""

    def try_again_at(self, _: str) -> float:
        return math.inf

    def given_up(self, *_: Any) -> Mapping[Partition, bool]:
        return {}


@dataclass
class _DryRun:
    """Computation in memory of the due steps that call a model or that such steps depend on."""

    pipeline: Pipeline
    corpus: str
    on_step: OnStep
    _n_steps: int = 0
    _about: int = 0

    def run(self) -> int:
        """Run the steps in memory; return their number."""
        warehouse, corpus = self.pipeline.warehouse, self.corpus
        observe.documents(warehouse, corpus, _log)
        observe.queries(warehouse, corpus)
        observe.graph(warehouse, corpus)
        graph = self.pipeline.definitions.resolve_asset_graph()
        leading = _leading_to_models(graph)
        steps = {declared.name: declared for declared in STEPS}
        ordered = [key.to_user_string() for key in graph.toposorted_asset_keys if key in leading]
        snapshot = self._snapshot()
        left = snapshot.left(corpus)
        self._about = sum(
            len({p.method for p in left.get(key, ())})
            for key in leading
            if key.to_user_string() in steps
        )
        for declared in (steps[name] for name in ordered if name in steps):
            keys = [dg.AssetKey(declared.path(name)) for name in declared.step.writes]
            due = sorted(
                {
                    p
                    for key in keys
                    for p in snapshot.nodes[key].partitions(corpus)
                    if snapshot.is_due(key, p)
                }
            )
            # all buckets of documents together, results method by method
            for together in [due] if declared.level == DOCUMENT_LEVEL else [[p] for p in due]:
                if together:
                    self._run_step(declared, together, snapshot)
            if due:
                snapshot = self._snapshot()
        return self._n_steps

    def _snapshot(self) -> Snapshot:
        attempts: Any = _NothingFailed()
        return replace(self.pipeline.new_snapshot(_NO_INSTANCE), attempts=attempts)

    def _run_step(
        self, declared: Declared, partitions: list[Partition], snapshot: Snapshot
    ) -> None:
        """Compute some partitions of a step, and keep them in memory."""
        self._n_steps += 1
        self.on_step(declared.name, self._n_steps, max(self._n_steps, self._about))
        warehouse, code = self.pipeline.warehouse, declared.step.code_version
        step = "plan", f"{declared.name} {self._n_steps}"
        if declared.step.unplanned:
            for name in declared.step.writes:
                table, asset = declared.table(name), "/".join(declared.path(name))
                warehouse.keep(step, table, partitions, table.empty(), asset, code)
            return
        around = Inputs(
            {},
            self.corpus,
            overrides=_WITHOUT_BERTSCORE,
            note=partial(warehouse.reads.other, step),
            store=warehouse.store,
            folder=warehouse.home.corpora,
            versions=warehouse.reads.tables[step],
        )
        try:
            read = self._read(declared, step, partitions, snapshot)
            results = list(declared.make(read, partitions, around))
        except Exception as error:
            raise PlanError(
                f"corpus '{self.corpus}' cannot be planned: the dry run failed: {declared.name}: "
                f"{error}"
            ) from error
        for name, rows in declared.joined(results).items():
            asset = "/".join(declared.path(name))
            warehouse.keep(step, declared.table(name), partitions, rows, asset, code)

    def _read(
        self,
        declared: Declared,
        step: tuple[str, str],
        partitions: Sequence[Partition],
        snapshot: Snapshot,
    ) -> dict[str, Any]:
        """Return everything that a step may read, by name."""
        warehouse = self.pipeline.warehouse
        models = ModelsIO(self.pipeline.models, warehouse.reads, TABLES["embedding_calls"], work_of)
        read: dict[str, Any] = {}
        for name in declared.reads:
            if name in MODELS:
                read[name] = models.model(step, declared.name, name, self.corpus, _log.debug)
            elif name in declared.step.optional:
                read[name] = warehouse.as_it_is(declared.table(name), [self.corpus])
            elif name == SETTINGS:
                read[name] = SettingsReader(self.pipeline.section, warehouse.reads, step)
            else:
                table = declared.table(name)
                family = family_of(table, declared.path(name))
                node = snapshot.nodes.get(dg.AssetKey(declared.path(name)))
                inputs = [
                    p
                    for p in (
                        node.partitions(self.corpus)
                        if node
                        else warehouse.store.partitions(table, self.corpus)
                    )
                    if any(feeds(p, output) for output in partitions)
                ]
                read[name] = warehouse.rows(
                    step,
                    table,
                    inputs,
                    name in declared.step.untracked,
                    declared.step.dictionaries.get(name, ()),
                    family,
                    declared.takes_what_exists(name),
                )
        return read


def _leading_to_models(graph: AssetGraph) -> set[dg.AssetKey]:
    """Return the assets that call a model, and those that they depend on.

    What a step needs whose tables stay empty is not among them.
    """
    models = {asset.key for asset in model_assets}
    empty = {
        dg.AssetKey(declared.path(name))
        for declared in STEPS
        if declared.step.unplanned
        for name in declared.step.writes
    }
    leading: set[dg.AssetKey] = set()
    for key in reversed(graph.toposorted_asset_keys):
        node = graph.get(key)
        is_needed = node.child_keys & (leading - empty)
        if is_needed or (node.parent_keys & models and key not in empty):
            leading |= node.execution_set_asset_keys  # one step writes all of these
    return leading


def _stages(graph: AssetGraph) -> dict[str, str]:
    """Return "query" or "index" by asset."""
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
    models: DryRunModels,
    corpus: str,
    store: ParquetStore,
    is_current: bool,
) -> Plan:
    """Return the ledgers of a dry run as a plan; `store` is the store of the real home."""
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
        peers = [name for name in models.recalled if model_of(name) == model]
        recalled = models.recalled.get(asset, Recalled())
        if recalled.n < ENOUGH:
            recalled = sum((models.recalled[name] for name in peers), Recalled())
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
    plan_ = Plan(corpus, lines, n_questions, is_current, notes)
    return replace(plan_, notes=[*notes, *_over_budget(plan_, models.budget_of(store))])


def _over_budget(plan_: Plan, budget: Budget) -> list[str]:
    """Return a line for each limit of a day that the plan exceeds."""
    total = plan_.total()
    units = sum(line.n for line in plan_.lines)
    needed = Amount(units, total.tokens_in + total.tokens_out, total.usd)
    return [
        f"over budget: {in_unit(getattr(needed, limit.unit), limit.unit)} are needed, "
        f"{in_unit(limit.left, limit.unit)} of {limit.limit:,g} are left today ({limit.unit} in "
        f"[{limit.table}] of gsum.toml)"
        for limit in budget.exceeded(plan_.corpus, needed)
    ]


def _notes(
    calls: Mapping[str, Sequence[Mapping]], settings: Mapping[str, LlmSettings]
) -> list[str]:
    """Return the unknowns of the plan; `settings` are those of the model of each asset."""
    notes = []
    for asset, rows in sorted(calls.items()):
        if failed := [row["error"] for row in rows if row["error"] and not row["cached"]]:
            notes.append(
                f"{asset}: {count(len(failed), 'request')} failed in the dry run, and what "
                f"depends on the replies is not in the plan (first: {failed[0].partition(';')[0]})"
            )
    unpriced = {
        model.table
        for model in settings.values()
        if model.backend == "openai_compatible"
        and not model.usd_per_million_tokens_in + model.usd_per_million_tokens_out
    }
    for table in sorted(unpriced):
        notes.append(
            "no price is known: set usd_per_million_tokens_in and usd_per_million_tokens_out in "
            f"[{table}] of gsum.toml"
        )
    return notes
