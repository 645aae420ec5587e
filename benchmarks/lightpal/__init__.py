"""LightPAL, PromptRank and the passage walk: what they find, how fast, at what price.

- `corpora.py`: the corpora of ODSum, and QMSum val, with their index.
- `retrieval.py`: precision and recall of each method and its seeds, how many context
  passages are read at all, and questions without titles (`titles.py`).
- `latency.py`: milliseconds of a question.
- `scorer.py`: word frequencies compared with a language model as scorer of passages.
- `index.py`: seconds and memory of the index of a large corpus, and of one document more.
"""
