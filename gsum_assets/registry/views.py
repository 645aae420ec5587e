"""All views of the DuckDB file besides one for each table."""

from gsum_resources.store.catalogue import View


def views() -> tuple[View, ...]:
    """Return the views, whose queries are loaded where a catalogue is written or read."""
    from gsum_assets.graphrag.compat import VIEWS as COMPATIBLE
    from gsum_assets.lightpal.views import VIEWS as LISTED

    return (*LISTED, *COMPATIBLE)
