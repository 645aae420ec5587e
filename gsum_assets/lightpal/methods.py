"""Methods of the family by name."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from gsum_assets.lightpal.settings import Initial


@dataclass(frozen=True)
class Method:
    """The graph and the initial retriever of a method.

    Attributes
    ----------
    graph : name of the graph (see `passage_edges.py`).
    initial : baseline that retrieves the initial passages; None: the one in the settings.
    """

    graph: str = "context"
    initial: Initial | None = None


PASSAGE_WALK, PROMPTRANK = "passage_walk", "promptrank"

METHODS: Mapping[str, Method] = MappingProxyType(
    {
        "lightpal": Method(),
        "lightpal-hybrid": Method(initial="hybrid"),
        "lightpal-embedding": Method(graph="embedding"),
        PROMPTRANK: Method(),
        PASSAGE_WALK: Method(graph="walk"),
    }
)
