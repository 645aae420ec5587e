"""What the processor can do: physical cores left to this process, bfloat16 arithmetic."""

import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from pathlib import Path

_CPU_TOPOLOGY = "/sys/devices/system/cpu/cpu{}/topology/"
_CPU_QUOTA = "/sys/fs/cgroup/cpu.max"
_CPU_INFO = "/proc/cpuinfo"
_BFLOAT16_FLAGS = frozenset({"amx_bf16", "avx512_bf16", "bf16"})  # the last is ARM's name


def physical_cores() -> int:
    """Return physical cores that this process may use, at least 1.

    Counts the cores behind the logical processors of the affinity mask (two hyper-threads of one
    core share its multipliers, so a second thread slows matrix products down), and respects a
    container's quota, which the mask does not show.
    """
    if hasattr(os, "sched_getaffinity"):
        available = sorted(os.sched_getaffinity(0))
    else:  # macOS and Windows have no mask to ask
        available = list(range(os.cpu_count() or 1))
    cores = {_core_of(cpu) for cpu in available}
    return max(1, min(len(cores), _quota_cores()))


def _core_of(cpu: int) -> tuple[str, str]:
    """(package, core) of a logical processor; itself where the system does not say."""
    folder = Path(_CPU_TOPOLOGY.format(cpu))
    try:
        package = (folder / "physical_package_id").read_text().strip()
        return package, (folder / "core_id").read_text().strip()
    except OSError:
        return "", str(cpu)


def _quota_cores() -> int:
    """Return the cores that the control group grants, rounded up; a huge number where it sets no limit."""
    try:
        quota, period = Path(_CPU_QUOTA).read_text().split()
        return -(-int(quota) // int(period))
    except (OSError, ValueError):  # no such file, or "max"
        return 1 << 30


@cache
def bfloat16_supported(device: str = "cpu") -> bool:
    """Return whether bfloat16 matrix products run in hardware.

    Parameters
    ----------
    device : "cpu" reads the processor's flags (AMX, AVX-512 BF16, ARM bf16) without importing
        torch; "cuda" asks the driver.
    """
    if device == "cuda":
        import torch

        return torch.cuda.is_available() and torch.cuda.is_bf16_supported(False)
    return bool(_told("flags", "features") & _BFLOAT16_FLAGS)


@cache
def mkl_has_avx512() -> bool:
    """Return whether MKL multiplies with AVX-512, as it does on Intel's processors that have it."""
    return "GenuineIntel" in _told("vendor_id") and "avx512f" in _told("flags")


def _told(*names: str) -> set[str]:
    """Return the words on the processor's lines of these names; none where the system does not tell."""
    try:
        lines = Path(_CPU_INFO).read_text().splitlines()
    except OSError:  # only Linux tells; elsewhere "no" is the answer that costs least
        return set()
    chosen = [line for line in lines if line.lower().startswith(names)]
    return {word for line in chosen for word in line.split()}


@contextmanager
def torch_threads(threads: int) -> Iterator[None]:
    """Sets torch's thread count, which is global to the process, and puts the old one back."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        yield
    finally:
        torch.set_num_threads(before)


@contextmanager
def one_thread_each(n_workers: int) -> Iterator[ThreadPoolExecutor]:
    """Yield threads that each use torch on one thread; threads at one matrix product wait for
    others.
    """
    import torch

    # a new thread begins with torch's default, not with what its maker has set
    single = {"initializer": torch.set_num_threads, "initargs": (1,)}
    with torch_threads(1), ThreadPoolExecutor(n_workers, **single) as pool:
        yield pool
