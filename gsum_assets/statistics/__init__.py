"""Statistics of methods that answered the same questions; `gsum.statistics` makes them public."""
