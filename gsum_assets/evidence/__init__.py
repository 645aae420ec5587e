"""`evidence` (ours): a learnt, question-conditioned choice of the passages that hold evidence.

Every passage of a question's scope has a probability that it holds evidence for the question. The
contexts are the prefix of this ranking with the largest expected F1, under a token budget.

Step by step:

- `sentence_index.py`: the sentences of all passages with their vectors, computed when documents
  change.
- `scope.py`: the passages that one question is searched in, with all that does not depend on it.
- `features.py`: what a passage has in common with a question (words, vectors, named speakers), the
  same of its neighbours and nearest passages, and a walk over both.
- `network.py`: a graph network from features to probabilities, in NumPy, and its packaged weights.
- `rank.py`: rankings and probabilities of all questions, and what speaks for a passage.
- `contexts.py`: how many passages are read, and which for a question without search terms.

`python -m benchmarks.evidence` trains the packaged weights; `docs/evidence.md` is their model card.
"""
