"""Seconds and memory of the auto-encoder of `gae`, small and large, on a quiet and a busy machine.

Run as `python -m benchmarks.gae.training`. Every row runs in a process of its own, over a graph
that is drawn: 384 features and five edges a node.
"""

import argparse
import multiprocessing as mp
import resource
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

import numpy as np

from benchmarks import Measurement
from gsum_assets.gae.autoencoder import embed_graph
from gsum_assets.gae.graph_edges import Edges
from gsum_assets.gae.settings import TrainingSettings

_N_EDGES, _N_FEATURES = 5, 384
_BUSY = 2  # processes that keep the other processors busy


class Case(NamedTuple):
    """One training; `n_busy` other processes compute meanwhile."""

    n_nodes: int
    epochs: int
    exact: bool
    threads: int = 1
    n_busy: int = 0


CASES = (
    Case(1190, 300, True),
    Case(1190, 300, True, threads=2),
    Case(1190, 300, True, n_busy=_BUSY),
    Case(1190, 300, True, threads=2, n_busy=_BUSY),
    Case(1190, 300, False),
    Case(20_000, 5, True),
    Case(20_000, 20, False),
    Case(200_000, 5, False),
)


def _train(case: Case, result: "mp.Queue[tuple[float, float, float]]") -> None:
    random = np.random.default_rng(0)
    sources = np.repeat(np.arange(case.n_nodes), _N_EDGES)
    targets = random.integers(0, case.n_nodes, len(sources))
    features = random.standard_normal((case.n_nodes, _N_FEATURES), np.float32)
    settings = TrainingSettings(
        epochs=case.epochs,
        exact_nodes=case.n_nodes if case.exact else 0,
        threads=case.threads,
    )
    ends: list[float] = []
    start = time.perf_counter()
    edges = Edges(sources, targets, np.ones(len(sources)))
    embed_graph(features, edges, settings, lambda *_: ends.append(time.perf_counter()))
    taken = time.perf_counter() - start
    each = (ends[-1] - ends[0]) / max(1, len(ends) - 1)  # the first epoch loads libraries
    result.put((taken, each, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20))


def _compute() -> None:
    while True:
        sum(range(10_000))


@contextmanager
def _busy(n: int) -> Iterator[None]:
    processes = [mp.Process(target=_compute, daemon=True) for _ in range(n)]
    for process in processes:
        process.start()
    yield
    for process in processes:
        process.kill()


def measure() -> Measurement:
    """Time and peak memory of each case."""
    spawned = mp.get_context("spawn")
    rows = []
    for case in CASES:
        result = spawned.Queue()
        with _busy(case.n_busy):
            training = spawned.Process(target=_train, args=(case, result))
            training.start()
            taken, each, gib = result.get()
            training.join()
        rows.append(
            [
                f"{case.n_nodes:,}",
                "all pairs" if case.exact else "drawn",
                str(case.threads),
                str(case.n_busy),
                f"{case.epochs}: {taken:.1f}",
                f"{each:.3f}",
                f"{300 * each:.0f}",
                f"{gib:.2f}",
            ]
        )
    settings = TrainingSettings()
    return Measurement(
        "gae: training of the auto-encoder",
        f"{_N_FEATURES} features, {_N_EDGES} edges a node, {settings.layers} layers of "
        f"{settings.hidden} and {settings.dim}; 'drawn': {settings.n_sampled} nodes an epoch stand "
        "for all as the second of a pair. Others: processes that compute without end on the same "
        "two cores. Memory is the process's peak, features included.",
        [
            "nodes",
            "loss over",
            "threads",
            "others",
            "epochs: s, loading included",
            "s an epoch",
            "s of 300",
            "GiB",
        ],
        rows,
    )


def main() -> None:
    """Print the table."""
    argparse.ArgumentParser(description=__doc__).parse_args()
    measure().show()


if __name__ == "__main__":
    main()
