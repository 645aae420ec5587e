"""An estimate of the requests that a run would send to models, with their cost.

What is due follows from the lineage, as in a run. Each due step that reads a model sends requests
in proportion to its stale units. Nothing is computed, sent or written.
"""

import math
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from gsum_assets.answering.workspace import Workspace
from gsum_assets.pipeline.cost import Cost
from gsum_assets.pipeline.tables import TABLES
from gsum_assets.planning.plan_lines import UNITS, Earlier, Line, earlier_calls, line_of
from gsum_assets.planning.units import FoundStaleness, Passage, passages_of
from gsum_assets.refresh.methods import with_methods
from gsum_assets.registry.declared import ORDERED, Declared, work_of
from gsum_resources.endpoint.budget import Amount, in_unit
from gsum_resources.models.by_work import Models
from gsum_resources.settings.home import Home
from gsum_resources.state.database import MEMORY
from gsum_resources.store.parquet_store import ParquetStore, Partition

_CONTEXTS = TABLES["contexts"]


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
            "",
            "calls",
            sum(line.n for line in chosen if line.unit == "calls"),
            sum(line.tokens_in for line in chosen),
            sum(line.tokens_out for line in chosen),
            sum(line.usd for line in chosen),
        )


def plan(
    home: Home,
    corpus: str,
    methods: Collection[str] | None = None,
    models: Models | None = None,
) -> Plan:
    """Return what `gsum run` with these methods would request and cost; the home is not changed.

    Parameters
    ----------
    methods : methods or families, see `refresh`.
    models : models to use; None: those of the home.

    Raises
    ------
    CorpusError
        If the corpus cannot be read, or a method is unknown.
    """
    store = home.open_store()
    has_state = home.settings().state.url or home.state.exists()
    if not has_state and not store.fs.exists(store.root):
        store = ParquetStore(home.warehouse, MEMORY)  # reading a new home creates no database
    models = models or Models(home.settings(), store, TABLES["llm_calls"])
    workspace = Workspace(home, store, models)
    kept = with_methods(workspace, corpus, methods or ())
    estimate = _Estimate(FoundStaleness(workspace, corpus, frozenset(kept)))
    costs = [(d, model, cost) for d in ORDERED for model, cost in d.step.costs.items()]
    lines = [line for costly in costs if (line := estimate.line(*costly))]
    planned = Plan(corpus, kept, lines, estimate.stale.n_questions, not estimate.stale.work)
    return replace(planned, notes=[*_unpriced(models, lines), *_over_budget(models, planned)])


@dataclass(frozen=True)
class _Estimate:
    """The estimate of a corpus."""

    stale: FoundStaleness

    @cached_property
    def _texts(self) -> tuple[list[Passage], set[str]]:
        return passages_of(self.stale)

    @cached_property
    def _earlier(self) -> Mapping[tuple[str, str], Earlier]:
        return earlier_calls(self.stale.workspace.store)

    def line(self, declared: Declared, model: str, cost: Cost) -> Line | None:
        """Return the requests of a step to one of its models; None if none has to be paid."""
        models, work = self.stale.workspace.models, self.stale.work.get(declared.name, {})
        name = work_of(declared.name) if model == "language_model" else model
        is_free = getattr(models.bare(name), "only_quotes", False)  # rules send no request
        if not work or (not models.is_served(name) if model in UNITS else is_free):
            return None
        numbers = {file: self._requests(cost, file, whole) for file, whole in work.items()}
        failed = sum(self._failed(declared, file) for file, whole in work.items() if not whole)
        if round((n := sum(numbers.values())) + failed) < 1:
            return None
        usual = [m for m in declared.methods if m in self.stale.methods and cost.sends(m)] or [None]
        tokens = sum(number * cost.tokens(file.method) for file, number in numbers.items())
        share = tokens * len(usual) / sum(map(cost.tokens, usual)) / n if tokens else 1.0
        stage = "query" if declared.for_questions else "index"
        line = line_of(declared.name, stage, models, name, n + failed, cost, share, self._earlier)
        return replace(line, is_most=self._may_be_known(declared, work))

    def _failed(self, declared: Declared, file: Partition) -> int:
        """Return the number of requests without a valid reply, which a run repeats."""
        tables = (declared.table(name).name for name in declared.step.writes)
        footers = (self.stale.lineage.provenances(name, file.corpus).get(file) for name in tables)
        return max(footer.failed if footer else 0 for footer in footers)

    def _may_be_known(self, declared: Declared, work: Mapping[Partition, bool]) -> bool:
        """Return whether rows are written again that may lead to the same requests."""
        tables = [declared.table(name).name for name in declared.step.writes]
        return any(
            is_whole and self.stale.lineage.exists(name, file)
            for file, is_whole in work.items()
            for name in tables
        )

    def _requests(self, cost: Cost, file: Partition, is_whole: bool) -> float:
        """Return the number of requests for what is stale of a file."""
        if not cost.sends(file.method):
            return 0.0
        if cost.unit == "question":
            n = self._questions(file, is_whole)
        elif cost.unit in ("generated question", "verdict"):
            n = self.stale.n_generated if cost.unit != "verdict" else self.stale.n_verdicts
        else:
            n = self._texts_of(cost, file, is_whole)
        times = self.stale.setting(cost.times) if cost.times else 1
        return n * cost.requests * (len(times) if isinstance(times, list) else times)

    def _questions(self, file: Partition, is_whole: bool) -> float:
        """Return the number of questions whose passages an edit changes, and of new ones."""
        if is_whole:
            return self.stale.n_questions
        changed, columns = self._texts[1], ["query_id", "node_id", "node_kind", "document_id"]
        rows = self.stale.workspace.store.read(_CONTEXTS, [file], columns)[0].to_pylist()
        read = {row["query_id"] for row in rows if _identity(row) in changed}
        return len(read) + self.stale.n_new_questions

    def _texts_of(self, cost: Cost, file: Partition, is_whole: bool) -> float:
        """Return the number of stale passages, documents, or texts of a length."""
        sizes: dict[tuple[str, float], list[int]] = defaultdict(list)
        for passage in self._texts[0]:
            is_stale = passage.is_edited if cost.whole_documents else passage.is_new
            if file.bucket in (None, passage.bucket) and (is_whole or is_stale):
                sizes[passage.document_id, passage.n_like_it].append(passage.n_tokens)
        if cost.unit == "document":
            return sum(n_like_it for _, n_like_it in sizes)
        if not cost.lengths:
            return sum(n_like_it * len(tokens) for (_, n_like_it), tokens in sizes.items())
        values = (self.stale.setting(name) for name in cost.lengths)
        lengths = {n for value in values for n in (value if isinstance(value, list) else [value])}
        return sum(
            n_like_it * math.ceil(sum(tokens) / length)
            for (_, n_like_it), tokens in sizes.items()
            for length in lengths
        )


def _identity(row: Mapping[str, Any]) -> str:
    """Return what a row of `contexts` hangs on: its passage, or else its document."""
    return row["node_id"] if row["node_kind"] == "chunk" else row["document_id"] or ""


def _over_budget(models: Models, planned: Plan) -> Iterator[str]:
    """Yield a line for each limit of a day that the plan exceeds."""
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
    """Yield a line for each served language model without a price."""
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
