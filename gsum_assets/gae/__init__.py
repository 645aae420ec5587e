"""Graph-augmented ODMDS (Shen and Chai): re-ranking and refinement by clusters of a passage graph.

Step by step, with the paper's section; `index.py` and `family.py` define the assets:

- `graph_edges.py`: edges between neighbours, citations and nearest passages by TF-IDF (3.1.1; the
  last are ours); `word_vectors.py`, `node_features.py`: features of passages (equations 1 to 3).
- `encoders.py`: graph convolutions of `dgl.nn` (3.1.2, equations 4 and 5); `autoencoder.py`:
  training; `reconstruction.py`: the loss over all pairs, in blocks or from a sample (equations 6
  and 7).
- `model.py`: the trained state, word statistics, bases and encoders, which later documents use.
- `clusters.py`: DBSCAN (eps 0.5 on raw embeddings, C.3) and K-Means (3.1.2), HDBSCAN and Leiden
  (ours); `choose.py`, `clusterings.py`: choice and weight of a clustering without labels (ours).
- `rerank.py`: re-ranking of candidates by the scores of their cluster (3.1.3, equations 8 to 10);
  `rank.py`, `methods.py`: the methods by name, ablations included (5.3).
- `topics.py`: topics of the clusters among a question's passages (3.2.1).
- `reflect.py`, `refine.py`: relevance of each passage, and its rewriting (3.2.2, appendix B);
  `drafts.py`: the prompt's token budget for any K.
- `levels.py`: the two levels, documents and chunks.

Differences from the paper: two convolutions instead of three; the loss is a mean, not a sum, and is
estimated beyond 2,000 nodes; passages are chunks and, at document level, whole documents, each
level with its own graph. A ranking is computed for one K, that of the contexts.
"""
