"""Indexing overhead without the language model: gsum and the `graphrag` package."""
