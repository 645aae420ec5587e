"""An input that is read on demand."""

from collections.abc import Callable
from typing import Any


class Lazy:
    """An input that is read, and recorded as an input, only when `get` is called."""

    def __init__(self, read: Callable[[], Any]) -> None:
        self._read = read

    def get(self) -> Any:
        """Read the input."""
        return self._read()
