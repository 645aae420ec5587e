"""Homes whose state is in PostgreSQL and whose tables are in an object store."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import tomlkit
import yaml

from gsum_resources.dagster_io.instance import CONFIG_FILE
from gsum_resources.settings.schema import SETTINGS_FILE
from tests.conftest import House, keep_no_step_logs
from tests.pipeline.homes import house_at


@contextmanager
def shared_house(root: Path, database: str, warehouse: str) -> Iterator[House]:
    """The house at `root`, its databases and tables at these URLs."""
    with house_at(root) as house, pytest.MonkeyPatch.context() as patch:
        patch.setenv("GSUM_WAREHOUSE", warehouse)
        house = House(type(house.home).from_environment())
        use_database(house, database)
        yield house


def use_database(house: House, database: str) -> None:
    """Let Dagster and gsum keep what they know in a PostgreSQL database."""
    keep_no_step_logs(house.home)
    file = house.home.dagster / CONFIG_FILE
    config = yaml.safe_load(file.read_text())
    config["storage"] = {"postgres": {"postgres_url": database}}
    file.write_text(yaml.safe_dump(config, sort_keys=False))
    settings = house.home.root / SETTINGS_FILE
    document = tomlkit.parse(settings.read_text())
    document["state"]["url"] = database  # type: ignore[index] - a table
    settings.write_text(tomlkit.dumps(document))
    os.environ["DAGSTER_HOME"] = str(house.home.dagster)
