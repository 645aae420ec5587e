"""The refresh of a corpus: which files of which tables are stale, and the step that writes them."""
