"""The component `gsum.GsumCorpus`, which adds a corpus to a Dagster project of others."""
