"""Gain of Graph of Records over dense retrieval, for five seeds of its training."""
