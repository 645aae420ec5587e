"""Threads for functions of NumPy and Arrow, which compute without Python's lock."""

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import pyarrow as pa

Block = TypeVar("Block")
Output = TypeVar("Output")


def in_threads(function: Callable[[Block], Output], blocks: Iterable[Block]) -> list[Output]:
    """Return the function's result for each block, in as many threads as Arrow uses.

    These are the processors of the machine, or `OMP_NUM_THREADS`.
    """
    with ThreadPoolExecutor(pa.cpu_count()) as pool:
        return list(pool.map(function, blocks))


def ahead(function: Callable[[Block], Output], blocks: Iterable[Block]) -> Iterator[Output]:
    """Yield the function's result for each block, while a thread computes the next one."""
    with ThreadPoolExecutor(1) as pool:
        coming = None
        for block in blocks:
            done, coming = coming, pool.submit(function, block)
            if done:
                yield done.result()
        if coming:
            yield coming.result()
