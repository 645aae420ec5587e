"""Baselines, and what all methods retrieve with: collection, rankings, contexts."""
