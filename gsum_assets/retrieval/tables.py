"""Tables of the baselines: none."""

from gsum_resources.table import Table

TABLES: tuple[Table, ...] = ()
