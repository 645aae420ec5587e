"""The blocked loss against all pairs at once, and the training against a graph of two cliques."""

import numpy as np
import pytest

from gsum_assets.gae import reconstruction
from gsum_assets.gae.autoencoder import Training, _adjacency, embed_graph
from gsum_assets.gae.reconstruction import reconstruction_loss


@pytest.mark.parametrize("cells", [1, 50, 10**6])
def test_loss_and_gradient_are_those_of_all_pairs_at_once(
    cells: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    import torch

    monkeypatch.setattr(reconstruction, "_CELLS_AT_ONCE", cells)
    random = np.random.default_rng(0)
    edges = random.integers(0, 30, (2, 60))
    adjacency = _adjacency(30, *edges)
    start = torch.from_numpy(random.standard_normal((30, 4)).astype(np.float32))
    blocked, whole = (start.clone().requires_grad_() for _ in range(2))
    loss = reconstruction_loss(blocked, adjacency)
    loss.backward()
    dense = (adjacency.to_dense() - torch.sigmoid(whole @ whole.T)).square().mean()
    dense.backward()
    assert loss.item() == pytest.approx(dense.item(), abs=1e-6)
    torch.testing.assert_close(blocked.grad, whole.grad, atol=1e-6, rtol=1e-5)


def test_two_cliques_come_apart() -> None:
    n = 20
    pairs = [(i, j) for i in range(n) for j in range(i) if (i < n // 2) == (j < n // 2)]
    losses: list[float] = []
    training = Training(hidden=16, dim=8, epochs=60)
    features = np.random.default_rng(0).standard_normal((n, 12))
    embedded = embed_graph(
        features, *np.array(pairs).T, training, lambda epoch, loss: losses.append(loss)
    )
    cosine = embedded @ embedded.T
    same = (np.arange(n)[:, None] < n // 2) == (np.arange(n)[None] < n // 2)
    assert cosine[same].min() > cosine[~same].max()
    assert losses[-1] < losses[0]
