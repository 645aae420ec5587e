"""Graph-augmented ODMDS (Shen and Chai): re-ranking and refinement by clusters of a passage graph.

Step by step, with the paper's section; `index.py` and `family.py` define the assets:

- `graph_edges.py`: edges between neighbours, citations and nearest passages by TF-IDF (3.1.1; the
  last are ours); `word_vectors.py`, `node_features.py`: features of passages (equations 1 to 3).
- `encoders.py`: graph convolutions of `dgl.nn` (3.1.2, equations 4 and 5); `autoencoder.py`:
  training; `reconstruction.py`: the loss (equations 6 and 7, or ours), the loss of a constant, and
  how well edges are told apart.
- `clusters.py`: DBSCAN (eps 0.5 on raw embeddings, C.3) and K-Means (3.1.2), Leiden on the graph
  itself (ours); `weigh.py`: weight of re-ranking without labels (ours).
- `rerank.py`: re-ranking of candidates by the scores of their cluster (3.1.3, equations 8 to 10);
  `rank.py`: the one ranking of passages; `methods.py`: the methods by name.
- `topics.py`: topics of the clusters among a question's passages (3.2.1).
- `reflect.py`, `refine.py`: relevance of each passage, and its rewriting (3.2.2, appendix B);
  `drafts.py`: the prompt's token budget for any K.

Differences of `gae-published` from the paper: passages are chunks of the corpus's size, not of
8,912 tokens; beyond 2,000 of them the loss is estimated. `gae` itself trains no auto-encoder,
counts further passages of a document less, and does not reflect.
"""
