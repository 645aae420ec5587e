"""A small corpus that one method has answered, and copies to change."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import House
from tests.pipeline.homes import copy_of, furnish, house_at
from tests.refresh.steps import refresh_due


@pytest.fixture(scope="session")
def answered(tmp_path_factory: pytest.TempPathFactory) -> House:
    """Out of any test's environment: to be used through `small`."""
    with house_at(tmp_path_factory.mktemp("answered")) as house:
        furnish(house)
        written = refresh_due(house, "bm25")
        assert {"chunks", "retrieval/scores", "leaderboard"} <= {*written}
    return house


@pytest.fixture
def small(answered: House, tmp_path: Path) -> Iterator[House]:
    with copy_of(answered, tmp_path) as copy:
        yield copy
