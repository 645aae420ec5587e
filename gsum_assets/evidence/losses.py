"""Losses of the networks, from logits, marks and the number of each passage's question."""

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch import Tensor

Loss = Callable[["Tensor", "Tensor", "Tensor"], "Tensor"]
"""Loss of a batch from logits, marks and the question of each passage, from 0, `(n,)` each."""


def cross_entropy(logits: "Tensor", marks: "Tensor", owners: "Tensor") -> "Tensor":
    """Return the mean binary cross-entropy over all passages, whatever their question."""
    from torch.nn.functional import binary_cross_entropy_with_logits

    return binary_cross_entropy_with_logits(logits, marks)


def with_listwise(weight: float) -> Loss:
    """Return binary cross-entropy plus a weighted cross-entropy of each question's softmax.

    The first gives probabilities, which the number of passages depends on. The second compares the
    passages of a question with each other (ListNet; Cao et al., 2007), its marked ones with equal
    shares.
    """

    def loss(logits: "Tensor", marks: "Tensor", owners: "Tensor") -> "Tensor":
        shares = marks / summed(marks, owners).clamp(min=1)[owners]
        shifted = logits - logits.max().detach()
        log_sums = summed(shifted.exp(), owners).clamp(min=1e-12).log()
        listwise = (shares * (log_sums[owners] - shifted)).sum() / len(log_sums)
        return cross_entropy(logits, marks, owners) + weight * listwise

    return loss


def summed(values: "Tensor", owners: "Tensor") -> "Tensor":
    """Return the sum of each question's values, `(n_questions,)`."""
    return values.new_zeros(int(owners[-1]) + 1).index_add(0, owners, values)


WITH_LISTWISE = with_listwise(0.3)
"""The loss of the packaged weights."""
