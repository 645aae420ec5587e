"""Methods of the family by name: default, ablations and fine-tuning."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType


@dataclass(frozen=True)
class Method:
    """The parts that a method has.

    Attributes
    ----------
    weights : name of the model in the file of weights, see `weights.load_model`.
    prose : name of the model for prose, where neighbours are no sign of evidence; None: `weights`.
    adaptive : whether the number of passages has the largest expected F1; otherwise it is k of
        `[retrieval]`.
    finetuned : whether the packaged weights are trained further on the corpus.
    """

    weights: str = "graph"
    prose: str | None = None
    adaptive: bool = True
    finetuned: bool = False


METHODS: Mapping[str, Method] = MappingProxyType(
    {
        "evidence": Method(prose="own"),
        "evidence-no-graph": Method("own"),
        "evidence-gnn": Method("gnn"),
        "evidence-gbm": Method("gbm"),
        "evidence-graph": Method(),
        "evidence-fixed-k": Method(prose="own", adaptive=False),
        "evidence-finetuned": Method(prose="own", finetuned=True),
    }
)
