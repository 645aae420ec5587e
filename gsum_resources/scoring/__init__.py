"""Passage scorers, and the memo of their scores.

`unigram.py` uses word frequencies, `causal_scorer.py` a local language model; `memoized.py` stores
scores.
"""

SEPARATOR = "\n\n"
"""Text between a passage and its candidate."""
