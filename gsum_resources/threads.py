"""Threads for functions of NumPy and Arrow, which compute without Python's lock."""

from collections.abc import Callable, Iterable
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
