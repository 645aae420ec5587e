"""Two Ray nodes of one processor against one, and against this process with one thread.

Run as `OMP_NUM_THREADS=1 python -m benchmarks.ray`, as root on Linux: it starts its nodes in a
network namespace with loopback alone, because Ray listens on all interfaces. Embeds passages by the
packaged model and scores pairs of passages by SmolLM2-135M (extra smollm2), through the memo as a
step does, each time into an empty store. The actors have loaded their models before.
"""

import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import numpy as np

from benchmarks import Measurement, median_ratio, take_turns
from benchmarks.embedding import passages, source_texts
from benchmarks.results import parser_of, publish
from gsum_resources.embedding import memoized
from gsum_resources.embedding.embedder import LocalEmbedder
from gsum_resources.embedding.memoized import MemoizedEmbedder
from gsum_resources.engine import ray_engine
from gsum_resources.engine.blocks import LOCAL, Engine, engine_of
from gsum_resources.scoring.causal_scorer import CausalScorer
from gsum_resources.scoring.memoized import MemoizedScorer
from gsum_resources.settings.schema import EngineSettings, ScorerSettings
from gsum_resources.store.parquet_store import ParquetStore

ALONE = ("unshare", "--net", "sh", "-c", 'ip link set lo up && exec "$@"', "sh")
_INSIDE = "BENCHMARKS_RAY_INSIDE"
_BLOCK = 32  # texts; a step has blocks of 512, too large for a measurement of a minute
_N_CANDIDATES = 4
_WORDS = 100  # of a scored passage
_SIDES = ("this process", "one node", "two nodes")


@contextmanager
def engines() -> Iterator[dict[str, Engine]]:
    """Start two nodes, and yield an engine for each side of the comparison."""
    with tempfile.TemporaryDirectory(prefix="ray", dir="/tmp", ignore_cleanup_errors=True) as temp:
        # Ray starts workers with a niceness of 15, with which they starve on a busy machine
        os.environ.update(RAY_TMPDIR=temp, RAY_worker_niceness="0")
        import ray
        from ray.cluster_utils import Cluster

        # more processors than used, so that the actors of both engines wait beside each other
        node: dict[str, Any] = {"num_cpus": 2, "include_dashboard": False}
        head = {**node, "resources": {"each": 1}}
        cluster = Cluster(initialize_head=True, head_node_args=head)
        cluster.add_node(num_cpus=2, resources={"each": 1, "single": 1})
        cluster.wait_for_nodes()
        at = partial(EngineSettings, kind="ray", address=cluster.address)
        try:
            yield dict(
                zip(
                    _SIDES,
                    (
                        LOCAL,
                        engine_of(at(actors=1, resources="single=1")),
                        engine_of(at(actors=2, resources="each=1")),
                    ),
                    strict=True,
                )
            )
        finally:
            ray.shutdown()
            cluster.shutdown()


def embedding(texts: list[str], engine: Engine) -> np.ndarray:
    """Embed texts through an empty memo."""
    with tempfile.TemporaryDirectory() as folder:
        return MemoizedEmbedder(_EMBEDDER, ParquetStore(folder), engine).embed(texts)


def scoring(texts: list[str], engine: Engine) -> np.ndarray:
    """Score for each text the next ones as its candidates, through an empty memo."""
    rows = [np.roll(texts, -i - 1)[:_N_CANDIDATES].tolist() for i in range(len(texts))]
    with tempfile.TemporaryDirectory() as folder:
        return np.stack(MemoizedScorer(_SCORER, ParquetStore(folder), engine).score(texts, rows))


_EMBEDDER = LocalEmbedder(device="cpu", threads=1)
_SCORER = CausalScorer(ScorerSettings(backend="packaged"), threads=1)


def row_of(
    label: str,
    work: Callable[[list[str], Engine], np.ndarray],
    texts: list[str],
    by_side: dict[str, Engine],
    rounds: int,
) -> list[str]:
    """Return the row of one kind of work: seconds of each side, and ratios."""
    warm = texts[: 2 * _BLOCK] if work is embedding else texts[:8]
    for engine in by_side.values():
        work(warm, engine)
    found: dict[str, list[np.ndarray]] = {name: [] for name in by_side}

    def side(name: str) -> None:
        began = time.perf_counter()
        found[name].append(work(texts, by_side[name]))
        took = f"{time.perf_counter() - began:.2f} s, {os.getloadavg()[0]:.1f} processes running"
        print(f"{label}: {name}: {took}", file=sys.stderr, flush=True)

    seconds = take_turns({name: partial(side, name) for name in by_side}, rounds)
    expected = found[_SIDES[0]][0]
    largest = max(float(np.abs(v - expected).max()) for each in found.values() for v in each)
    here, one, two = (seconds[name] for name in _SIDES)
    medians = [f"{statistics.median(side):.2f}" for side in (here, one, two)]
    ratios = [f"{r / t:.2f}" for r, t in zip(one, two, strict=True)]
    spread = f"{min(ratios)} to {max(ratios)}"
    return [
        label,
        *medians,
        f"{median_ratio(one, two):.2f}",
        spread,
        f"{median_ratio(here, one):.2f}",
        f"{largest:.1g}",
    ]


def measure(n_texts: int = 192, n_rows: int = 8, rounds: int = 5) -> Measurement:
    """Seconds on this process, one node and two nodes, in turn."""
    memoized._BATCH = _BLOCK
    ray_engine._IDLE_S = 1e6  # the actors of all sides stay
    source, texts = source_texts()
    words = " ".join(texts).split()
    scored = [" ".join(words[i * _WORDS : (i + 1) * _WORDS]) for i in range(n_rows)]
    before = os.getloadavg()[0]
    with engines() as by_side:
        rows = [
            row_of(
                f"{n_texts} passages of 256 tokens embedded",
                embedding,
                [f"{i} {text}" for i, text in enumerate(passages(texts, n_texts))],
                by_side,
                rounds,
            ),
            row_of(
                f"{n_rows * _N_CANDIDATES} pairs of {_WORDS} words scored",
                scoring,
                scored,
                by_side,
                rounds,
            ),
        ]
    return Measurement(
        "Blocks on two Ray nodes against one",
        f"Texts of {source}; {os.cpu_count()} processors, an actor with one thread on each node, "
        f"models loaded before; blocks of {_BLOCK} texts or 4 passages; wall time, medians of "
        f"{rounds} rounds in turn. {before:.1f} processes were running before. Ratio: one node's "
        "time over that of two in the same round; the last ratio is that of this process, with one "
        "thread and without Ray, over one node. Largest difference of any value between the sides.",
        ["work", *(f"{side}, s" for side in _SIDES), "ratio", "of rounds", "ray", "difference"],
        rows,
    )


def main() -> None:
    """Enter a network of loopback alone, and print the table."""
    if _INSIDE not in os.environ:
        command = [*ALONE, sys.executable, *sys.orig_argv[1:]]
        os.execvpe(command[0], command, {**os.environ, _INSIDE: "1"})
    parser = parser_of(__doc__)
    parser.add_argument("--texts", type=int, default=192, help="passages to embed")
    parser.add_argument("--rows", type=int, default=8, help="passages to score")
    parser.add_argument("--rounds", type=int, default=5, help="repetitions of each side")
    chosen = parser.parse_args()
    publish("ray", measure(chosen.texts, chosen.rows, chosen.rounds), chosen.store)


if __name__ == "__main__":
    main()
