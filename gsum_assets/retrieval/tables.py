"""The baselines have no tables of their own."""

from gsum_resources.table import Table

TABLES: tuple[Table, ...] = ()
