"""Methods by name, with their contexts (paper, 3.3)."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Method:
    """A method of this family.

    Attributes
    ----------
    reads : context of answers: 'reports' of a level's communities, all 'chunks', the 'nearest'
        chunks, or the neighbourhood 'around' the entities nearest to the question.
    """

    reads: Literal["reports", "chunks", "nearest", "around"]
    level: int = 0

    @property
    def maps(self) -> bool:
        """Whether points are written from packs of the context and reduced to one answer."""
        return self.reads in ("reports", "chunks")


METHODS: Mapping[str, Method] = {
    **{f"graphrag-c{level}": Method("reports", level) for level in range(4)},
    "graphrag-local": Method("around"),
    "graphrag-ts": Method("chunks"),
    "graphrag-ss": Method("nearest"),
}
