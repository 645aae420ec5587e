"""Opens Dagster's instance in the home, with gsum's settings and without telemetry."""

import os
from importlib.resources import files
from pathlib import Path

import dagster as dg

from gsum_resources.home import Home
from gsum_resources.settings import SETTINGS_FILE

CONFIG_FILE = "dagster.yaml"
PREVIEW = "preview"  # label of the metadata, of events, that shows rows of a table


def prepare(home: Home) -> Path:
    """Make the homes of gsum and Dagster, each with the shipped settings unless it has its own.

    Points Dagster at its home, and returns that folder.
    """
    folder = home.dagster
    _ship(CONFIG_FILE, folder)
    _ship(SETTINGS_FILE, home.root)
    os.environ["DAGSTER_HOME"] = str(folder)
    return folder


def open_instance(home: Home) -> dg.DagsterInstance:
    """The instance that the UI and the daemon use too."""
    return dg.DagsterInstance.from_config(str(prepare(home)))


def _ship(name: str, folder: Path) -> None:
    """Copy a shipped file of settings into a folder that has none of this name."""
    folder.mkdir(parents=True, exist_ok=True)
    target = folder / name
    if not target.exists():
        beside = target.with_suffix(f".{os.getpid()}.part")
        beside.write_text(files("gsum_resources").joinpath(name).read_text())
        beside.replace(target)
