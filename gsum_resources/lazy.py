"""An input that may never be needed."""

from collections.abc import Callable
from typing import Any


class Lazy:
    """An input that is read, and so counts as an input, only when `get` is called."""

    def __init__(self, read: Callable[[], Any]) -> None:
        self._read = read

    def get(self) -> Any:
        """Read it now."""
        return self._read()
