"""Graph-augmented ODMDS (Shen and Chai): re-ranking and refinement by clusters of a passage graph.

- `graph.py`: edges and features of passages (3.1.1); `encoders.py`: the auto-encoder (3.1.2).
- `clusters.py`: DBSCAN (3.1.2), Leiden on the graph itself (ours), and the weight of
  re-ranking; `rank.py`: the one ranking of passages, re-ranked by clusters (3.1.3).
- `relevance.py`: relevance of topics and passages (3.2); `refine.py`: rewriting by both (B).

How this differs from the paper: docs/graph-augmented.md.
"""
