"""Graph-augmented ODMDS (Shen and Chai): clusters of a passage graph re-rank and refine.

Step by step, with the paper's section; `index.py` and `method.py` put the steps together:

- `graph_edges.py`: neighbours, citations, and the nearest by TF-IDF (3.1.1; the last is ours);
  `word_vectors.py`, `node_features.py`: what is known of a passage (equations 1 to 3).
- `encoders.py`: graph convolutions of `dgl.nn` (3.1.2, equations 4 and 5); `autoencoder.py`: their
  training; `reconstruction.py`: the loss over all pairs, by blocks or by a sample (equations 6
  and 7).
- `clusters.py`: DBSCAN (eps 0.5 on raw embeddings, C.3) and K-Means (3.1.2), HDBSCAN and Leiden
  (ours); `choose.py`,
  `clusterings.py`: which of them is taken, and how far it is followed, judged without labels
  (ours).
- `rerank.py`: candidates gain by what others of their cluster scored (3.1.3, equations 8 to 10);
  `rank.py`, `variants.py`: the methods by name, ablations included (5.3).
- `topics.py`: what the clusters among a question's passages are about (3.2.1).
- `reflect.py`, `refine.py`: how far each passage bears on the question, and what remains of it
  (3.2.2, appendix B); `drafts.py`, `budget.py`: a prompt that keeps to its length whatever K is.
- `levels.py`, `questions.py`: documents and chunks, questions and their passages, as all share
  them.

Departures: two convolutions instead of three; the loss is a mean and not a sum; beyond 2,000 nodes
it is estimated; passages are chunks and, at the level of documents, whole documents, each level
with a graph of its own. A ranking is made for one K, that of the contexts.
"""
