"""Graph-augmented ODMDS (Shen and Chai): re-ranking and refinement by clusters of a passage graph.

Step by step, with the paper's section; `index.py` and `family.py` define the assets:

- `graph.py`: edges between neighbours, citations and nearest passages by TF-IDF (3.1.1; the last
  are ours), and features of passages (equations 1 to 3).
- `encoders.py`: graph convolutions of `dgl.nn` (3.1.2, equations 4 and 5) and their training, by
  the loss of equations 6 and 7 or ours.
- `clusters.py`: DBSCAN (eps 0.5 on raw embeddings, C.3) and K-Means (3.1.2), Leiden on the graph
  itself (ours), and the weight of re-ranking without labels (ours).
- `rank.py`: the one ranking of passages, re-ranked by the scores of their cluster (3.1.3, equations
  8 to 10); `methods.py`: the methods by name.
- `relevance.py`: topics of the clusters among a question's passages (3.2.1), and relevance of each
  passage (3.2.2); `refine.py`: rewriting by both (appendix B), within the prompt's token budget.

Differences of `gae-published` from the paper: passages are chunks of the corpus's size, not of
8,912 tokens; beyond 2,000 of them the loss is estimated. `gae` itself trains no auto-encoder,
counts further passages of a document less, and does not reflect.
"""
