"""What the UI says of an asset, taken from the declaration of its table."""

import base64
from collections.abc import Collection
from typing import Any

import dagster as dg

from gsum_assets.result import Markdown, Picture, Shown
from gsum_assets.tables import TABLES, table_of
from gsum_resources.table_metadata import of_table

STORED_AS = "parquet"
MADE_BY = "python"  # unless an asset names another kind of its own


def presented(
    assets: Collection[dg.AssetsDefinition | dg.SourceAsset],
) -> list[dg.AssetsDefinition | dg.SourceAsset]:
    """Every materializable asset with its table's meaning, columns, example query and kinds.

    What an asset says of itself follows as what it is for. Observed assets are passed through:
    Dagster cannot map them; those with a table take `observed_table` where they are declared.
    """
    return [
        asset.map_asset_specs(_presented) if isinstance(asset, dg.AssetsDefinition) else asset
        for asset in assets
    ]


def _presented(spec: dg.AssetSpec) -> dg.AssetSpec:
    table = table_of(spec.key.path)
    return spec.replace_attributes(
        description=described(table.name, spec.description or ""),
        metadata={**of_table(table), **spec.metadata},
        kinds={STORED_AS, *(spec.kinds or {MADE_BY})},
    )


def observed_table(name: str, purpose: str) -> dict[str, Any]:
    """Arguments for `observable_source_asset` over a table that observing it keeps."""
    return {
        "description": described(name, purpose),
        "metadata": of_table(TABLES[name]),
        "tags": kind_tags("file", STORED_AS),
    }


def described(table: str, purpose: str) -> str:
    """`One row per …`, then what the table is for."""
    return f"One row per {TABLES[table].row}. {purpose}".strip()


def kind_tags(*kinds: str) -> dict[str, str]:
    """Kinds as the tags that Dagster keeps them in; observed assets take no `kinds`."""
    return {f"dagster/kind/{kind}": "" for kind in kinds}


def picture(png: bytes, alt: str) -> dg.MarkdownMetadataValue:
    """A picture that travels in the event, so that it is seen wherever the event is."""
    return dg.MetadataValue.md(f"![{alt}](data:image/png;base64,{base64.b64encode(png).decode()})")


def as_metadata(shown: Shown) -> dict[str, Any]:
    """What a step has to show, as Dagster has it."""
    kinds = {Picture: lambda one: picture(*one), Markdown: dg.MetadataValue.md}
    return {label: kinds.get(type(one), lambda same: same)(one) for label, one in shown.items()}
