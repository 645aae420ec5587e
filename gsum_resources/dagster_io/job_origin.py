"""Runs of this process as runs of gsum's code location.

Dagster creates a run of `execute_in_process` without the origin of its job. The UI leaves such runs
out of the timeline and of the page of the job, and fails to execute them again.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

import dagster as dg
from dagster._core.remote_origin import (  # no public name builds an origin
    RegisteredCodeLocationOrigin,
    RemoteJobOrigin,
    RemoteRepositoryOrigin,
)

from gsum_resources.dagster_io.instance import LOCATION

REPOSITORY = "__repository__"
"""Dagster's name of the definitions of a code location."""


@contextmanager
def runs_of_location(instance: dg.DagsterInstance, job: str) -> Iterator[None]:
    """Let the runs that `instance` creates be runs of a job of gsum's code location."""
    repository = RemoteRepositoryOrigin(RegisteredCodeLocationOrigin(LOCATION), REPOSITORY)
    origin = RemoteJobOrigin(repository, job)
    create = instance.create_run_for_job
    attributes = vars(instance)
    attributes["create_run_for_job"] = partial(create, remote_job_origin=origin)
    try:
        yield
    finally:
        del attributes["create_run_for_job"]  # so that the method is called again
