"""Opens Dagster's instance in the home, with gsum's settings and without telemetry."""

import os
from importlib.resources import files
from pathlib import Path

import dagster as dg

from gsum_resources.home import Home

CONFIG_FILE = "dagster.yaml"


def prepare(home: Home) -> Path:
    """Make Dagster's home, with the shipped `dagster.yaml` unless it has one; point Dagster at it.

    Returns the folder.
    """
    folder = home.dagster
    folder.mkdir(parents=True, exist_ok=True)
    config = folder / CONFIG_FILE
    if not config.exists():
        shipped = files("gsum_resources").joinpath(CONFIG_FILE).read_text()
        beside = config.with_suffix(f".{os.getpid()}.part")
        beside.write_text(shipped)
        beside.replace(config)
    os.environ["DAGSTER_HOME"] = str(folder)
    return folder


def open_instance(home: Home) -> dg.DagsterInstance:
    """The instance that the UI and the daemon use too."""
    return dg.DagsterInstance.from_config(str(prepare(home)))
