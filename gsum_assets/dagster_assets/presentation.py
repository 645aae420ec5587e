"""Descriptions, columns and kinds of assets in the UI, from the declarations of their tables."""

import base64
from collections.abc import Collection
from typing import Any

import dagster as dg

from gsum_assets.dagster_assets.facts import source_of, tags_of
from gsum_assets.pipeline.result import Markdown, Picture, Shown
from gsum_assets.pipeline.tables import TABLES, table_of
from gsum_resources.dagster_io.table_metadata import of_table

STORED_AS = "parquet"
MADE_BY = "python"  # unless an asset names another kind of its own


def presented(
    assets: Collection[dg.AssetsDefinition | dg.SourceAsset],
) -> list[dg.AssetsDefinition | dg.SourceAsset]:
    """Return the assets with their table's meaning, columns, example query, kinds and tags.

    An asset's own description is appended as its purpose. Observed assets are returned unchanged:
    Dagster cannot map them; those with a table use `observed_table` in their declaration.
    """

    def with_table(spec: dg.AssetSpec) -> dg.AssetSpec:
        table = table_of(spec.key.path)
        return spec.replace_attributes(
            description=described(table.name, spec.description or ""),
            metadata={**of_table(table), **spec.metadata, **source_of(spec)},
            kinds={STORED_AS, *(spec.kinds or {MADE_BY})},
            tags={**spec.tags, **tags_of(spec)},
        )

    return [
        asset.map_asset_specs(with_table) if isinstance(asset, dg.AssetsDefinition) else asset
        for asset in assets
    ]


def observed_table(name: str, purpose: str) -> dict[str, Any]:
    """Return arguments of `observable_source_asset` for an asset that writes a table."""
    return {
        "description": described(name, purpose),
        "metadata": of_table(TABLES[name]),
        "tags": kind_tags("file", STORED_AS),
    }


def described(table: str, purpose: str) -> str:
    """Return `One row per …`, then the purpose of the table."""
    return f"One row per {TABLES[table].row}. {purpose}".strip()


def kind_tags(*kinds: str) -> dict[str, str]:
    """Return kinds as Dagster's tags, since observed assets accept no `kinds`."""
    return {f"dagster/kind/{kind}": "" for kind in kinds}


def picture(png: bytes, alt: str) -> dg.MarkdownMetadataValue:
    """Return a picture as Markdown with the image embedded, so that it needs no file."""
    return dg.MetadataValue.md(f"![{alt}](data:image/png;base64,{base64.b64encode(png).decode()})")


def as_metadata(shown: Shown) -> dict[str, Any]:
    """Return the `shown` of a step as Dagster metadata."""
    kinds = {Picture: lambda plot: picture(*plot), Markdown: dg.MetadataValue.md}
    return {label: kinds.get(type(item), lambda same: same)(item) for label, item in shown.items()}
