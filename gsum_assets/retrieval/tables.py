"""Tables of the baselines: none."""

from gsum_resources.store.table import Table

TABLES: tuple[Table, ...] = ()
