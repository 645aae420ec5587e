"""One home that is indexed once for all tests of runs, and copies that a test may change."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import House, tables_only
from tests.pipeline.homes import copy_of, furnish, house_at


@pytest.fixture(scope="session")
def indexed_by_bm25(tmp_path_factory: pytest.TempPathFactory) -> House:
    """Out of any test's environment: to be used through `current` or `changeable`."""
    with tables_only(), house_at(tmp_path_factory.mktemp("bm25")) as house:
        furnish(house)
        assert house.run(["bm25"]).is_complete
    return house


@pytest.fixture
def current(indexed_by_bm25: House) -> Iterator[House]:
    """A corpus indexed by BM25, not to be changed."""
    with house_at(indexed_by_bm25.home.root) as house:
        yield house


@pytest.fixture
def changeable(indexed_by_bm25: House, tmp_path: Path) -> Iterator[House]:
    """A corpus indexed by BM25, to change."""
    with copy_of(indexed_by_bm25, tmp_path) as copy:
        yield copy
