"""The network of `network.py` as a torch module, for training.

Importing torch takes seconds, so import this module inside functions only.
"""

from collections.abc import Sequence

import torch
from torch import Tensor, nn


class EvidenceNetwork(nn.Module):
    """Input layer, residual layers with messages, and a logit.

    Parameters
    ----------
    n_kinds : kinds of edges; 0: every passage is judged alone.
    """

    def __init__(
        self, n_features: int, n_kinds: int, hidden: int, layers: int, dropout: float
    ) -> None:
        super().__init__()
        self.input = nn.Linear(n_features, hidden)
        width = (1 + n_kinds) * hidden
        self.layers = nn.ModuleList(nn.Linear(width, hidden) for _ in range(layers))
        self.output = nn.Linear(hidden, 1)
        self.dropout = nn.Dropout(dropout)

    def forward(self, features: Tensor, edges: Sequence[Tensor]) -> Tensor:
        """Return logits `(n,)` for features `(n, n_features)` and edges as in `edges_of`."""
        state = self.dropout(self.input(self.dropout(features)).relu())
        for layer in self.layers:
            received = [state, *(_messages(state, kind) for kind in edges)]
            state = state + self.dropout(layer(torch.cat(received, 1)).relu())
        return self.output(state)[:, 0]


def _messages(state: Tensor, senders: Tensor) -> Tensor:
    is_sender = (senders >= 0).to(state.dtype)
    sums = (state[senders.clamp(min=0)] * is_sender[..., None]).sum(1)  # (n, hidden)
    return sums / is_sender.sum(1, keepdim=True).clamp(min=1)
