"""Documents: found, read, put into buckets, cut into passages, with their questions."""
