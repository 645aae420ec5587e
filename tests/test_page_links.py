"""Links from the assets in Dagster's UI to the page of `gsum serve`."""

import pytest

from gsum_assets.dagster_assets.metadata import of_asset
from gsum_assets.registry.declared import STEPS
from gsum_resources.settings.schema import DagsterSettings


def link_of(group: str, settings: DagsterSettings) -> object:
    """Return the value of the link in the metadata of an asset of a group; None: no link."""
    declared = next(declared for declared in STEPS if declared.group == group)
    table = declared.table(declared.step.table)
    link = of_asset(declared, table, settings)["metadata"].get("gsum/page")
    return link and link.value


@pytest.mark.parametrize(
    ("group", "view"),
    [("gor", "graphs?graph=records"), ("graphrag", "graphs?graph=entities"), ("corpus", "corpora")],
)
def test_assets_link_to_a_view_of_the_page(group: str, view: str) -> None:
    settings = DagsterSettings(page_url="http://127.0.0.1:8765/")
    assert link_of(group, settings) == f"http://127.0.0.1:8765/#/{view}"


def test_assets_have_no_link_without_an_address() -> None:
    assert link_of("gor", DagsterSettings()) is None


@pytest.mark.parametrize("url", ["127.0.0.1:8765", "javascript:alert(1)", "http://"])
def test_address_of_the_page_is_http(url: str) -> None:
    with pytest.raises(ValueError, match="no address that begins with http"):
        DagsterSettings(page_url=url)
