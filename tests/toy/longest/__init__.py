"""Reads the longest chunks for every question: the smallest method with an index."""
