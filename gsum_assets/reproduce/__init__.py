"""Reproductions of papers: a preset with the paper's settings, its sample, and its figures."""
