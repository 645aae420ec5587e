"""Graph of Records (Zhang et al., 2025): earlier answers become nodes of a graph that is learnt.

Step by step, with the paper's section:

- `simulate.py`: questions about single passages, 30 a document (2.2, 4.1).
- `respond.py`: their answers, each over six nodes that earlier answers belong to (equation 3).
- `record_graph.py`: passages and responses, joined where a response used a node (2.2).
- `node_rankings.py`: every node by BERTScore against a question's source passage (2.3, equation 4).
- `graphs.py`: tables become `dgl` graphs, and several of them a batch; `encoders.py`: the graph
  networks of `dgl.nn` (2.1, A.4, A.7).
- `losses.py`: L_CL and L_RANK (equations 5 to 8); `train.py`, `infer.py`.
- `rank.py`: a question against the node embeddings; the best six are read (2.4).
- `variants.py`: ablations and encoders (3.4, 3.5), each a method of its own on the leaderboard.
- `node2vec.py`: a baseline over the same responses (3.1).

Departures: by default a node is its text's embedding plus a learned gate times the network's
output, of unit length; messages go from responses to the nodes that they used and not the other way
round; the temperature is 0.05 (the paper gives none). Training on global references
(`gor-supervised`) does not repeat them. Exact copies of a text are given to the language model
once.

The authors' code (ulab-uiuc/GoR) is not what the paper writes, so both are variants.
`gor-published` runs as the code does: messages from retrieved node to response alone, so that
passages receive none; attention dropout 0.1; L_RANK a mean over pairs; trained by inner product at
temperature 1, retrieved by cosine. `gor-paper` is the text: messages both ways, L_RANK the sum of
equation 7, inner products. Heads of GAT are in all variants those of the code: concatenated between
layers, each layer's output their average. Of the code, not reproduced: Contriever's embeddings, a
learning rate that falls each step (here each epoch), losses averaged by graph (here by question).
"""
