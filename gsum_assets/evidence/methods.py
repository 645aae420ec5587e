"""Methods of the family by name: default, ablations and fine-tuning."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Method:
    """The parts that a method has.

    Attributes
    ----------
    network : name of the network in the file of weights, see `network.load_network`.
    prose : name of the network for prose, where neighbours are no sign of evidence; None:
        `network`.
    adaptive : whether the number of passages has the largest expected F1; otherwise it is k of
        `[retrieval]`.
    finetuned : whether the packaged weights are trained further on the corpus.
    """

    network: str = "graph"
    prose: str | None = None
    adaptive: bool = True
    finetuned: bool = False


METHODS: Mapping[str, Method] = {
    "evidence": Method(prose="own"),
    "evidence-no-graph": Method("own"),
    "evidence-graph": Method(),
    "evidence-fixed-k": Method(prose="own", adaptive=False),
    "evidence-finetuned": Method(prose="own", finetuned=True),
}
