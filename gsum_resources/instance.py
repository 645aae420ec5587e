"""Dagster's instance in the home folder, with gsum's configuration and without telemetry."""

import os
from importlib.resources import files
from pathlib import Path

import dagster as dg

from gsum_resources.home import Home
from gsum_resources.settings import SETTINGS_FILE
from gsum_resources.state import lost_connection

CONFIG_FILE = "dagster.yaml"
PREVIEW = "preview"  # metadata label of events that show rows of a table


class InstanceError(ValueError):
    """Dagster's storage cannot be used; the message names the file and the remedy."""


def prepare(home: Home) -> Path:
    """Create the home folders of gsum and Dagster, with default settings if there are none.

    Sets `DAGSTER_HOME` and returns Dagster's home folder.
    """
    folder = home.dagster
    _ship(CONFIG_FILE, folder)
    write_settings(home)
    os.environ["DAGSTER_HOME"] = str(folder)
    return folder


def open_instance(home: Home) -> dg.DagsterInstance:
    """Return the instance, which the UI and the daemon use as well.

    Raises
    ------
    InstanceError
        If its database does not answer.
    """
    folder = prepare(home)
    try:
        return dg.DagsterInstance.from_config(str(folder))
    except Exception as error:
        if reason := lost_connection(error):
            raise InstanceError(
                f"storage in {folder / CONFIG_FILE}: {reason}; start the server or correct the "
                "address"
            ) from error
        raise


def write_settings(home: Home) -> bool:
    """Write the commented `gsum.toml` of a home that has none; return whether it was written.

    A file at a URL is the operator's.
    """
    return not home.settings_url and _ship(SETTINGS_FILE, home.root)


def _ship(name: str, folder: Path) -> bool:
    """Copy a default settings file into a folder that has no file of this name."""
    folder.mkdir(parents=True, exist_ok=True)
    target = folder / name
    is_new = not target.exists()
    if is_new:
        temporary = target.with_suffix(f".{os.getpid()}.part")
        temporary.write_text(files("gsum_resources").joinpath(name).read_text())
        temporary.replace(target)
    return is_new
