"""Words of an answer on a terminal, until the whole answer replaces them."""

from typing import TextIO

from rich.cells import cell_len

from gsum_resources.text.refusals import without_mark


class Preview:
    """Shows the pieces of an answer as they arrive.

    Parameters
    ----------
    width : of the terminal, columns.
    """

    def __init__(self, output: TextIO, width: int) -> None:
        self._output, self._width = output, width
        self._shown = ""
        self._arrived = ""

    def __call__(self, piece: str | None) -> None:
        """Show a piece; None removes what is shown, since another attempt begins."""
        if piece is None:
            self.clear()
            return
        self._arrived += "".join(c for c in piece if c.isprintable() or c == "\n")  # no controls
        text = without_mark(self._arrived)[len(self._shown) :]
        self._shown += text
        self._output.write(text)
        self._output.flush()

    def clear(self) -> None:
        """Remove what is shown."""
        self._arrived = ""
        if self._shown:
            rows = sum(max(1, -(-cell_len(s) // self._width)) for s in self._shown.split("\n"))
            up = f"\x1b[{rows - 1}A" if rows > 1 else ""
            self._output.write(f"\r{up}\x1b[J")
            self._output.flush()
            self._shown = ""
