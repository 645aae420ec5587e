"""Runs of a refresh: in this process, or submitted to the daemon if it has a run launcher.

Run monitoring asks the launcher of `dagster.yaml` for the worker of each run that has started. A
launcher such as `RayRunLauncher` or `K8sRunLauncher` finds none for a run in the process of
`gsum run`, and the daemon would fail the run and repeat its steps. With such a launcher, runs are
therefore put into the daemon's queue, and only followed here.
"""

import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import dagster as dg

from gsum_assets.automation.processes import (
    CORPUS,
    FENCE,
    SUBMITTED,
    WORK,
    daemon_is_alive,
    other_launcher,
)
from gsum_assets.definitions import Pipeline
from gsum_assets.runner.execute import (
    OnStart,
    RunResult,
    execute,
    partition_tags,
    result_of,
    targets,
)
from gsum_resources.dagster_io import dagster_private as private
from gsum_resources.dagster_io.instance import CONFIG_FILE
from gsum_resources.state.leases import HeldLease
from gsum_resources.store.parquet_store import Partition

_POLL_S = 2.0
_LOCATED_BY = "watch_corpora"  # a sensor that every daemon evaluates
_RETRIED = "dagster/will_retry"  # the daemon starts a failed run again where its worker died
_RETRY = "dagster/auto_retry_run_id"
_PATIENCE_S = 60.0  # for a daemon that has just been started
OnStepStart = Callable[[str], None]


class DaemonError(ValueError):
    """Runs have to be started by a daemon, and none runs; the message says how to start it."""


def runs_for(
    pipeline: Pipeline,
    instance: dg.DagsterInstance,
    lease: HeldLease,
    on_start: OnStart,
    on_step: OnStepStart,
) -> "Runs":
    """Return runs in this process, or by the daemon if it uses another run launcher.

    Raises
    ------
    DaemonError
        If there is such a launcher, and no daemon.
    """
    if not other_launcher(instance):
        return Runs(pipeline, instance, lease, on_start, on_step)
    _require_daemon(instance)
    return SubmittedRuns(pipeline, instance, lease, on_start, on_step)


@dataclass
class Runs:
    """Runs in this process, one after the other."""

    pipeline: Pipeline
    instance: dg.DagsterInstance
    lease: HeldLease
    on_start: OnStart
    on_step: OnStepStart

    def start(self, request: dg.RunRequest, keys: Sequence[dg.AssetKey]) -> Iterator[RunResult]:
        """Materialize assets of a request, and yield the result if it is known now."""
        tags = {CORPUS: self.lease.corpus, FENCE: self.lease.fence}
        yield execute(
            self.pipeline, self.instance, tags, request, keys, self.on_start, self.on_step
        )

    def ended(self) -> Iterator[RunResult]:
        """Wait until at least one of the runs that were started has ended; yield results."""
        yield from ()


@dataclass
class _Submitted:
    """A run in the daemon's queue or under way.

    Attributes
    ----------
    cursor : after the steps that were reported.
    """

    run_id: str
    keys: Sequence[dg.AssetKey]
    partitions: Sequence[Partition]
    began: float
    cursor: str | None = None


@dataclass
class SubmittedRuns(Runs):
    """Runs that the daemon's launcher starts, any number at once, and that are followed here."""

    _submitted: list[_Submitted] = field(default_factory=list)

    def start(self, request: dg.RunRequest, keys: Sequence[dg.AssetKey]) -> Iterator[RunResult]:
        """Submit a run, unless one that was submitted before writes some of it."""
        names, partitions = targets(self.pipeline, self.instance, request, keys)
        wanted = {(key, partition) for key in keys for partition in partitions}
        running = {(k, p) for run in self._submitted for k in run.keys for p in run.partitions}
        if not wanted & running:
            self.on_start(names, partitions)
            run_id = _submit(self.pipeline, self.instance, self.lease, request, keys)
            self._submitted.append(_Submitted(run_id, keys, partitions, time.monotonic()))
        yield from ()

    def ended(self) -> Iterator[RunResult]:
        """Wait until at least one of the submitted runs has ended; yield results."""
        done: list[_Submitted] = []
        while self._submitted and not done:
            self.lease.check()
            _require_daemon(self.instance)
            done = [run for run in self._submitted if self._has_ended(run)]
            if not done:
                time.sleep(_POLL_S)
        for run in done:
            self._submitted.remove(run)
            logged = (entry.dagster_event for entry in self.instance.all_logs(run.run_id))
            events = [event for event in logged if event]
            seconds = time.monotonic() - run.began
            yield result_of(
                self.pipeline,
                self.instance,
                run.run_id,
                events,
                run.keys,
                run.partitions,
                seconds,
            )

    def _has_ended(self, run: _Submitted) -> bool:
        """Report the steps that began, and return whether the run has ended for good."""
        began = self.instance.get_records_for_run(
            run.run_id, cursor=run.cursor, of_type=dg.DagsterEventType.STEP_START
        )
        run.cursor = began.cursor
        for record in began.records:
            if step := record.event_log_entry.step_key:
                self.on_step(step.replace("__", "/"))
        stored_run = self.instance.get_run_by_id(run.run_id)
        if stored_run is None or not stored_run.is_finished:
            return stored_run is None
        if (
            stored_run.status != dg.DagsterRunStatus.FAILURE
            or stored_run.tags.get(_RETRIED) != "true"
        ):
            return True
        if retry := stored_run.tags.get(_RETRY):
            run.run_id, run.cursor = retry, None
        return False


