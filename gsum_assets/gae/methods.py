"""Methods of the family by name: default, published clustering, ablations (5.3)."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType


@dataclass(frozen=True)
class Method:
    """The steps that a method performs.

    Attributes
    ----------
    is_published : published first retrieval, DBSCAN, and the re-ranking formula with weight 1;
        otherwise our own first retrieval, and the clustering and weight in `gae/clusterings`.
    clusters : whether passages have clusters.
    reranks : whether passages are re-ranked by clusters.
    reflects : whether passages are judged and refined before the answer is written.
    """

    is_published: bool = False
    clusters: bool = True
    reranks: bool = True
    reflects: bool = True


METHODS: Mapping[str, Method] = MappingProxyType(
    {
        "gae": Method(),
        "gae-dbscan": Method(is_published=True),
        "gae-no-graph": Method(clusters=False, reranks=False),
        "gae-no-rerank": Method(reranks=False),
        "gae-no-reflection": Method(reflects=False),
    }
)
