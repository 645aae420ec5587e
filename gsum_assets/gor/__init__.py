"""Graph of Records (Zhang et al., 2025): answers of a language model as nodes of a learned graph.

In the order of the steps, with the paper's section:

- `simulate.py`: simulated questions about single passages, 30 per document (2.2, 3.1).
- `respond.py`: responses to them, each from six retrieved nodes, earlier responses included
  (equation 3).
- `graphs.py`: nodes (passages and responses) and edges from retrieved nodes to responses (2.2).
- `node_rankings.py`: nodes ranked by BERTScore with a question's source passage (2.3, equation 4).
- `learn.py`: what a network learns from.
- `encoders.py`: graph networks of `dgl.nn` (2.1, A.4, A.7), the only module that uses `dgl`.
- `losses.py`: L_CL and L_RANK (equations 5 to 8); `train.py`: the training.
- `checks.py`: whether training worked.
- `rank.py`: questions ranked against node embeddings (2.4), and the baseline Node2Vec (3.1).
- `methods.py`: ablations and encoders (3.4, 3.5, A.7), each a separate method on the leaderboard.
- `family.py`: the steps.

Differences from the paper: by default a node embedding is its text's embedding plus a learned gate
times the network's output, scaled to unit length; messages go only from responses to the nodes that
they used; the temperature is 0.05 (the paper gives none). Exact copies of a text are given to the
language model once.

The authors' code (ulab-uiuc/GoR) differs from the paper, so both are methods. `gor-published`
follows the code: messages go only from retrieved nodes to responses, so that passages receive none;
attention dropout 0.1; L_RANK a mean over pairs; trained by inner product at temperature 1,
retrieved by cosine. `gor-published-…` are its ablations. `gor-paper` follows the paper: messages in
both directions, L_RANK the sum of equation 7, inner products. All methods combine the heads of GAT,
average losses by graph and lower the learning rate as the code does. Embeddings, the model of
BERTScore (`[gor.ranking]`), prompts and chunks are not the authors': `docs/departures.md`.
"""
