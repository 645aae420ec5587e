"""Dagster's instance in the home folder, with gsum's configuration and without telemetry."""

import os
from importlib.resources import files
from pathlib import Path

import dagster as dg

from gsum_resources.home import Home
from gsum_resources.settings import SETTINGS_FILE

CONFIG_FILE = "dagster.yaml"
PREVIEW = "preview"  # metadata label of events that show rows of a table


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
    """Return the instance, which the UI and the daemon use as well."""
    return dg.DagsterInstance.from_config(str(prepare(home)))


def write_settings(home: Home) -> bool:
    """Write the commented `gsum.toml` of a home that has none; return whether it was written."""
    return _ship(SETTINGS_FILE, home.root)


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
