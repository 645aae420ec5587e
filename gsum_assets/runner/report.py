"""What a run of a corpus has done, read from its events while it works, and at the end."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

import dagster as dg

from gsum_assets.registry.declared import Declared
from gsum_resources.dagster_io.failure import ERROR


class RefreshError(ValueError):
    """No corpus can be refreshed now; the message says why."""


class Events(Protocol):
    """Receives what happens while a corpus is refreshed."""

    def says(self, line: str) -> None:
        """Report a line about the corpus, such as a change of its settings."""

    def waits(self, what: str) -> None:
        """Report what must happen first, in other processes."""

    def followed(self, is_followed: bool) -> None:
        """Report that a daemon computes, or that it has stopped and this process does."""

    def begins(self, steps: Sequence[Declared]) -> None:
        """Report that a run of these steps begins."""

    def step(self, asset: str) -> None:
        """Report that a step begins, by its name."""

    def ended(self, step: "StepReport") -> None:
        """Report that a step has ended."""


class NoEvents(Events):
    """Receives nothing."""


@dataclass
class StepReport:
    """What one step of a run did.

    Attributes
    ----------
    written : by table that was written, which files: "2 of 8 buckets".
    error : why it failed; "" if it did not.
    unavailable : name of the error of a model's server that was away; "" for none.
    warnings : its warnings, in whole sentences.
    skipped : why something that the settings request was left out.
    """

    name: str
    seconds: float = 0.0
    written: dict[str, str] = field(default_factory=dict)
    error: str = ""
    unavailable: str = ""
    warnings: list[str] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)


@dataclass
class RunReport:
    """Results of a refresh.

    Attributes
    ----------
    steps : the steps that have begun, in order.
    gaps : a line for each table that lacks rows because a model gave no valid reply.
    known_gaps : the same where rows lack for good, because a content filter rejected requests.
    missing : steps that are stale at the end.
    stopped : why a run ended outside its steps, such as "canceled"; "" if none did.
    """

    steps: list[StepReport] = field(default_factory=list)
    gaps: list[str] = field(default_factory=list)
    known_gaps: list[str] = field(default_factory=list)
    missing: Sequence[str] = ()
    stopped: str = ""

    @property
    def errors(self) -> list[str]:
        """A message for each step that failed."""
        return [step.error for step in self.steps if step.error]

    @property
    def failed(self) -> list[str]:
        """The names of the steps that failed."""
        return [step.name for step in self.steps if step.error]

    @property
    def written(self) -> list[str]:
        """The assets that were written."""
        return [asset for step in self.steps for asset in step.written]

    @property
    def is_complete(self) -> bool:
        """Whether everything that the corpus needs is up to date."""
        return not (self.errors or self.gaps or self.missing or self.stopped)


@dataclass
class Reader:
    """Reads the events of a run, of this process or of another one."""

    report: RunReport
    events: Events
    _steps: dict[str, StepReport] = field(default_factory=dict)
    _began: dict[str, float] = field(default_factory=dict)

    def read(self, entry: dg.EventLogEntry) -> None:
        """Read one entry of the log of the run."""
        event, key = entry.dagster_event, entry.step_key
        if key is None:
            return
        if event is None:
            if entry.level == logging.WARNING and key in self._steps:
                self._steps[key].warnings.append(entry.user_message)
        elif event.event_type == dg.DagsterEventType.STEP_START:
            step = StepReport(key.replace("__", "/"))
            self._steps[key], self._began[key] = step, entry.timestamp
            self.report.steps.append(step)
            self.events.step(step.name)
        elif event.event_type == dg.DagsterEventType.ENGINE_EVENT:
            if pool := event.engine_event_data.metadata.get("pool"):  # before the step starts
                self.events.waits(f"other runs, which fill the pool '{pool.value}'")
        elif key in self._steps:
            self._read(self._steps[key], key, event, entry.timestamp)

    def _read(self, step: StepReport, key: str, event: dg.DagsterEvent, timestamp: float) -> None:
        kind = event.event_type
        if kind == dg.DagsterEventType.ASSET_MATERIALIZATION and event.asset_key:
            metadata = event.step_materialization_data.materialization.metadata
            asset = event.asset_key.to_user_string()
            written = str(metadata["written"].value) if "written" in metadata else ""
            if written and not written.startswith("nothing"):
                step.written[asset] = written
                if "skipped" in metadata:
                    step.skipped.append(f"{asset}: left empty: {metadata['skipped'].value}")
        elif kind in (dg.DagsterEventType.STEP_SUCCESS, dg.DagsterEventType.STEP_FAILURE):
            step.seconds = timestamp - self._began[key]
            if kind == dg.DagsterEventType.STEP_FAILURE:
                _read_failure(step, event)
            self.events.ended(step)


def _read_failure(step: StepReport, event: dg.DagsterEvent) -> None:
    """Note why a step failed: the reason is below Dagster's own errors, not the innermost."""
    data = event.step_failure_data
    error = data.error
    while error and error.cause and (error.cls_name or "").startswith("Dagster"):
        error = error.cause
    reason = error.message.strip() if error else "failed"
    if failure := data.user_failure_data:
        reason = str(failure.description)
        name = failure.metadata.get(ERROR)
        if name is not None and str(name.value).endswith("UnavailableError"):  # of a model
            step.unavailable = str(name.value)
    step.error = reason if reason.startswith(f"{step.name}:") else f"{step.name}: {reason}"
