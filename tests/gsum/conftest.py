"""A small home made by the pipeline with the embedded models, for the examples."""

import os
from collections.abc import Iterator
from pathlib import Path

import dagster as dg
import pytest

from gsum_assets.runner.run import pipeline_for, refresh
from gsum_resources.settings.home import Home
from tests.gsum.harbour import METHODS, write_corpus


@pytest.fixture(scope="session")
def harbour(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder that has the home `data` with the corpus `harbour`."""
    root = tmp_path_factory.mktemp("harbour")
    home = Home(root / "data", str(root / "data" / "warehouse"))
    write_corpus(home.corpora / "harbour")
    with pytest.MonkeyPatch.context() as patch, dg.DagsterInstance.ephemeral() as instance:
        patch.setenv("DAGSTER_HOME", str(home.dagster))
        report = refresh(pipeline_for(home, presented=False), instance, "harbour", METHODS)
    assert report.errors == []
    return root


@pytest.fixture
def in_harbour(harbour: Path) -> Iterator[Path]:
    """The same as the working directory."""
    before = Path.cwd()
    os.chdir(harbour)
    yield harbour
    os.chdir(before)
