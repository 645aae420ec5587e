"""gsum for notebooks and scripts; see `gsum.statistics`."""
