"""Gradient-boosted trees that judge each passage alone (Friedman, 2001), as arrays."""

from collections.abc import Sequence

import numpy as np

from gsum_assets.evidence.network import Model


class Trees(Model):
    """Binary trees whose leaves add up to the logit of a passage.

    Node 0 of each tree is its root. Of its `weights`, `feature`, `left`, `right` and `threshold`
    are `(n_trees, n_nodes)`: a passage goes left if its scaled feature is at most the threshold. A
    leaf is its own child; `value` `(n_trees, n_nodes)` is what it adds, and `bias` `(1,)` the logit
    before the first tree. Indices are stored as floats, which are exact up to 2^24.
    """

    @property
    def has_messages(self) -> bool:
        """Whether passages receive messages along edges: no."""
        return False

    def probabilities(self, scaled: np.ndarray, edges: Sequence[np.ndarray]) -> np.ndarray:
        """Return the probability of each passage, see `Model`."""
        w = self.weights
        feature, left, right = (w[name].astype(int) for name in ("feature", "left", "right"))
        tree = np.arange(len(left))[:, None]
        passage, node = np.arange(len(scaled)), np.zeros((len(left), len(scaled)), int)
        while True:
            is_low = scaled[passage, feature[tree, node]] <= w["threshold"][tree, node]
            following = np.where(is_low, left[tree, node], right[tree, node])
            if np.array_equal(following, node):
                break
            node = following
        logits = w["bias"] + w["value"][tree, node].sum(axis=0, dtype=np.float64)
        return 1 / (1 + np.exp(-logits))
