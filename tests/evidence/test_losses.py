"""Losses of the networks, by hand."""

import math
from collections.abc import Sequence

import numpy as np
import pytest

from gsum_assets.evidence.losses import cross_entropy, summed, with_listwise

MARKS = (0, 1, 1, 1)


def tensors(logits: Sequence[float], marks: Sequence[float] = MARKS):
    """Return logits and marks of two questions with two passages each."""
    import torch

    return torch.tensor(logits).float(), torch.tensor(marks).float(), torch.tensor([0, 0, 1, 1])


def test_values_are_summed_by_question() -> None:
    logits, _, owners = tensors([0.5, 1, 5, 5])
    assert summed(logits, owners).tolist() == [1.5, 10]


def test_listwise_loss_by_hand() -> None:
    """The softmax of the first question is 1/4 and 3/4; the second has 1/2 and 1/2, as marked."""
    batch = tensors([0, math.log(3), 5, 5])
    expected = (-math.log(3 / 4) - math.log(1 / 2)) / 2
    found = with_listwise(2)(*batch) - cross_entropy(*batch)
    assert found.item() == pytest.approx(2 * expected, rel=1e-5)


def test_cross_entropy_is_the_mean_over_passages() -> None:
    p = 1 / (1 + np.exp([0, -math.log(3), -5, -5]))
    expected = -np.log([1 - p[0], *p[1:]]).mean()
    assert cross_entropy(*tensors([0, math.log(3), 5, 5])).item() == pytest.approx(expected)


def test_a_question_without_marks_adds_nothing() -> None:
    batch = tensors([0, 1, 5, 5], (0, 0, 0, 0))
    assert with_listwise(2)(*batch).item() == pytest.approx(cross_entropy(*batch).item())


def test_listwise_loss_of_large_logits_is_finite() -> None:
    logits, marks, owners = tensors([300.0, 0, -300, -310])
    logits.requires_grad_()
    loss = with_listwise(1)(logits, marks, owners)
    loss.backward()
    assert loss.isfinite()
    assert logits.grad is not None
    assert logits.grad.isfinite().all()
