"""LightPAL (Enomoto et al., 2024), and our `passage_walk`: retrieval over graphs of passages.

`candidates.py` has the most similar passages of each passage (4.1, 5.1), after a change
`increment.py`; `context_scores.py` the log probability of each given the passage (4.1);
`passage_edges.py` edges to the best, in three graphs (4.1, 5.4), and `passage_graph.py` their form
for walks. `published.py` has the paper's retrieval (4.2, 5.1), `promptrank.py` its slow baseline
(5.1), `passage_walk.py` our method, `rank.py` the retriever of each method, `family.py` the steps.

How this differs from the paper: `docs/departures.md`.
"""
