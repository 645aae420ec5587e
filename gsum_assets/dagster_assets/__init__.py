"""Steps and models as Dagster assets, their partitions, and their asset checks."""
