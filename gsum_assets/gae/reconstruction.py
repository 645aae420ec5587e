"""The loss of a graph auto-encoder over all pairs of nodes, without a matrix of all pairs.

|| A - sigmoid(Z Z^T) ||_F^2 (paper, equations 6 and 7). Its gradient with regard to Z is known in
closed form, 2 (G + G^T) Z with G = (sigmoid - A) sigmoid (1 - sigmoid) elementwise, so a block of
rows is made, used for both, and forgotten.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch

_CELLS_AT_ONCE = 2**23  # pairs in memory at a time: 32 MiB in float32 for each array alive


def reconstruction_loss(embeddings: "torch.Tensor", adjacency: "torch.Tensor") -> "torch.Tensor":
    """Mean over all pairs of the squared error of reconstructing an adjacency matrix.

    The mean instead of the published sum: learning rate and weight decay then mean the same
    whatever the number of nodes.

    Parameters
    ----------
    embeddings : Z, `(n_nodes, dim)`.
    adjacency : A, symmetric, sparse CSR `(n_nodes, n_nodes)`.
    """
    return _reconstruction().apply(embeddings, adjacency)


def _reconstruction():
    import torch

    class Reconstruction(torch.autograd.Function):
        @staticmethod
        def forward(ctx, embeddings, adjacency):  # noqa: ANN001
            z = embeddings.detach()
            n = len(z)
            gradient = torch.zeros_like(z)
            total = z.new_zeros((), dtype=torch.float64)
            starts, columns = adjacency.crow_indices(), adjacency.col_indices()
            values = adjacency.values()
            step = max(1, _CELLS_AT_ONCE // n)
            for first in range(0, n, step):
                last = min(first + step, n)
                predicted = torch.sigmoid(z[first:last] @ z.T)  # (rows, n_nodes)
                begin, end = int(starts[first]), int(starts[last])
                rows = torch.repeat_interleave(
                    torch.arange(last - first), starts[first + 1 : last + 1] - starts[first:last]
                )
                error = predicted.clone()
                error.index_put_((rows, columns[begin:end]), -values[begin:end], accumulate=True)
                total += error.square().sum(dtype=torch.float64)
                slope = error.mul_(predicted).mul_(1 - predicted)
                gradient[first:last] = slope @ z  # A and Z Z^T are symmetric: half of it
            ctx.save_for_backward(gradient * (4 / n**2))
            return (total / n**2).to(z.dtype)

        @staticmethod
        def backward(ctx, *outputs):  # noqa: ANN001
            (gradient,) = ctx.saved_tensors
            return gradient * outputs[0], None

    return Reconstruction
