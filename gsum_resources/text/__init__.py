"""Tools for text without a language model: one idea per file."""
