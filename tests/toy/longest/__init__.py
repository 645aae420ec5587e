"""Reads the longest chunks, whatever the question: the smallest method with an index."""
