"""Graph of Records (Zhang et al., 2025): answers of a language model as nodes of a learned graph.

In the order of the steps: `simulate.py` (2.2), `respond.py` (equation 3), `graphs.py` (2.2),
`node_rankings.py` (2.3, equation 4), `learn.py` (what a network learns from), `encoders.py` (2.1,
A.4, A.7), `losses.py` (equations 5 to 8), `train.py`, `checks.py`, `rank.py` (2.4, and the baseline
Node2Vec, 3.1), `methods.py` (ablations and encoders, 3.4, 3.5, A.7), `family.py`.

Differences from the paper are in `docs/departures.md`. The authors' code (ulab-uiuc/GoR) differs
from it, so both are methods. `gor-published` follows the code: messages go only from retrieved
nodes to responses, attention dropout is 0.1, L_RANK a mean over pairs, training by inner product at
temperature 1, retrieval by cosine. `gor-paper` follows the paper: messages in both directions,
L_RANK the sum of equation 7, inner products. All methods combine the heads of GAT, average losses
by graph and lower the learning rate as the code does.
"""
