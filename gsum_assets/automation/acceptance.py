"""Changes of models and prompts that may cost money, which a daemon makes only when accepted.

Another model or prompt makes every answer of every corpus due at once. Where this concerns a model
on a server and more than a few requests, the daemon waits until the change is accepted for the
corpus: by the job `accept_models`, by `gsum run CORPUS`, or by `[automation] after_model_change`.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import dagster as dg
import sqlalchemy as sa
from pydantic import Field

from gsum_assets.automation.jobs import ACCEPT_MODELS
from gsum_assets.automation.staleness import Node, Snapshot
from gsum_assets.pipeline.finding import count
from gsum_resources.dagster_io.failure import explained
from gsum_resources.models.by_work import Models
from gsum_resources.settings.schema import AutomationSettings
from gsum_resources.state.database import ACCEPTED, CALLS, State, state_of
from gsum_resources.store.input_key import InputKey

Changes = Mapping[tuple[str, str], str]
"""Versions of changed models, prompts and code, by asset and input."""


@dataclass(frozen=True)
class Requested:
    """What an asset requests of a model, by its earlier requests."""

    asset: str
    n: int
    usd: float


@dataclass(frozen=True)
class ModelChanges:
    """Changes of models and prompts of a home.

    Attributes
    ----------
    work_of : returns the kind of work of an asset.
    step_of : name of an asset's step in the ledger.
    """

    models: Models
    automation: AutomationSettings
    work_of: Callable[[str], str]
    step_of: Mapping[str, str]

    def waiting(self, snapshot: Snapshot, corpus: str) -> Changes:
        """Return the changes of a corpus that a daemon must not make; {} if it may."""
        if self.automation.after_model_change == "compute":
            return {}
        accepted = self._accepted(corpus)
        changes = {
            change: version
            for change, version in self._changes(snapshot, corpus).items()
            if accepted.get(change) != version
        }
        n = sum(requested.n for requested in self.requested(corpus, changes)) if changes else 0
        return changes if n > self.automation.ask_above_calls else {}

    def accept(self, snapshot: Snapshot, corpus: str) -> Changes:
        """Accept all changes of a corpus; return those that were waiting."""
        waiting = self.waiting(snapshot, corpus)
        rows = [
            {"corpus": corpus, "asset": asset, "input": changed, "version": version}
            for (asset, changed), version in waiting.items()
        ]

        def replace_rows(connection: sa.Connection, _: bool) -> None:
            for row in rows:
                same = [ACCEPTED.c[name] == row[name] for name in ("corpus", "asset", "input")]
                connection.execute(sa.delete(ACCEPTED).where(*same))
            connection.execute(sa.insert(ACCEPTED), rows)

        if rows:
            self._state.repeat(replace_rows)
        return waiting

    def description(self, corpus: str, changes: Changes) -> str:
        """Return a sentence on what the changes of a corpus would request, and how to accept it."""
        requested = self.requested(corpus, changes)
        sums = ", ".join(f"{count(r.n, 'request')} of {r.asset}" for r in requested)
        usd = sum(r.usd for r in requested)
        price = f", about USD {usd:,.2f}" if usd else ", whose price is not set in gsum.toml"
        return (
            f"{corpus}: another model or prompt: {sums}{price}; it waits for the job "
            f"{ACCEPT_MODELS} or `gsum run {corpus}` (`gsum plan {corpus}` counts exactly)"
        )

    def requested(self, corpus: str, changes: Changes) -> list[Requested]:
        """Return what the steps of changed assets request, by their latest model's requests."""
        steps = {self.step_of.get(asset, asset): asset for asset, _ in changes}
        return [
            Requested(step, n, usd)
            for step, asset in sorted(steps.items())
            for n, usd in [self._earlier(corpus, step, asset)]
            if n
        ]

    def _earlier(self, corpus: str, step: str, asset: str) -> tuple[int, float]:
        """Return the number of distinct earlier requests, and their price at the present model."""
        of_step = CALLS.c.corpus == corpus, CALLS.c.asset == step
        latest = sa.select(CALLS.c.model).where(*of_step).order_by(CALLS.c.id.desc()).limit(1)
        n_distinct = sa.func.count(sa.distinct(CALLS.c.prompt_hash))
        means = sa.func.avg(CALLS.c.tokens_in), sa.func.avg(CALLS.c.tokens_out)
        query = sa.select(n_distinct, *means)
        with self._state.reading() as connection:
            model = connection.execute(latest).scalar()
            row = connection.execute(query.where(*of_step, CALLS.c.model == model)).one()
        n, tokens_in, tokens_out = row
        settings = self.models.settings_of(self.work_of(asset))
        price_in = float(tokens_in or 0) * settings.usd_per_million_tokens_in
        price_out = float(tokens_out or 0) * settings.usd_per_million_tokens_out
        return n, n * (price_in + price_out) / 1e6

    def _changes(self, snapshot: Snapshot, corpus: str) -> Changes:
        return {
            (node.key.to_user_string(), changed): version
            for node in snapshot.nodes.values()
            for changed, version in self._changes_of(snapshot, node, corpus)
        }

    def _changes_of(self, snapshot: Snapshot, node: Node, corpus: str) -> Iterator[tuple[str, str]]:
        """Yield changed models, prompts and code of an asset whose model is on a server."""
        asset = node.key.to_user_string()
        footers = snapshot.lineage.provenances(node.table.name, corpus)
        for partition in node.partitions(corpus):
            footer = footers.get(partition)
            if footer is None or not self._calls_server(asset, footer.inputs):
                continue
            for changed in snapshot.changes(node.key, partition):
                if changed == "code":
                    yield changed, node.code_version or ""
                elif changed.startswith(("model:", "settings:prompts.")):
                    key = InputKey.parse(changed, footer.asset)
                    yield changed, snapshot.lineage.present_version(key) or ""

    def _calls_server(self, asset: str, inputs: Mapping[str, str]) -> bool:
        names = (InputKey.parse(text).name for text in inputs if text.startswith("model:"))
        return any(
            self.models.is_served(self.work_of(asset) if name == "language_model" else name)
            for name in names
        )

    def _accepted(self, corpus: str) -> Changes:
        columns = ACCEPTED.c.asset, ACCEPTED.c.input, ACCEPTED.c.version
        with self._state.reading() as connection:
            rows = connection.execute(sa.select(*columns).where(ACCEPTED.c.corpus == corpus)).all()
        return {(asset, changed): version for asset, changed, version in rows}

    @property
    def _state(self) -> State:
        return state_of(self.models.store)


