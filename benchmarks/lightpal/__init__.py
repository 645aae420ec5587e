"""LightPAL, PromptRank and the passage walk on ODSum: what they find, how fast, at what price.

- `corpora.py`: the corpora of ODSum with their index.
- `retrieval.py`: precision and recall, also of questions without titles (`titles.py`).
- `latency.py`: milliseconds of a question.
- `scorer.py`: word frequencies beside a real language model as what scores passages.
- `index.py`: seconds and memory of the index of a large corpus, and of one document more.
"""
