"""LightPAL (Enomoto et al., 2024), and our `passage_walk`: retrieval over graphs of passages.

Step by step, with the paper's section:

- `candidates.py`: the most similar passages of each passage (4.1, 5.1).
- `context_scores.py`: log probability of each candidate given the passage (4.1); the scorers are
  in `gsum_resources`.
- `passage_edges.py`: edges to the best candidates, in three graphs (4.1; embeddings as ablation:
  5.4).
- `passage_graph.py`: the graphs in the form that random walks need.
- `published.py`: initial passages and, by Personalized PageRank, context passages (4.2, 5.1).
- `promptrank.py`: the slow baseline PromptRank (5.1), over the same graph.
- `passage_walk.py`, `communities.py`, `walk_trust.py`: our method `passage_walk`.
- `rank.py`, `methods.py`: the methods by name.

Differences from the paper: passages are the chunks of the corpus and, at document level, whole
documents, each level with its own graph. For a question about one document, edges lead to the best
candidates of that document. A ranking is computed for one K, that of the contexts, and continues
beyond it: initial and context passages are interleaved. Scores of the unigram scorer are relative
to its background model.

Where the paper is ambiguous: walks, and the paths of PromptRank, start at the initial passages of
K, at most 20 (5.1 has "the top-20 of initial passages D_init", which are 60% of K). Walks from 20
passages for any K would score each of the 20 above every other passage, and only re-order the
initial retrieval.
"""
