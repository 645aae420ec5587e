"""An estimate of the requests that a run would send to models, with their cost.

What is due follows from the lineage, as in a run. Each due step that reads a model sends requests
in proportion to its stale units. Nothing is computed, sent or written.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pyarrow as pa

from gsum_assets.answering.workspace import Workspace
from gsum_assets.pipeline.tables import TABLES
from gsum_assets.planning.estimate import Estimate, Requests
from gsum_assets.planning.units import FoundStaleness
from gsum_assets.refresh.staleness import with_methods
from gsum_assets.registry.declared import ORDERED, work_of
from gsum_resources.endpoint.budget import Amount, in_unit
from gsum_resources.llm.causal_weights import PACKAGED, PACKAGED_NAME
from gsum_resources.models.by_work import Models
from gsum_resources.settings.home import Home
from gsum_resources.settings.schema import LlmSettings
from gsum_resources.store.appended import read_appended
from gsum_resources.store.arrow import pc
from gsum_resources.store.parquet_store import ParquetStore, Partition

ENOUGH = 20  # earlier calls from which their mean is more reliable than the default
_LEDGER, _EMBEDDER = TABLES["llm_calls"], "embedding_model"


@dataclass(frozen=True)
class Line:
    """Requests that a run would send for an asset, about.

    Attributes
    ----------
    stage : "query" where the asset is computed for questions, else "index".
    model : what the model is for: "judge_model", "reports".
    unit : "calls" of a language model, or "texts" embedded.
    usd : price, US dollars.
    is_known : whether the tokens are those of earlier calls, not the default.
    is_most : whether the memo may answer some of the requests.
    """

    asset: str
    stage: str
    model: str = ""
    unit: str = "calls"
    n: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    usd: float = 0.0
    is_known: bool = False
    is_most: bool = False


@dataclass(frozen=True)
class Earlier:
    """Means over the earlier requests of an asset to a model, of all corpora of a home."""

    n: int = 0
    calls: float = 1.0
    tokens_in: float = 0.0
    tokens_out: float = 0.0


@dataclass(frozen=True)
class Plan:
    """Requests and cost of a run, about.

    Attributes
    ----------
    methods : the methods that the run would bring up to date.
    n_questions : number of questions of the corpus.
    is_current : whether nothing is due.
    notes : a line for each unknown of the plan, and for each budget that it exceeds.
    """

    corpus: str
    methods: Sequence[str]
    lines: Sequence[Line]
    n_questions: int
    is_current: bool
    notes: Sequence[str] = ()

    def total(self, stage: str | None = None) -> Line:
        """Return calls, tokens and price of a stage; None: of both."""
        chosen = [line for line in self.lines if stage in (None, line.stage)]
        return Line(
            "total",
            stage or "",
            n=sum(line.n for line in chosen if line.unit == "calls"),
            tokens_in=sum(line.tokens_in for line in chosen),
            tokens_out=sum(line.tokens_out for line in chosen),
            usd=sum(line.usd for line in chosen),
        )


def plan(
    home: Home,
    corpus: str,
    methods: Collection[str] | None = None,
    models: Models | None = None,
) -> Plan:
    """Return what `gsum run` with these methods would request and cost; the home is not changed.

    Raise `CorpusError` if the corpus cannot be read, or a method or family is unknown.
    """
    store = home.open_store()
    models = models or Models(home.settings(), store, TABLES["llm_calls"])
    workspace = Workspace(home, store, models)
    kept = with_methods(workspace, corpus, methods or ())
    stale = FoundStaleness(workspace, corpus, frozenset(kept))
    lines = list(_lines(stale))
    planned = Plan(corpus, kept, lines, stale.n_questions, not stale.work)
    return replace(planned, notes=[*_unpriced(models, lines), *_over_budget(models, planned)])


def _lines(stale: FoundStaleness) -> Iterator[Line]:
    """Yield the requests of each step that is due to each model that is paid."""
    models, estimate = stale.workspace.models, Estimate(stale)
    earlier = earlier_calls(stale.workspace.store)
    for declared in ORDERED:
        work = stale.work.get(declared.name, {})
        for model in dict.fromkeys(cost.model for cost in declared.step.costs) if work else ():
            name = work_of(declared.name) if model == "language_model" else model
            is_free = getattr(models.bare(name), "only_quotes", False)  # rules send no request
            if is_free or (model == _EMBEDDER and not models.is_served(name)):
                continue
            costs = [cost for cost in declared.step.costs if cost.model == model]
            requests = estimate.of(declared, costs, work)
            usual = estimate.of(declared, costs, dict.fromkeys(stale.files(declared), True))
            n_failed = 0  # requests without a valid reply, which a run repeats
            for file in (file for file in work if not work[file]):
                tables = (declared.table(written).name for written in declared.step.writes)
                footers = [stale.lineage.provenances(t, file.corpus).get(file) for t in tables]
                n_failed += max(footer.failed if footer else 0 for footer in footers)
            table = declared.table(declared.step.table).name
            # rows are written again that may lead to the same requests
            is_most = any(w and stale.lineage.exists(table, file) for file, w in work.items())
            stage = "query" if declared.for_questions else "index"
            line = Line(declared.name, stage, name, is_most=is_most)
            line = filled(line, models, requests, usual, n_failed, earlier)
            if line.n:
                yield line


def earlier_calls(store: ParquetStore) -> dict[tuple[str, str], Earlier]:
    """Return means by asset and model, without failed calls and those that the memo answered."""
    corpora = store.glob(f"{_LEDGER.name}/corpus=*")
    ledgers = [read_appended(store, _LEDGER, Partition.from_path(f).corpus) for f in corpora]
    calls = pa.concat_tables([_LEDGER.empty(), *ledgers])
    calls = calls.filter(pc.and_(pc.invert(calls["cached"]), pc.is_null(calls["error"])))
    means = [(name, "mean") for name in ("calls", "tokens_in", "tokens_out")]
    rows = calls.group_by(["asset", "model"]).aggregate([("asset", "count"), *means])
    columns = zip(*(column.to_pylist() for column in rows.columns), strict=True)
    return {(asset, model): Earlier(*values) for asset, model, *values in columns}


def ledger_name(settings: LlmSettings) -> str:
    """Return the name of a language model in the ledger: of a local folder, the folder's name."""
    if settings.backend == PACKAGED:
        return PACKAGED_NAME
    local = settings.backend == "transformers_local" and Path(settings.model).is_dir()
    return Path(settings.model).name if local else settings.model


