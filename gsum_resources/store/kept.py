"""Values that a resident process keeps: decoded tables, and indexes derived from them."""

from collections import OrderedDict
from collections.abc import Callable, Hashable
from threading import Lock
from typing import Any, TypeVar

Value = TypeVar("Value")


class Kept:
    """Values by name, of which each is kept for the versions of its inputs that were used last.

    While tables are replaced, questions of some methods are still answered from the old ones; a
    value is therefore kept for two versions. Threads that need the same value wait for the one that
    makes it.

    Parameters
    ----------
    n_versions : versions of a value that are kept.
    """

    def __init__(self, n_versions: int = 2) -> None:
        self._n_versions = n_versions
        self._values: dict[Hashable, OrderedDict[Hashable, _Slot]] = {}
        self._lock = Lock()

    def get(self, name: Hashable, version: Hashable, make: Callable[[], Value]) -> Value:
        """Return a value of a version, which is made if it is not kept."""
        with self._lock:
            versions = self._values.setdefault(name, OrderedDict())
            slot = versions.setdefault(version, _Slot())
            versions.move_to_end(version)
            while len(versions) > self._n_versions:
                versions.popitem(last=False)
        with slot.lock:
            if not slot.is_made:
                slot.value = make()
                slot.is_made = True
        return slot.value


class _Slot:
    def __init__(self) -> None:
        self.lock, self.is_made = Lock(), False
        self.value: Any = None
