"""An input that is read on demand."""

from collections.abc import Callable, Sequence
from typing import Any


class Lazy:
    """An input that is read, and recorded as an input, only when `get` or `columns` is called.

    Parameters
    ----------
    read : returns the input.
    read_columns : returns some columns of a table without reading the others; None: they are
        selected from the whole.
    """

    def __init__(
        self,
        read: Callable[[], Any],
        read_columns: Callable[[Sequence[str]], Any] | None = None,
    ) -> None:
        self._read = read
        self._read_columns = read_columns

    def get(self) -> Any:
        """Read the input."""
        return self._read()

    def columns(self, names: Sequence[str]) -> Any:
        """Read some columns of a table; the whole table is recorded as an input."""
        if self._read_columns is None:
            return self._read().select(list(names))
        return self._read_columns(names)
