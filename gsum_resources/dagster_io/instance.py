"""Dagster's instance in the home folder, with gsum's configuration and without telemetry."""

import fcntl
import logging
import os
import sqlite3
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from functools import partial
from importlib.resources import files
from pathlib import Path
from shlex import quote

import dagster as dg
from dagster._core.remote_origin import (  # no public name builds an origin
    RegisteredCodeLocationOrigin,
    RemoteJobOrigin,
    RemoteRepositoryOrigin,
)

from gsum_resources.settings.home import Home
from gsum_resources.settings.paths import replace_content
from gsum_resources.settings.schema import SETTINGS_FILE
from gsum_resources.state.database import lost_connection

CONFIG_FILE = "dagster.yaml"
LOCATION = "gsum"  # the code location in `workspace.yaml`
_IS_DEV = "DAGSTER_IS_DEV_CLI"  # set by `dagster dev` for its processes
_TEMPORARY = ".tmp_dagster_home_"  # prefix of the folder of a temporary instance
_LOG = logging.getLogger(__name__)


class InstanceError(ValueError):
    """Dagster's storage cannot be used; the message names the file and the remedy."""


def prepare(home: Home) -> Path:
    """Create the home folders with default settings, set `DAGSTER_HOME`, and return that folder."""
    folder = home.dagster
    _ship(CONFIG_FILE, folder)
    write_settings(home)
    os.environ["DAGSTER_HOME"] = str(folder)
    return folder


def open_instance(home: Home) -> dg.DagsterInstance:
    """Return Dagster's instance; raise `InstanceError` if its database does not answer."""
    folder = prepare(home)
    try:
        with _alone(folder):
            return dg.DagsterInstance.from_config(str(folder))
    except Exception as error:
        if reason := lost_connection(error):
            raise InstanceError(
                f"storage in {folder / CONFIG_FILE}: {reason}; start the server or correct the "
                "address"
            ) from error
        raise


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Let one process at a time open an instance.

    Two processes that open a new home at once both stamp its databases, which Dagster 1.13 then
    refuses ("more than one head present").
    """
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def refuse_temporary_instance(home: Home) -> None:
    """Raise `InstanceError` in the code location of a `dagster dev` that has no home of Dagster.

    Such a server works in a temporary instance without pools and run monitoring. Without a
    `dagster.yaml` in a home that was named, a warning is logged.
    """
    if not os.environ.get(_IS_DEV):
        return
    if not os.environ.get("DAGSTER_HOME"):
        raise InstanceError(_temporary(home.dagster))
    if not (home.dagster / CONFIG_FILE).exists():
        _LOG.warning(
            "%s has no %s, so that neither pools nor run monitoring are configured; type `gsum ui` "
            "once, which writes it",
            home.dagster,
            CONFIG_FILE,
        )


def refuse_run_in_temporary_instance(instance: dg.DagsterInstance, home: Home) -> None:
    """Raise `InstanceError` if an instance is one that Dagster's commands remove at their end."""
    if not instance.is_ephemeral and Path(instance.root_directory).name.startswith(_TEMPORARY):
        raise InstanceError(_temporary(home.dagster))


def _temporary(folder: Path) -> str:
    return (
        "DAGSTER_HOME is not set, so that Dagster works in a temporary instance without pools and "
        "run monitoring; type `gsum ui`, or after the first `gsum run` "
        f"`DAGSTER_HOME={quote(str(folder))} dagster dev -w workspace.yaml`"
    )


def workspace_file() -> Path:
    """Return the path of the workspace file with gsum's code location, equal to the project's."""
    return Path(str(files("gsum_resources").joinpath("workspace.yaml")))


def write_settings(home: Home) -> bool:
    """Write the commented `gsum.toml` of a home without one; one at a URL is the operator's."""
    return not home.settings_url and _ship(SETTINGS_FILE, home.root)


def _ship(name: str, folder: Path) -> bool:
    """Copy a default settings file into a folder that has no file of this name."""
    folder.mkdir(parents=True, exist_ok=True)
    target = folder / name
    is_new = not target.exists()
    if is_new:
        replace_content(target, files("gsum_resources").joinpath(name).read_bytes())
    return is_new


REPOSITORY = "__repository__"
"""Dagster's name of the definitions of a code location."""


@contextmanager
def held_open(instance: dg.DagsterInstance, run_id: str) -> Iterator[None]:
    """Hold the SQLite files of a run's events open, which Dagster opens and closes for each event.

    The last connection to close writes SQLite's log (WAL) into the database and deletes it.
    """
    path_of = getattr(instance.event_log_storage, "path_for_shard", None)  # only of SQLite
    with ExitStack() as held:
        for path in (path_of("index"), path_of(run_id)) if path_of else ():
            connection = sqlite3.connect(path, check_same_thread=False)
            held.enter_context(closing(connection))
            connection.execute("SELECT 1 FROM sqlite_master").fetchall()  # opens the log
        yield


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
