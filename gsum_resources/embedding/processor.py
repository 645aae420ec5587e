"""Capabilities of the CPU: physical cores available to this process, bfloat16 arithmetic."""

import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Literal, get_args

Precision = Literal["float32", "bfloat16"]
PRECISIONS: tuple[Precision, ...] = get_args(Precision)

_CPU_QUOTA = "/sys/fs/cgroup/cpu.max"
_CPU_INFO = "/proc/cpuinfo"
_BFLOAT16_FLAGS = frozenset({"amx_bf16", "avx512_bf16", "bf16"})  # "bf16": on ARM


def physical_cores() -> int:
    """Return the number of physical cores that this process may use, at least 1.

    It is limited by the affinity mask and by a container's quota.
    """
    import psutil

    cores = psutil.cpu_count(logical=False) or os.cpu_count() or 1
    if hasattr(os, "sched_getaffinity"):  # macOS and Windows have no affinity mask
        cores = min(cores, len(os.sched_getaffinity(0)))
    try:
        quota, period = Path(_CPU_QUOTA).read_text().split()
        return max(1, min(cores, -(-int(quota) // int(period))))
    except (OSError, ValueError):  # no such file, or "max"
        return cores


@cache
def bfloat16_supported() -> bool:
    """Return whether the CPU multiplies bfloat16 in hardware; False where that is unknown."""
    try:
        lines = Path(_CPU_INFO).read_text().splitlines()
    except OSError:  # not Linux; assuming no support is the cheaper error
        return False
    flags = (line.split() for line in lines if line.lower().startswith(("flags", "features")))
    return not _BFLOAT16_FLAGS.isdisjoint(word for words in flags for word in words)


def fastest_precision() -> Precision:
    """Return bfloat16 where the CPU multiplies it; also for a GPU, which then does as well."""
    return "bfloat16" if bfloat16_supported() else "float32"


@contextmanager
def torch_threads(threads: int) -> Iterator[None]:
    """Set torch's thread count, which is global to the process, and restore it afterwards."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        yield
    finally:
        torch.set_num_threads(before)


@contextmanager
def single_threaded_pool(n_workers: int) -> Iterator[ThreadPoolExecutor]:
    """Yield a pool of threads that each use torch on one thread."""
    import torch

    # a new thread starts with torch's default, not with its creator's setting
    single = {"initializer": torch.set_num_threads, "initargs": (1,)}
    with torch_threads(1), ThreadPoolExecutor(n_workers, **single) as pool:
        yield pool
