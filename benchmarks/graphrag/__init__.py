"""Indexing overhead without the language model: gsum beside the `graphrag` package."""
