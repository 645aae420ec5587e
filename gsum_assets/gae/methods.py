"""Methods of the family by name: the default, the published form, and variants of the default."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

from gsum_assets.gae.settings import RerankSettings, TrainingSettings

Clustering = Literal["leiden", "k_means", "dbscan"]


@dataclass(frozen=True)
class Method:
    """The steps that a method performs.

    Attributes
    ----------
    clustering : Leiden clusters the graph, the others the embeddings of an auto-encoder; None:
        passages are not re-ranked.
    reflects : whether passages are judged and refined before the answer is written.
    is_published : everything as in the paper: edges and auto-encoder, first retrieval, re-ranking
        with its full weight; otherwise all of these are ours.
    """

    clustering: Clustering | None = "leiden"
    reflects: bool = False
    is_published: bool = False

    @property
    def is_autoencoded(self) -> bool:
        """Whether an auto-encoder is trained for it."""
        return self.clustering in ("k_means", "dbscan")


METHODS: Mapping[str, Method] = MappingProxyType(
    {
        "gae": Method(),
        "gae-no-rerank": Method(None),
        "gae-reflection": Method(reflects=True),
        "gae-autoencoder": Method("k_means"),
        "gae-published": Method("dbscan", reflects=True, is_published=True),
    }
)

PUBLISHED_EDGES = ("neighbour", "citation")
"""Kinds of edges in the paper (3.1.1)."""


def training_settings(method: Method, settings: TrainingSettings) -> TrainingSettings:
    """Return the corpus's settings, with three layers and equation 7 for the published form."""
    published = {"layers": 3, "loss": "squared"}
    return settings.model_copy(update=published) if method.is_published else settings


def rerank_settings(method: Method, settings: RerankSettings) -> RerankSettings:
    """Return the corpus's settings; several passages of a document count in full as published."""
    published = {"same_document": 1.0}
    return settings.model_copy(update=published) if method.is_published else settings
