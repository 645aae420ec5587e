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

_CPU_TOPOLOGY = "/sys/devices/system/cpu/cpu{}/topology/"
_CPU_QUOTA = "/sys/fs/cgroup/cpu.max"
_CPU_INFO = "/proc/cpuinfo"
_BFLOAT16_FLAGS = frozenset({"amx_bf16", "avx512_bf16", "bf16"})  # "bf16": on ARM


def physical_cores() -> int:
    """Return the number of physical cores that this process may use, at least 1.

    Those of the logical processors in the affinity mask, limited by a container's quota.
    """
    if hasattr(os, "sched_getaffinity"):
        available = sorted(os.sched_getaffinity(0))
    else:  # macOS and Windows have no affinity mask
        available = list(range(os.cpu_count() or 1))
    cores = {_core_of(cpu) for cpu in available}
    try:
        quota, period = Path(_CPU_QUOTA).read_text().split()
        granted = -(-int(quota) // int(period))
    except (OSError, ValueError):  # no such file, or "max"
        granted = len(cores)
    return max(1, min(len(cores), granted))


def _core_of(cpu: int) -> tuple[str, str]:
    """Return (package, core) of a logical processor, by default its own number."""
    folder = Path(_CPU_TOPOLOGY.format(cpu))
    try:
        package = (folder / "physical_package_id").read_text().strip()
        return package, (folder / "core_id").read_text().strip()
    except OSError:
        return "", str(cpu)


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
