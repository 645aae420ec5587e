"""The methods by name: what each reads, and how it answers from it (paper, 3.3)."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Variant:
    """A method of this family.

    Attributes
    ----------
    reads : 'reports' of a level's communities, all 'chunks', the 'nearest' chunks, or what lies
        'around' the entities nearest to the question.
    level : of communities, where reports are read.
    """

    reads: Literal["reports", "chunks", "nearest", "around"]
    level: int = 0

    @property
    def maps(self) -> bool:
        """Whether all that is read is mapped to partial answers, which are reduced to one."""
        return self.reads in ("reports", "chunks")


VARIANTS: Mapping[str, Variant] = {
    **{f"graphrag-c{level}": Variant("reports", level) for level in range(4)},
    "graphrag-local": Variant("around"),
    "graphrag-ts": Variant("chunks"),
    "graphrag-ss": Variant("nearest"),
}
