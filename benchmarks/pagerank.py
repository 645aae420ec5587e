"""Personalized PageRank for one query on a loaded graph: gsum, rustworkx and networkx.

    python -m benchmarks.pagerank

Two uses: LightPAL's passage graph, 5 edges a passage, unweighted, restart 0.8, and a walk over
the same edges in both directions, weighted, restart 0.1. Two kinds of graph: edges to passages
drawn at random, where a walk is soon everywhere, and to the nearest of clustered points, where it
stays near. Seeds are 20 passages drawn at random, which is harder than the neighbours that a
retriever finds.
"""

import statistics
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import networkx as nx
import numpy as np
import rustworkx as rx
from scipy.sparse import coo_array
from scipy.spatial import KDTree
from threadpoolctl import threadpool_limits

from benchmarks import Measurement, median_ratio, take_turns
from benchmarks.results import main
from gsum_assets.graphs.pagerank import WalkGraph, personalized_pagerank

NODES = (1190, 200_000)
EDGES = 5
SEEDS = 20
QUERIES = 50
ROUNDS = {1190: {"rustworkx": 50, "networkx": 50}, 200_000: {"rustworkx": 5, "networkx": 1}}
"""Queries of the other packages, by nodes: fewer where one takes a second or more."""
POINTS_A_CLUSTER, DIMENSION, SPREAD = 100, 6, 0.3
CLOCKS = (time.perf_counter, time.process_time)

Side = Callable[[dict[int, float]], Any]
"""From a query's seeds and their weights to the probability of each node."""


@dataclass(frozen=True)
class Use:
    """Parameters of a method's PageRank."""

    name: str
    restart: float
    weighted: bool
    """Both edges and seeds."""
    both_ways: bool


USES = (Use("lightpal", 0.8, False, False), Use("walk both ways", 0.1, True, True))


def random_targets(n_nodes: int, random: np.random.Generator) -> np.ndarray:
    """Ends of each node's edges, drawn with equal chances, `(n_nodes, EDGES)`."""
    return random.integers(n_nodes, size=(n_nodes, EDGES))


