"""Methods of the family by name: the default, the published form, and variants of the default."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

Clustering = Literal["leiden", "k_means", "dbscan"]
Loss = Literal["balanced", "squared"]


@dataclass(frozen=True)
class Method:
    """The steps that a method performs.

    Attributes
    ----------
    clustering : Leiden clusters the graph, the others the embeddings of an auto-encoder; None:
        passages are not re-ranked.
    reflects : whether passages are judged and refined before the answer is written.
    is_published : edges, auto-encoder, first retrieval and weights are those of the paper.
    """

    clustering: Clustering | None = "leiden"
    reflects: bool = False
    is_published: bool = False

    @property
    def is_autoencoded(self) -> bool:
        """Whether an auto-encoder is trained for it."""
        return self.clustering in ("k_means", "dbscan")

    @property
    def loss(self) -> Loss:
        """Loss of its auto-encoder, see `encoders.reconstruction_loss`."""
        return "squared" if self.is_published else "balanced"


METHODS: Mapping[str, Method] = {
    "gae": Method(),
    "gae-no-rerank": Method(None),
    "gae-reflection": Method(reflects=True),
    "gae-autoencoder": Method("k_means"),
    "gae-published": Method("dbscan", reflects=True, is_published=True),
}
