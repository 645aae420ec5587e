"""Passage scorers, and the memo of scores.

`unigram.py` counts words, `causal_scorer.py` runs a language model in this process,
`prompt_logprobs.py` asks a server, `memoized.py` remembers what they said.
"""

SEPARATOR = "\n\n"
"""What stands between a passage and its candidate."""
