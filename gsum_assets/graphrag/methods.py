"""Methods by name, with their contexts (paper, 3.3)."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Method:
    """A method by what its answers read: reports of a level (None: of all levels), or chunks."""

    reads: Literal["reports", "relevant", "chunks", "nearest", "around"]
    level: int | None = 0

    @property
    def uses_index(self) -> bool:
        """Whether entities and reports are read, and not chunks alone."""
        return self.reads in ("reports", "relevant", "around")

    @property
    def maps(self) -> bool:
        """Whether points are written from packs of the context and reduced to one answer."""
        return self.reads in ("reports", "relevant", "chunks")


METHODS: Mapping[str, Method] = {
    **{f"graphrag-c{level}": Method("reports", level) for level in range(4)},
    "graphrag-dynamic": Method("relevant", None),
    "graphrag-local": Method("around"),
    "graphrag-ts": Method("chunks"),
    "graphrag-ss": Method("nearest"),
}
