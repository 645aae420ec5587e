"""`gsum run` and `gsum forget`: one run of Dagster a corpus, executed here or by a daemon."""
