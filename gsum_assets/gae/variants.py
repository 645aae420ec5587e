"""The methods of the family by name: the default, the published clusterer, the ablations (5.3)."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType


@dataclass(frozen=True)
class Variant:
    """What a method does.

    Attributes
    ----------
    is_published : published first retrieval, DBSCAN, and the re-ranking formula in full; else
        seeds of our own, and the clustering and weight that `gae/clusterings` tells.
    clusters : whether passages have clusters at all.
    reranks : whether clusters move passages.
    reflects : whether passages are judged and refined before the answer is written.
    """

    is_published: bool = False
    clusters: bool = True
    reranks: bool = True
    reflects: bool = True


VARIANTS: Mapping[str, Variant] = MappingProxyType(
    {
        "gae": Variant(),
        "gae-dbscan": Variant(is_published=True),
        "gae-no-graph": Variant(clusters=False, reranks=False),
        "gae-no-rerank": Variant(reranks=False),
        "gae-no-reflection": Variant(reflects=False),
    }
)
