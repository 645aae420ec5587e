"""Facts of the project that the assets belong to: owners, repository, and page of the service."""

from collections.abc import Collection, Sequence
from pathlib import Path

import dagster as dg

from gsum_resources.settings.schema import DagsterSettings

_ANCHOR = "gsum_assets/dagster_assets/project.py"  # this file in the repository

_SHOWN = {
    "gor": "graphs?graph=records",
    "lightpal": "graphs?graph=passages",
    "graphrag": "graphs?graph=entities",
    "jerr": "graphs?graph=jerr",
}
"""Views of the page of `gsum serve` by group of assets; of others, the state of the corpora."""


def of_project(
    assets: Collection[dg.AssetsDefinition | dg.SourceAsset],
    settings: DagsterSettings,
    owners: Sequence[str] = (),
) -> list[dg.AssetsDefinition | dg.SourceAsset]:
    """Return the assets with owners, and with links to a repository and a page that settings name.

    Parameters
    ----------
    owners : besides those of the settings. Observed assets have none: Dagster cannot map them.
    """
    of_all = list(dict.fromkeys((*settings.owners, *owners)))

    def with_facts(spec: dg.AssetSpec) -> dg.AssetSpec:
        if settings.page_url:
            shown = _SHOWN.get(spec.group_name or "", "corpora")
            link = dg.MetadataValue.url(f"{settings.page_url}/#/{shown}")
            spec = spec.merge_attributes(metadata={"gsum/page": link})
        return spec.replace_attributes(owners=of_all) if of_all else spec

    owned = [
        asset.map_asset_specs(with_facts)
        if (of_all or settings.page_url) and isinstance(asset, dg.AssetsDefinition)
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