def nearest_targets(n_nodes: int, random: np.random.Generator) -> np.ndarray:
    """Ends of each node's edges, the nearest of points around random centres."""
    centres = random.standard_normal((n_nodes // POINTS_A_CLUSTER, DIMENSION))
    noise = SPREAD * random.standard_normal((n_nodes, DIMENSION))
    points = centres[random.integers(len(centres), size=n_nodes)] + noise
    return KDTree(points).query(points, EDGES + 1)[1][:, 1:]


KINDS: dict[str, Callable[[int, np.random.Generator], np.ndarray]] = {
    "random": random_targets,
    "nearest": nearest_targets,
}


def graph(targets: np.ndarray, use: Use, random: np.random.Generator) -> WalkGraph:
    """The edges as a use takes them."""
    sources, ends = np.repeat(np.arange(len(targets)), EDGES), targets.ravel()
    weights = random.uniform(0.3, 1, len(ends)) if use.weighted else np.ones(len(ends))
    if use.both_ways:
        sources, ends = np.append(sources, ends), np.append(ends, sources)
        weights = np.append(weights, weights)
    return WalkGraph(len(targets), sources, ends, weights)


def queries(n_nodes: int, use: Use, random: np.random.Generator) -> list[dict[int, float]]:
    """Seeds and their weights, a query each."""
    weights = np.ones((QUERIES, SEEDS))
    if use.weighted:
        weights = random.uniform(0.3, 1, weights.shape)
    drawn = [random.choice(n_nodes, SEEDS, replace=False) for _ in range(QUERIES)]
    return [
        dict(zip(seeds.tolist(), row.tolist(), strict=True))
        for seeds, row in zip(drawn, weights, strict=True)
    ]


def sides(walked: WalkGraph, use: Use) -> dict[str, Side]:
    """Each side with its graph loaded: the probabilities for a query's seeds.

    rustworkx and networkx stop when the changes sum to less than nodes times their tolerance.
    For rustworkx the sum is 1e-6, so that its guarantee is about that of gsum, and for networkx,
    the reference, 1e-12.
    """
    nodes = range(walked.n_nodes)
    shape = (walked.n_nodes, walked.n_nodes)
    edges = coo_array((walked.weights, (walked.sources, walked.targets)), shape=shape).tocsr()
    python = nx.from_scipy_sparse_array(edges, create_using=nx.DiGraph)
    rust = rx.PyDiGraph()
    rust.add_nodes_from(nodes)
    rust.add_edges_from(list(python.edges(data="weight")))
    follow, tolerance = 1 - use.restart, 1e-6 / walked.n_nodes

    def by_gsum(seeds: dict[int, float]) -> np.ndarray:
        weights = np.fromiter(seeds.values(), float)
        return personalized_pagerank(walked, list(seeds), weights, use.restart)

    return {
        "gsum": by_gsum,
        "rustworkx": lambda seeds: rx.pagerank(rust, follow, float, None, seeds, tolerance, 1000),
        "networkx": lambda seeds: nx.pagerank(python, follow, seeds, max_iter=1000, tol=1e-12),
    }


def turns(
    compared: dict[str, Side], seeds: list[dict[int, float]], clock: Callable[[], float]
) -> dict[str, list[float]]:
    """Seconds of each side for each query, in turn."""

    def over(side: Side) -> Callable[[], Any]:
        waiting = iter(seeds)
        return lambda: side(next(waiting))

    return take_turns({name: over(side) for name, side in compared.items()}, len(seeds), clock)


def compare(walked: WalkGraph, use: Use, seeds: list[dict[int, float]]) -> Iterator[list[str]]:
    """A row a side: milliseconds a query, by the clock and of the processor, ratio, error."""
    compared = sides(walked, use)
    ours = compared.pop("gsum")
    first = {name: side(seeds[0]) for name, side in compared.items()}  # which warms them up, too
    truth = [first["networkx"][node] for node in range(walked.n_nodes)]
    error = np.abs(ours(seeds[0]) - truth).max()
    alone = [turns({"gsum": ours}, seeds, clock)["gsum"] for clock in CLOCKS]
    yield ["gsum", *map(milliseconds, alone), "1.0", f"{error:.0e}"]
    for name, side in compared.items():
        few = seeds[: ROUNDS[walked.n_nodes][name]]
        wall, processor = (turns({name: side, "gsum": ours}, few, clock) for clock in CLOCKS)
        ratio = median_ratio(processor[name], processor["gsum"])
        error = max(abs(first[name][node] - truth[node]) for node in range(walked.n_nodes))
        taken = milliseconds(wall[name]), milliseconds(processor[name])
        yield [name, *taken, f"{ratio:.1f}", f"{error:.0e}"]


def milliseconds(seconds: list[float]) -> str:
    """Their median."""
    return f"{1e3 * statistics.median(seconds):.2f}"


def measure() -> Measurement:
    """Milliseconds of a query at the sizes of ODSum-Story and of a large collection."""
    rows = []
    with threadpool_limits(1):
        for n_nodes in NODES:
            for kind, draw in KINDS.items():
                targets = draw(n_nodes, np.random.default_rng(0))
                for use in USES:
                    random = np.random.default_rng(1)
                    walked = graph(targets, use, random)
                    seeds = queries(n_nodes, use, random)
                    rows += [
                        [f"{n_nodes:,}", kind, use.name, *cells]
                        for cells in compare(walked, use, seeds)
                    ]
    return Measurement(
        "Personalized PageRank: gsum beside rustworkx and networkx",
        f"Generated graphs of {EDGES} edges a node, loaded; {SEEDS} seeds drawn at random; 1 "
        f"thread. lightpal: one way, unweighted, restart {USES[0].restart}; both ways: weighted, "
        f"restart {USES[1].restart}. Medians of {QUERIES} queries by the clock and of the "
        f"processor; of {NODES[1]:,} nodes rustworkx was asked 5 and networkx 1, as they take "
        "long. Ratio: that side's processor time over gsum's for the same queries in turn. Error: "
        "largest difference of a probability from that of networkx at 1e-12.",
        ["nodes", "edges", "use", "side", "ms", "processor, ms", "ratio", "error"],
        rows,
    )


if __name__ == "__main__":
    main("pagerank", __doc__, measure)
