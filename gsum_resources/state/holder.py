"""A process, as its host knows it: reservations of a process that has ended count no more."""

import os
import socket
from dataclasses import dataclass
from pathlib import Path

import psutil

_BOOT, _PIDS = Path("/proc/sys/kernel/random/boot_id"), Path("/proc/self/ns/pid")


@dataclass(frozen=True)
class Holder:
    """A process that holds a lease, or waits for its turn.

    Attributes
    ----------
    machine : boot and process namespace; processes see each other's numbers if it is the same.
    born : when the process began, since numbers are used again.
    """

    host: str
    machine: str
    pid: int
    born: float

    @classmethod
    def this_process(cls) -> "Holder":
        """Return the description of this process."""
        boot = _BOOT.read_text().strip() if _BOOT.exists() else ""
        processes = _PIDS.readlink() if _PIDS.is_symlink() else ""
        born = psutil.Process().create_time()
        return cls(socket.gethostname(), f"{boot} {processes}", os.getpid(), born)

    def is_beside(self, other: "Holder") -> bool:
        """Return whether both are on one host, so that its process table decides."""
        return (self.host, self.machine) == (other.host, other.machine)

    def runs_here(self) -> bool:
        """Return whether the process table has this process."""
        try:
            return psutil.Process(self.pid).create_time() == self.born
        except psutil.Error:
            return False
