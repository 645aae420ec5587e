"""`evidence` (ours): a learnt, question-conditioned choice of the passages that hold evidence.

Every passage of a question's scope has a probability that it holds evidence for the question. The
contexts are the prefix of this ranking with the largest expected F1, under a token budget.

`sentence_index.py`: sentences with their vectors. `scope.py`: what does not depend on a question.
`features.py`: what passages have in common with it. `network.py`: from features to probabilities.
`rank.py`, `contexts.py`: rankings, reasons, and how many passages are read.

`python -m benchmarks.evidence` trains the packaged weights; `docs/evidence.md` is their model card.
"""
