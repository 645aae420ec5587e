"""Methods of the family by name."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from gsum_assets.lightpal.settings import Initial


@dataclass(frozen=True)
class Variant:
    """The graph and the initial retriever of a method.

    Attributes
    ----------
    graph : name of the graph (see `passage_edges.py`).
    initial : baseline that retrieves the initial passages; None: the one in the settings.
    """

    graph: str = "context"
    initial: Initial | None = None


PASSAGE_WALK, PROMPTRANK = "passage_walk", "promptrank"

VARIANTS: Mapping[str, Variant] = MappingProxyType(
    {
        "lightpal": Variant(),
        "lightpal-hybrid": Variant(initial="hybrid"),
        "lightpal-embedding": Variant(graph="embedding"),
        PROMPTRANK: Variant(),
        PASSAGE_WALK: Variant(graph="walk"),
    }
)
