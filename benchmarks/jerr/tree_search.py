"""Tree search: time of a question, and how often it misses the best path of a small graph.

    python -m benchmarks.jerr.tree_search

Two minutes on one quiet core.
"""

import math
import random
import statistics
import time
from collections.abc import Iterator, Sequence

from benchmarks import Measurement
from benchmarks.results import main
from gsum_assets.jerr.settings import SearchSettings
from gsum_assets.jerr.tree_search import NEW_PATH_EVERY, Gains, tree_search

Graph = tuple[list[list[int]], dict[int, list[tuple[int, float]]]]

SIZES = (5_000, 50_000)
EDGES = 2  # a node
N_KEYWORDS, MATCHED = 8, 0.05
RUNS = 20
SMALL_GRAPHS, SMALL_NODES = 2_000, 8
SIMULATIONS = (200, 1_000, 2_000)


def large_graph(n_nodes: int, draw: random.Random) -> Graph:
    """Edges between nodes drawn at random, to the later one; keywords of equal weight."""
    children: list[list[int]] = [[] for _ in range(n_nodes)]
    for _ in range(EDGES * n_nodes):
        start, end = sorted(draw.sample(range(n_nodes), 2))
        children[start].append(end)
    gains: dict[int, list[tuple[int, float]]] = {}
    for keyword in range(N_KEYWORDS):
        for node in draw.sample(range(n_nodes), int(MATCHED * n_nodes)):
            gains.setdefault(node, []).append((keyword, draw.random() / N_KEYWORDS))
    return children, gains


def small_graph(draw: random.Random) -> Graph:
    """Few nodes, of few edges or many; few matches or many, of one keyword to six."""
    order = draw.sample(range(SMALL_NODES), draw.randint(1, SMALL_NODES))
    order = [sorted(order).index(node) for node in order]
    density, matched, n_keywords = draw.random(), draw.random(), draw.randint(1, 6)
    children: list[list[int]] = [[] for _ in order]
    for i, node in enumerate(order):
        children[node] = [later for later in order[i + 1 :] if draw.random() < density]
    gains: dict[int, list[tuple[int, float]]] = {}
    for node in order:
        for keyword in range(n_keywords):
            if draw.random() < matched:
                gains.setdefault(node, []).append((keyword, draw.random() / n_keywords))
    return children, gains


def reward(path: Sequence[int], gains: Gains, discount: float) -> float:
    """Return the gains of a path, as the search defines them."""
    best: dict[int, float] = {}
    for step, node in enumerate(path):
        for keyword, gain in gains.get(node, ()):
            best[keyword] = max(best.get(keyword, 0.0), gain * discount**step)
    return math.fsum(best.values())


def best_reward(children: Sequence[Sequence[int]], gains: Gains, settings: SearchSettings) -> float:
    """The largest reward of all paths from nodes with gains, one after the other."""
    best, waiting = 0.0, [(root,) for root in gains]
    while waiting:
        path = waiting.pop()
        best = max(best, reward(path, gains, settings.discount))
        if len(path) < settings.depth:
            waiting += [(*path, child) for child in children[path[-1]]]
    return best


def times() -> Iterator[tuple[str, ...]]:
    """A row a size: medians over seeds."""
    yield "nodes", "edges", "nodes that match", "ms", "processor, ms", "of the best reward"
    settings = SearchSettings()
    for n_nodes in SIZES:
        graph = large_graph(n_nodes, random.Random(0))
        wall, processor, rewards = [], [], []
        for seed in range(RUNS):
            started = time.perf_counter(), time.process_time()
            found = tree_search(*graph, settings, seed)
            wall.append(time.perf_counter() - started[0])
            processor.append(time.process_time() - started[1])
            rewards.append(found.best_reward)
        share = statistics.median(rewards) / best_reward(*graph, settings)
        taken = (f"{1e3 * statistics.median(seconds):.0f}" for seconds in (wall, processor))
        counts = (n_nodes, EDGES * n_nodes, len(graph[1]))
        yield *(f"{count:,}" for count in counts), *taken, f"{share:.0%}"


def misses() -> Iterator[tuple[str, ...]]:
    """A row a number of simulations: graphs whose best path was not found."""
    yield "simulations", "paths surely searched", "graphs", "missed"
    draw = random.Random(0)
    graphs = [small_graph(draw) for _ in range(SMALL_GRAPHS)]
    best = [best_reward(*graph, SearchSettings()) for graph in graphs]
    for n in SIMULATIONS:
        settings = SearchSettings(n_simulations=n)
        missed = sum(
            tree_search(*graph, settings, seed).best_reward < reward
            for seed, (graph, reward) in enumerate(zip(graphs, best, strict=True))
        )
        yield f"{n:,}", str(n // NEW_PATH_EVERY), f"{SMALL_GRAPHS:,}", str(missed)


def measure() -> list[Measurement]:
    """Milliseconds at 5,000 and 50,000 nodes, and missed optima of small graphs."""
    settings = SearchSettings()
    return [
        _table(
            "JERR: tree search of large graphs",
            f"Generated graphs, {N_KEYWORDS} keywords of which each matches {MATCHED:.0%} of the "
            f"nodes; {settings.n_simulations:,} simulations, depth {settings.depth}, 1 thread; "
            f"medians of {RUNS} seeds, everything in the search included.",
            times(),
        ),
        _table(
            "JERR: tree search of small graphs",
            f"Best path found beside that of exhaustive search, graphs of up to {SMALL_NODES} "
            "nodes of all densities.",
            misses(),
        ),
    ]


def _table(title: str, notes: str, rows: Iterator[tuple[str, ...]]) -> Measurement:
    header, *others = rows
    return Measurement(title, notes, header, others)


if __name__ == "__main__":
    main("jerr-tree_search", __doc__, measure)
