"""Rows between pandas, Arrow and plain Python."""

import math
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import pyarrow as pa

if TYPE_CHECKING:
    import pandas as pd


def frame_of(rows: pa.Table) -> "pd.DataFrame":
    """Return a table as a pandas frame."""
    return rows.to_pandas()


def is_frame(value: Any) -> bool:
    """Return whether this is a pandas frame, without importing pandas."""
    return hasattr(value, "columns") and hasattr(value, "to_dict")


def records_of(frame: "pd.DataFrame") -> list[dict[str, Any]]:
    """Return the rows of a frame as dicts of plain values; a missing value is left out."""
    return [plain_record(row) for row in frame.to_dict("records")]


def plain_record(row: Mapping[Any, Any]) -> dict[str, Any]:
    """Return a row with plain Python values, without those that are missing."""
    values = {str(name): _plain(value) for name, value in row.items()}
    return {
        name: value
        for name, value in values.items()
        if not (value is None or type(value).__name__ in ("NAType", "NaTType"))
        and not (isinstance(value, float) and math.isnan(value))
    }


def _plain(value: Any) -> Any:
    value = value.tolist() if hasattr(value, "tolist") else value  # NumPy's arrays and numbers
    is_several = isinstance(value, Iterable) and not isinstance(value, str | bytes | Mapping)
    return [_plain(item) for item in value] if is_several else value
