"""LightPAL (Enomoto et al., 2024), and our `passage_walk`: retrieval over graphs of passages.

Step by step, with the paper's section; `family.py` declares the steps:

- `candidates.py`: the most similar passages of each passage (4.1, 5.1); after a change,
  `increment.py`.
- `context_scores.py`: log probability of each candidate given the passage (4.1); the scorers are
  in `gsum_resources`.
- `passage_edges.py`: edges to the best candidates, in three graphs (4.1; embeddings as ablation:
  5.4). `passage_graph.py`: the graphs in the form that random walks need.
- `rank.py`: the retriever of each method. `published.py`: initial passages and, by Personalized
  PageRank, context passages (4.2, 5.1). `promptrank.py`: the slow baseline (5.1), over the same
  graph. `passage_walk.py`: our method, with its communities and its trust in the graph.

How this differs from the paper: docs/departures.md. Where the paper is ambiguous: walks, and the
paths of PromptRank, start at the initial passages of K, at most 20 (5.1 has "the top-20 of initial
passages D_init", which are 60% of K). Walks from 20 passages for any K would score each of the 20
above every other passage, and only re-order the initial retrieval.
"""
