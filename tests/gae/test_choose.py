"""The clustering that joins what belongs together is chosen; one that does not weighs little."""

import numpy as np

from gsum_assets.gae.choose import choose, reranked

N, GROUPS = 60, np.repeat(np.arange(12), 5)


def searched(random: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Two retrievers that find something of a probe's group, each with noise of its own."""
    held_out = random.integers(0, N, 80)
    same = (GROUPS[held_out][:, None] == GROUPS[None]).astype(float)
    first, second = (same + random.standard_normal(same.shape) for _ in range(2))
    return first, second, held_out


def test_the_true_groups_win_over_chance() -> None:
    random = np.random.default_rng(0)
    clusterings = {
        "alone": np.arange(N),
        "chance": random.permutation(GROUPS),
        "true": GROUPS,
        "one": np.zeros(N),
    }
    found = {choice.name: choice for choice in choose(clusterings, *searched(random))}
    assert next(iter(found)) == "true"
    assert found["true"].weight > 0.8
    assert found["alone"].t == found["alone"].weight == 0
    assert found["chance"].weight < found["true"].weight


def test_candidates_come_before_others_and_weight_nothing_keeps_the_order() -> None:
    scores = np.random.default_rng(0).random((3, N))
    found = reranked(scores, GROUPS, 2)
    assert ((found >= 0).sum(axis=1) == 20).all()
    kept = reranked(scores, GROUPS, 2, weight=0.0)
    assert (np.argsort(-kept, axis=1) == np.argsort(-scores, axis=1)).all()
