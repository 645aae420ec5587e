"""All views of the DuckDB file besides one for each table."""

from gsum_assets.graphrag.compat import VIEWS as COMPATIBLE
from gsum_assets.lightpal.views import VIEWS as LISTED

VIEWS = (*LISTED, *COMPATIBLE)