class AcceptedCorpus(dg.Config):
    """Run configuration of `accept_models`."""

    corpus: str = Field(
        description="The corpus; what it would request is in the ticks of the sensor "
        "confirm_results."
    )


def acceptance_job(
    changes: ModelChanges, new_snapshot: Callable[[dg.DagsterInstance], Snapshot]
) -> dg.JobDefinition:
    """Return the job that lets a daemon compute with another model or prompt."""

    @dg.op(out=dg.Out(dg.Nothing), description="Accept the changed models and prompts of a corpus.")
    @explained()
    def accept(context: dg.OpExecutionContext, config: AcceptedCorpus) -> None:
        accepted = changes.accept(new_snapshot(context.instance), config.corpus)
        if accepted:
            context.log.info(f"accepted {changes.description(config.corpus, accepted)}")
        else:
            context.log.info(f"{config.corpus}: no change of a model or prompt waits")

    @dg.job(
        name=ACCEPT_MODELS,
        description="Lets the daemon compute what a changed model or prompt has made out of date "
        "in the corpus that the run configuration names.",
    )
    def accept_models() -> None:
        accept()

    return accept_models


def waiting_lines(
    changes: ModelChanges, instance: dg.DagsterInstance, snapshot: Snapshot
) -> list[str]:
    """Return a line for each server that is away, and for each corpus with changes that wait."""
    corpora = instance.get_dynamic_partitions("corpora")
    waiting = ((corpus, changes.waiting(snapshot, corpus)) for corpus in corpora)
    lines = [changes.description(corpus, of_corpus) for corpus, of_corpus in waiting if of_corpus]
    return [*changes.models.outages(), *lines]
