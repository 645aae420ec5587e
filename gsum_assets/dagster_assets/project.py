"""Facts of the project that the assets belong to: owners and repository."""

from collections.abc import Collection, Sequence
from pathlib import Path

import dagster as dg

from gsum_resources.settings.schema import DagsterSettings

_ANCHOR = "gsum_assets/dagster_assets/project.py"  # this file in the repository


def of_project(
    assets: Collection[dg.AssetsDefinition | dg.SourceAsset],
    settings: DagsterSettings,
    owners: Sequence[str] = (),
) -> list[dg.AssetsDefinition | dg.SourceAsset]:
    """Return the assets with owners, and with links to a repository if the settings name one.

    Parameters
    ----------
    owners : besides those of the settings. Observed assets have none: Dagster cannot map them.
    """
    of_all = list(dict.fromkeys((*settings.owners, *owners)))
    owned = [
        asset.map_asset_specs(lambda spec: spec.replace_attributes(owners=of_all))
        if of_all and isinstance(asset, dg.AssetsDefinition)
        else asset
        for asset in assets
    ]
    if not settings.git_url:
        return owned
    mapping = dg.AnchorBasedFilePathMapping(
        local_file_anchor=Path(__file__), file_anchor_path_in_repository=_ANCHOR
    )
    linked = dg.link_code_references_to_git(owned, settings.git_url, settings.git_branch, mapping)
    return list(linked)  # type: ignore[arg-type]