def _require_daemon(instance: dg.DagsterInstance) -> None:
    if not daemon_is_alive(instance):
        raise DaemonError(
            f"{CONFIG_FILE} names the run launcher {other_launcher(instance)}, whose runs the "
            "daemon starts, and no daemon is running; start it with `gsum ui` or `dagster-daemon "
            f"run` on this home, or remove `run_launcher` from {CONFIG_FILE} to run here"
        )


def _submit(
    pipeline: Pipeline,
    instance: dg.DagsterInstance,
    lease: HeldLease,
    request: dg.RunRequest,
    keys: Sequence[dg.AssetKey],
) -> str:
    """Put a run into the daemon's queue; return its id."""
    job = pipeline.definitions.resolve_implicit_global_asset_job_def()
    repository = _repository(instance)
    run = instance.create_run_for_job(
        job,
        status=dg.DagsterRunStatus.NOT_STARTED,
        tags={
            **request.tags,
            **partition_tags(pipeline, instance, request, keys),
            CORPUS: lease.corpus,
            SUBMITTED: lease.fence,
            WORK: "make",
        },
        asset_selection=set(keys),
        remote_job_origin=repository.get_job_origin(job.name),
        job_code_origin=private.JobPythonOrigin(job.name, _code_of(repository)),
    )
    instance.submit_run(run.run_id, None)  # type: ignore[arg-type] - a queue needs no workspace
    return run.run_id


def _repository(instance: dg.DagsterInstance) -> "private.RemoteRepositoryOrigin":
    """Return the repository that the daemon serves, by the sensor that it evaluated last.

    Raises
    ------
    DaemonError
        If it has not evaluated the sensor within a minute.
    """
    deadline = time.monotonic() + _PATIENCE_S
    while True:
        known = [s for s in instance.all_instigator_state() if s.instigator_name == _LOCATED_BY]
        if known:
            latest = max(
                known,
                key=lambda s: getattr(s.instigator_data, "last_tick_start_timestamp", None) or 0.0,
            )
            return latest.origin.repository_origin
        if time.monotonic() > deadline:
            raise DaemonError(
                f"the daemon has not evaluated the sensor {_LOCATED_BY} yet; see in its output "
                "why it does not load gsum_assets.definitions"
            )
        time.sleep(_POLL_S)


def _code_of(repository: "private.RemoteRepositoryOrigin") -> "private.RepositoryPythonOrigin":
    """Return how a worker loads a repository, as the code location says."""
    location = repository.code_location_origin
    if isinstance(location, private.GrpcServerCodeLocationOrigin):
        served = dg.deserialize_value(
            location.create_client().list_repositories(), private.ListRepositoriesResponse
        )
        return private.RepositoryPythonOrigin(
            served.executable_path or sys.executable,
            served.repository_code_pointer_dict[repository.repository_name],
            container_image=served.container_image,
            entry_point=served.entry_point,
            container_context=served.container_context,
        )
    target = location.loadable_target_origin  # the daemon starts a server of its own for it
    return private.RepositoryPythonOrigin(
        target.executable_path or sys.executable,
        private.CodePointer.from_module(
            target.module_name or "gsum_assets.definitions",
            target.attribute or "defs",
            target.working_directory,
        ),
        entry_point=private.DEFAULT_DAGSTER_ENTRY_POINT,
    )
