"""Methods of the family by name: default, ablations and fine-tuning."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType


@dataclass(frozen=True)
class Variant:
    """The parts that a method has.

    Attributes
    ----------
    graph : whether passages learn from neighbouring and similar ones; otherwise each is judged by
        its own features, with other weights.
    adaptive : whether the number of passages has the largest expected F1; otherwise it is k of
        `[retrieval]`.
    finetuned : whether the packaged weights are trained further on the corpus.
    """

    graph: bool = True
    adaptive: bool = True
    finetuned: bool = False

    @property
    def weights(self) -> str:
        """Name of the network in the file of weights."""
        return "graph" if self.graph else "own"


VARIANTS: Mapping[str, Variant] = MappingProxyType(
    {
        "evidence": Variant(),
        "evidence-no-graph": Variant(graph=False),
        "evidence-fixed-k": Variant(adaptive=False),
        "evidence-finetuned": Variant(finetuned=True),
    }
)
