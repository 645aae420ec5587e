"""Passage scorers by language models, and the memo of scores.

`causal_scorer.py` runs a model in this process, `prompt_logprobs.py` asks a server,
`memoized.py` remembers what either said, or the unigram scorer (`gsum_resources/scorer.py`).
"""

SEPARATOR = "\n\n"
"""What stands between a passage and its candidate."""
