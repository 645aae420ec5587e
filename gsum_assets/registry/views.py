"""All views of the DuckDB file besides one for each table."""

from gsum_resources.store.catalogue import Macro, View


def views() -> tuple[View | Macro, ...]:
    """Return the views, whose queries are loaded where a catalogue is written or read."""
    from gsum_assets.graphrag.compat import VIEWS as COMPATIBLE
    from gsum_assets.graphrag.macros import MACROS
    from gsum_assets.lightpal.views import VIEWS as LISTED
    from gsum_assets.pipeline.tables import TABLES
    from gsum_assets.registry.macros import questions

    return (*questions(TABLES.values()), *LISTED, *COMPATIBLE, *MACROS)