def filled(
    line: Line,
    models: Models,
    requests: Requests,
    usual: Requests,
    n_failed: int,
    earlier: Mapping[tuple[str, str], Earlier],
) -> Line:
    """Return a line with numbers and price.

    Parameters
    ----------
    usual : what the step requests for all of its files: the mean of earlier calls is of these,
        while those of an edit may be of other methods, or longer.
    n_failed : requests that are repeated.
    """
    each = requests if requests.n else usual
    number, *tokens = [value * (requests.n + n_failed) / (each.n or 1.0) for value in each[1:]]
    if line.model == _EMBEDDER:
        usd = tokens[0] * models.settings.embedding.usd_per_million_tokens / 1e6
        return replace(line, unit="texts", n=round(number), tokens_in=round(tokens[0]), usd=usd)
    settings = models.settings_of(line.model)
    known = earlier.get((line.asset, ledger_name(settings)), Earlier())
    is_known = known.n >= ENOUGH and usual.n > 0
    if is_known:
        number = (requests.n + n_failed) * known.calls
        defaults = [value / usual.n or 1.0 for value in usual[2:]]
        means = known.tokens_in, known.tokens_out
        tokens = [t * mean / d for t, mean, d in zip(tokens, means, defaults, strict=True)]
    prices = settings.usd_per_million_tokens_in, settings.usd_per_million_tokens_out
    usd = sum(n * usd / 1e6 for n, usd in zip(tokens, prices, strict=True))
    return replace(
        line,
        n=round(number),
        tokens_in=round(tokens[0]),
        tokens_out=round(tokens[1]),
        usd=usd if models.is_served(line.model) else 0.0,
        is_known=is_known,
    )


def _over_budget(models: Models, planned: Plan) -> Iterator[str]:
    total = planned.total()
    units = sum(line.n for line in planned.lines)
    needed = Amount(units, total.tokens_in + total.tokens_out, total.usd)
    for limit in models.budget.exceeded(planned.corpus, needed):
        yield (
            f"over budget: {in_unit(getattr(needed, limit.unit), limit.unit)} are needed, "
            f"{in_unit(limit.left, limit.unit)} of {limit.limit:,g} are left today ({limit.unit} "
            f"in [{limit.table}] of gsum.toml)"
        )


def _unpriced(models: Models, lines: Sequence[Line]) -> Iterator[str]:
    used = [models.settings_of(line.model) for line in lines if line.unit == "calls"]
    unpriced = {
        model.table
        for model in used
        if model.backend == "openai_compatible"
        and not model.usd_per_million_tokens_in + model.usd_per_million_tokens_out
    }
    for table in sorted(unpriced):
        yield (
            "no price is known: set usd_per_million_tokens_in and usd_per_million_tokens_out in "
            f"[{table}] of gsum.toml"
        )
