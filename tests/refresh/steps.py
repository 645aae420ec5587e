"""A corpus whose steps are executed one after the other, without Dagster."""

from collections.abc import Sequence

from gsum_assets.corpus import observe
from gsum_assets.refresh.inputs import Run
from gsum_assets.refresh.staleness import Staleness
from gsum_assets.refresh.step import Refreshed, refresh_step
from gsum_assets.registry.declared import ORDERED
from tests.conftest import CORPUS, House

BY_NAME = {declared.name: declared for declared in ORDERED}


def look(house: House) -> None:
    """Note the present files of the corpus."""
    observe.sources(house.store, house.home.corpora, CORPUS)


def staleness(house: House, *methods: str) -> Staleness:
    return Staleness(house.workspace, CORPUS, frozenset(methods))


def refreshed(house: House, step: str, methods: Sequence[str], run: Run | None = None) -> Refreshed:
    """Execute one step."""
    return refresh_step(house.workspace, BY_NAME[step], CORPUS, methods, run or Run())


def refresh_due(house: House, *methods: str) -> list[str]:
    """Execute all steps that are due; return those that wrote a file."""
    look(house)
    due = [declared.name for declared in staleness(house, *methods).due()]
    return [name for name in due if refreshed(house, name, methods).written]
