"""The remainder of a request after some assets are excluded."""

import dagster as dg
import pytest

from gsum_assets.automation.due import without_readers_of

A, B, C, D = (dg.AssetKey(name) for name in "abcd")


def asset(name: str, *deps: dg.AssetKey) -> dg.AssetsDefinition:
    return dg.asset(name=name, deps=list(deps))(lambda: None)


GRAPH = dg.Definitions([asset("a"), asset("b", A), asset("c", B), asset("d")]).resolve_asset_graph()


@pytest.mark.parametrize(
    ("left_out", "requested", "kept"),
    [
        (set(), [C, A, B, D], [A, B, C, D]),
        ({A}, [A, B, C, D], [D]),  # its descendants would have no input
        ({B}, [A, B, C, D], [A, D]),
        ({A}, [B, C], []),  # a model, which is never requested
        ({B}, [C, D], [D]),
    ],
)
def test_assets_downstream_of_an_excluded_one_are_excluded(
    left_out: set[dg.AssetKey], requested: list[dg.AssetKey], kept: list[dg.AssetKey]
) -> None:
    request = dg.RunRequest(asset_selection=requested)
    assert sorted(without_readers_of(left_out, GRAPH, request)) == kept
